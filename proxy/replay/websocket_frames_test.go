package replay_test

import (
	"bufio"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// frame is a WebSocket frame, also one that nobody may send.
type frame struct {
	first    byte // the flags and the opcode
	isMasked bool
	length   uint64 // that the header says, 0 for that of the payload
	payload  string
}

// bytes returns the frame as it is on the wire. Its mask changes nothing.
func (f frame) bytes() []byte {
	n, mask := f.length, byte(0)
	if n == 0 {
		n = uint64(len(f.payload))
	}
	if f.isMasked {
		mask = 0x80
	}
	out := []byte{f.first}
	switch {
	case n < 126:
		out = append(out, mask|byte(n))
	case n < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, mask|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, mask|127), n)
	}
	if f.isMasked {
		out = append(out, 0, 0, 0, 0)
	}
	return append(out, f.payload...)
}

const (
	textFrame, more, ping, closing = 0x81, 0x00, 0x89, 0x88
	askOne                         = `{"type":"response.create","input":"one"}`
)

// badFrames are what a side may send instead of a message, by what is wrong with it. The
// connection must end, and nothing of them may be taken for a message.
//
// A masked frame of a provider is none of them: the library takes it as it is meant.
func badFrames(isMasked bool, message string) map[string][]frame {
	return map[string][]frame{
		"longer than a length can be": {{textFrame, isMasked, 1 << 63, message}},
		"reserved flags":              {{textFrame | 0x40, isMasked, 0, message}},
		"a reserved opcode":           {{0x83, isMasked, 0, message}},
		"a continuation of nothing":   {{0x80, isMasked, 0, message}},
		"a message inside a message":  {{0x01, isMasked, 0, message[:5]}, {textFrame, isMasked, 0, message}},
		"a fragmented ping":           {{0x09, isMasked, 0, "a"}, {textFrame, isMasked, 0, message}},
		"a long ping": {{ping, isMasked, 0, strings.Repeat("a", 126)},
			{textFrame, isMasked, 0, message}},
		"a close frame of one byte": {{closing, isMasked, 0, "a"}, {textFrame, isMasked, 0, message}},
		"a close code of nobody":    {{closing, isMasked, 0, "\x00\x07"}, {textFrame, isMasked, 0, message}},
		"bytes":                     {{0x82, isMasked, 0, message}},
		"half a frame":              {{textFrame, isMasked, 100, message[:10]}},
		"noise":                     {{0xff, isMasked, 0, "\xff\xff\xff\xff"}},
	}
}

// fragments are a message in pieces, some of them empty, with pings between.
func fragments(isMasked bool, message string) []frame {
	out := []frame{{0x01, isMasked, 0, message[:1]}}
	for _, c := range message[1:] {
		out = append(out, frame{more, isMasked, 0, ""}, frame{ping, isMasked, 0, "p"},
			frame{more, isMasked, 0, string(c)})
	}
	return append(out, frame{0x80, isMasked, 0, ""})
}

// frameRecorder records what clients say to a provider that is a handler.
type frameRecorder struct {
	rec     *record.Recorder
	out     *cassette.Writer
	path    string
	options *coder.DialOptions
}

func newFrameRecorder(t *testing.T, provider http.HandlerFunc) *frameRecorder {
	t.Helper()
	server := httptest.NewTLSServer(provider)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport, err := proxy.NewTransport(map[string]string{"openai": server.URL}, roots)
	ok(t, err)
	t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	f := &frameRecorder{path: filepath.Join(t.TempDir(), "c.yaml")}
	f.out, err = cassette.Create(f.path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic},
		cassette.CreateOptions{})
	ok(t, err)
	f.rec, err = record.New(record.Config{Transport: transport, Writer: f.out, Redactor: redact.New(nil)})
	ok(t, err)
	f.options = socketOptions(t, f.rec)
	return f
}

// connectRaw makes the handshake through the proxy and returns the connection after it.
func (f *frameRecorder) connectRaw(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	tr := f.options.HTTPClient.Transport.(*http.Transport)
	through, err := tr.Proxy(&http.Request{URL: &url.URL{}})
	ok(t, err)
	plain, err := net.Dial("tcp", through.Host)
	ok(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	ok(t, plain.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(plain, "CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com:443\r\n\r\n")
	ok(t, err)
	if resp, err := http.ReadResponse(bufio.NewReader(plain), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	conn := tls.Client(plain, &tls.Config{RootCAs: tr.TLSClientConfig.RootCAs, ServerName: "api.openai.com"})
	_, err = io.WriteString(conn,
		"GET /v1/responses HTTP/1.1\r\nHost: api.openai.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: "+
			socketKey+"\r\n\r\n")
	ok(t, err)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodGet})
	ok(t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp.Status)
	}
	return conn, in
}

// acceptOf answers the key of a handshake, as RFC 6455 says.
func acceptOf(r *http.Request) string {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// finish closes the recording, and returns the report and the whole interactions.
func (f *frameRecorder) finish(t *testing.T) (report record.Report, whole []cassette.Interaction) {
	t.Helper()
	report = f.rec.Close()
	ok(t, f.out.Close())
	c, err := cassette.Open(f.path)
	ok(t, err)
	ok(t, c.Verify())
	for in, err := range c.All() {
		ok(t, err)
		if in.Incomplete == "" {
			whole = append(whole, in)
		}
	}
	return report, whole
}

// A client that breaks the protocol is disconnected. What others say is recorded.
func TestFramesOfClients(t *testing.T) {
	f := newFrameRecorder(t, socketProvider)
	t.Run("clients", func(t *testing.T) {
		bad := badFrames(true, askOne)
		bad["not masked"] = []frame{{textFrame, false, 0, askOne}}
		delete(bad, "bytes") // the library waits five seconds for such a client to agree
		for name, frames := range bad {
			t.Run(name, func(t *testing.T) {
				conn, in := f.connectRaw(t)
				go func() {
					for _, frame := range frames {
						if _, err := conn.Write(frame.bytes()); err != nil {
							return // disconnected
						}
					}
					if name == "half a frame" {
						_ = conn.Close()
					}
				}()
				if heard, _ := io.ReadAll(in); strings.Contains(string(heard), "response.") {
					t.Errorf("is answered: %q", heard)
				}
			})
		}
		conn, in := f.connectRaw(t)
		for _, frame := range fragments(true, askOne) {
			_, err := conn.Write(frame.bytes())
			ok(t, err)
		}
		heard := ""
		for !strings.Contains(heard, "response.completed") {
			buf := make([]byte, 1024)
			n, err := in.Read(buf)
			ok(t, err)
			heard += string(buf[:n])
		}
		ok(t, conn.Close())
		if got := talkTo(t, f.options, askOne); len(got) != 4 {
			t.Errorf("afterwards: %q", got)
		}
	})
	report, whole := f.finish(t)
	if len(whole) != 2 || len(report.Cut)+len(report.Lost)+len(report.Refused) > 0 {
		t.Errorf("%d whole interactions, %+v", len(whole), report)
	}
	for _, in := range whole {
		if string(in.Request.Body) != askOne {
			t.Errorf("recorded %q", in.Request.Body)
		}
	}
}

// A provider that breaks the protocol cuts its reply: the client sees that, and the
// cassette says it. A fragmented reply is whole.
func TestFramesOfProviders(t *testing.T) {
	bad := badFrames(false, endEvent)
	f := newFrameRecorder(t, func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("X-Case")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Sec-WebSocket-Accept", acceptOf(r))
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Read(make([]byte, 4096)) // the request
		frames := append([]frame{{textFrame, false, 0, createdEvent}}, bad[name]...)
		if bad[name] == nil {
			frames = append(frames[:1], fragments(false, endEvent)...)
		}
		for _, frame := range frames {
			if _, err := conn.Write(frame.bytes()); err != nil {
				return
			}
		}
		if name != "half a frame" {
			_, _ = io.Copy(io.Discard, conn) // until the recorder leaves
		}
	})
	t.Run("clients", func(t *testing.T) {
		for name := range bad {
			t.Run(name, func(t *testing.T) {
				options := *f.options
				options.HTTPHeader = http.Header{"Authorization": {socketKey}, "X-Case": {name}}
				got := talkTo(t, &options, askOne)
				if len(got) != 3 || got[1] != createdEvent || !strings.HasPrefix(got[2], "closed with ") {
					t.Errorf("%q", got)
				}
			})
		}
		if got := talkTo(t, f.options, askOne); fmt.Sprint(got[1:]) != fmt.Sprint([]string{createdEvent, endEvent}) {
			t.Errorf("in fragments: %q", got)
		}
	})
	report, whole := f.finish(t)
	if len(whole) != 1 || len(report.Cut) != len(bad) || len(report.Lost)+len(report.Refused) > 0 {
		t.Errorf("%d whole interactions, %+v", len(whole), report)
	}
}
