package proxy

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// refuseRequest refuses a request at once, also while the client uploads: without full duplex
// net/http reads the rest of an HTTP/1.1 request before it answers.
func (p *Proxy) refuseRequest(w http.ResponseWriter, r *http.Request, kind Kind, status int, why string) {
	p.reportNotice(Notice{kind, r.Host, Session(r.Context()), "refused " + why})
	maps.Copy(w.Header(), refusalHeader())
	body := refusalBody(why)
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // WebSocket clients do not read chunks
	answer := http.NewResponseController(w)
	_ = answer.EnableFullDuplex() // fails for HTTP/2, which is always full duplex
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // JSON for an API client
	_ = answer.Flush()
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		readRest(answer, r.Body)
	}
}

// How long a client that was refused may take to send the rest of its request, and how many
// bytes of it are read.
const (
	restTime  = time.Second
	restBytes = 1 << 20
)

// readRest reads the rest of a request, and ends the connection when that is too much. It is
// not left to net/http: after EnableFullDuplex that would read the connection twice at once,
// and panic.
func readRest(answer *http.ResponseController, body io.Reader) {
	_ = answer.SetReadDeadline(time.Now().Add(restTime))
	if _, err := io.CopyN(io.Discard, body, restBytes); !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler)
	}
	_ = answer.SetReadDeadline(time.Time{})
}

// refusalResponse returns a refusal that goproxy writes and closes.
func (p *Proxy) refusalResponse(r *http.Request, why string) *http.Response {
	p.reportNotice(Notice{Refused, r.Host, Session(r.Context()), "refused " + why})
	body := refusalBody(why)
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: refusalHeader(),
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
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

// Notice says why a client did not reach the handler.
type Notice struct {
	Kind Kind
	// Host is what the client asked for, with its port when it gave one.
	Host string
	// Session is the caller's, "" for none.
	Session string
	// Text says it in one line. It contains no credential.
	Text string
}

// Kind is the kind of a Notice.
type Kind string

// The kinds of Notice.
const (
	Refused   Kind = "refused"   // a host, an ingress or a path that is not served
	Denied    Kind = "denied"    // an invalid session name, or a wrong credential
	Upgrade   Kind = "upgrade"   // a WebSocket that is not recorded (pitfall G16)
	Untrusted Kind = "untrusted" // the client refused the proxy's certificate
	NoTLS     Kind = "no-tls"    // the client sent no TLS in its tunnel
	Handshake Kind = "handshake" // the TLS handshake failed for another reason
	Unused    Kind = "unused"    // the client closed its tunnel without a request; not logged
)

// reportNotice counts a notice, logs it and passes it to Config.Notice.
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
