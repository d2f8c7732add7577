package proxy

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// Notice says why a client did not get through to the handler.
type Notice struct {
	Kind Kind
	// Host is what the client asked for, with its port when it gave one.
	Host string
	// Session is the caller's, "" for none.
	Session string
	// Text is one line for people. It contains no credential.
	Text string
}

// Kind is the kind of a Notice.
type Kind string

// The kinds of Notice.
const (
	Refused   Kind = "refused"   // a host, an ingress or a path that is not served
	Denied    Kind = "denied"    // a bad session name, or not the credential
	Upgrade   Kind = "upgrade"   // a WebSocket that is not recorded (pitfall G16)
	Untrusted Kind = "untrusted" // the client refused our certificate
	NoTLS     Kind = "no-tls"    // the client spoke no TLS in its tunnel
	Handshake Kind = "handshake" // TLS went wrong in another way
	Unused    Kind = "unused"    // the client left its tunnel without a request; not logged
)

// reportNotice counts, logs and reports why a client was kept out.
func (p *Proxy) reportNotice(n Notice) {
	switch n.Kind {
	case Refused, Denied:
		p.refused.Add(1)
	case Upgrade:
		p.upgrades.Add(1)
	case Untrusted, NoTLS, Handshake, Unused:
	}
	if n.Kind != Unused {
		p.cfg.Log(n.Text)
	}
	p.cfg.Notice(n)
}

// refuseRequest refuses a request at once, also while the client uploads: HTTP/1.1 would
// wait for the rest of the request first.
func (p *Proxy) refuseRequest(w http.ResponseWriter, r *http.Request, kind Kind, status int, why string) {
	p.reportNotice(Notice{kind, r.Host, Session(r.Context()), "refused " + why})
	maps.Copy(w.Header(), refusalHeader())
	body := refusalBody(why)
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // WebSocket clients do not read chunks
	answer := http.NewResponseController(w)
	_ = answer.EnableFullDuplex() // HTTP/2 has nothing else
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // JSON for an API client
	_ = answer.Flush()
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		readRest(answer, r.Body)
	}
}

// A client that was refused has this long to send the rest of its request, and so many
// bytes of it are read.
const (
	restTime  = time.Second
	restBytes = 1 << 20
)

// readRest reads what a client goes on to send, and ends the connection when that is too
// much: after EnableFullDuplex net/http itself must not do it, because it would then read
// the connection twice at once, and panic.
func readRest(answer *http.ResponseController, body io.Reader) {
	_ = answer.SetReadDeadline(time.Now().Add(restTime))
	if _, err := io.CopyN(io.Discard, body, restBytes); !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler)
	}
	_ = answer.SetReadDeadline(time.Time{})
}

func refusalHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "X-Should-Retry": {"false"}}
}

// refusalBody has the shape that the SDKs of Anthropic and OpenAI print.
func refusalBody(why string) string {
	quoted, err := json.Marshal(why)
	if err != nil {
		quoted = []byte(`"refused"`)
	}
	return `{"error":{"type":"proxy_refused","message":` + string(quoted) + "}}\n"
}
