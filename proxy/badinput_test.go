package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/meerkat-go/conformance/proxy"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// CONNECT to a host that is none of ours gets a sentence, and no connection.
func TestConnectIsRefusedWithASentence(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a, AllowFlag: "--allow-host"}, lockstep)
	good := beside(t, p, a)
	for target, want := range map[string]string{
		"example.com:443":      "example.com:443: not a provider host, so nothing is sent there; --allow-host example.com intercepts it",
		host + ":22":           host + ":22: not a provider host",
		"169.254.169.254:443":  "169.254.169.254:443: not a provider host",
		"[::1]:443":            "[::1]:443: not a provider host",
		"127.0.0.1:1":          "--allow-host 127.0.0.1:1 intercepts it",
		"evil." + host + ":80": "not a provider host",
	} {
		got := raw(t, p, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, want) {
			t.Errorf("CONNECT %s: %s", target, got)
		}
	}
	for _, target := range []string{"/foo", ":443"} {
		if got := raw(t, p, "CONNECT "+target+" HTTP/1.1\r\nHost: x\r\n\r\n"); strings.Contains(got, "--allow-host  ") || strings.Contains(got, "--allow-host :") {
			t.Errorf("CONNECT %s: %s", target, got)
		}
	}
	good()
}

// echo tells what the handler was given.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/beside" {
		lockstep(w, r)
		return
	}
	data, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "<%s %s %q %v %q>", r.Method, r.URL.Path, data, err, r.Header["X-Folded"])
}

// Requests whose length two parsers could read in two ways are refused, or
// reach the handler read in one way; what follows them is never taken for a
// request of its own.
func TestSmuggling(t *testing.T) {
	const post, next = "POST / HTTP/1.1\r\nHost: " + host + "\r\n",
		"GET /next HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
	for name, c := range map[string]struct{ request, want string }{
		"length and chunks": {post +
			"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + next,
			`<POST / "hello" <nil> []>`},
		"two lengths": {post + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello" + next,
			"400 Bad Request"},
		"one length twice": {post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + next,
			`<POST / "hello" <nil> []>`},
		"lengths in one line": {post + "Content-Length: 3, 5\r\n\r\nhello" + next, "400 Bad Request"},
		"negative length":     {post + "Content-Length: -5\r\n\r\nhello" + next, "400 Bad Request"},
		"signed length":       {post + "Content-Length: +5\r\n\r\nhello" + next, "400 Bad Request"},
		"unknown coding": {post + "Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + next,
			"501 Not Implemented"},
		"coding twice": {post +
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + next,
			"501 Not Implemented"},
		"space before the colon": {post + "Content-Length : 5\r\n\r\nhello" + next, "400 Bad Request"},
		"folded header": {post + "X-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello" + next,
			`<POST / "hello" <nil> ["a b"]>`},
		"bare LF in the header": {post + "X-Folded: a\nContent-Length: 5\r\n\r\nhello" + next,
			`<POST / "hello" <nil> ["a"]>`},
		"bare CR in a header": {post + "X-Folded: a\rContent-Length: 5\r\n\r\n" + next, "400 Bad Request"},
		"bare LF in the chunks": {post + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n" + next,
			"chunked line ends with bare LF"},
		"chunk larger than said": {post + "Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n" + next,
			"malformed"},
		"two hosts": {post + "Host: example.com\r\n\r\n" + next, "400 Bad Request"},
		"no host":   {"GET / HTTP/1.1\r\n\r\n" + next, "400 Bad Request"},
		"absolute form, elsewhere": {"GET https://example.com/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n" + next,
			"403 Forbidden"},
		"garbage": {"\x00\x01\x02\r\n\r\n", "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			a := authority(t)
			p := start(t, proxy.Config{CA: a}, echo)
			good := beside(t, p, a)
			conn := tls.Client(connect(t, p), &tls.Config{RootCAs: a.Pool(), ServerName: host})
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(deadline))
			_, _ = io.WriteString(conn, c.request)
			_ = conn.CloseWrite()
			reply, _ := io.ReadAll(conn)
			answers := strings.Count(string(reply), "HTTP/1.1 ")
			if !strings.Contains(string(reply), c.want) || strings.Count(string(reply), "/next") > 1 || answers > 2 {
				t.Errorf("%d answers:\n%s\nwant %s", answers, reply, c.want)
			}
			if strings.Contains(string(reply), "/next") != (answers == 2) {
				t.Errorf("the request behind it was lost or read twice:\n%s", reply)
			}
			good()
		})
	}
}

// A header that grows without end is refused, on either protocol.
func TestHugeHeaders(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		a := authority(t)
		p := start(t, proxy.Config{CA: a}, echo)
		good := beside(t, p, a)
		c, tr := client(t, p, a)
		tr.ForceAttemptHTTP2 = h2
		req, _ := http.NewRequest(http.MethodGet, "https://"+host+"/", nil)
		for i := range 40 {
			req.Header.Set(fmt.Sprint("X-", i), strings.Repeat("x", 64<<10))
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("h2=%t: status %d", h2, resp.StatusCode)
		}
		if err != nil && !h2 {
			t.Errorf("h2=%t: %v", h2, err) // an HTTP/2 client is told the limit and may refuse itself
		}
		good()
	}
}

// A client that sends its header, or its TLS greeting, a byte a minute is let
// go; one that is slow with its body is waited for, and no other client is.
func TestSlowClients(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a, HeaderTimeout: time.Second}, echo)
	good := beside(t, p, a)

	slowBody := tls.Client(connect(t, p), &tls.Config{RootCAs: a.Pool(), ServerName: host})
	defer func() { _ = slowBody.Close() }()
	_, _ = io.WriteString(slowBody, "POST / HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 2\r\n\r\n1")

	for name, begin := range map[string]string{"header": "GET / HTTP/1.1\r\nX-", "CONNECT": "CONNECT " + host} {
		conn := dial(t, p)
		_, _ = io.WriteString(conn, begin)
		_ = conn.SetReadDeadline(time.Now().Add(deadline))
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("slow %s: %v", name, err)
		}
		_ = conn.Close()
	}
	greeting := connect(t, p)
	_, _ = io.WriteString(greeting, "\x16\x03\x01")
	_ = greeting.SetReadDeadline(time.Now().Add(deadline))
	if _, err := io.ReadAll(greeting); err != nil {
		t.Errorf("slow greeting: %v", err)
	}
	_ = greeting.Close()

	good()
	_, _ = io.WriteString(slowBody, "2")
	_ = slowBody.SetReadDeadline(time.Now().Add(deadline))
	resp, err := http.ReadResponse(bufio.NewReader(slowBody), nil)
	if text := body(t, resp, err); !strings.Contains(text, `"12" <nil>`) {
		t.Errorf("the slow body arrived as %s", text)
	}
}

// G8 on HTTP/2: the name inside the frames is checked, too, stream by stream.
func TestInnerHostIsCheckedOnHTTP2(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a}, echo)
	f := framesTo(t, p, a.TLSConfig().MinVersion)
	for i, c := range []struct{ authority, want string }{
		{host, "200"}, {"api.openai.com", "421"}, {"example.com", "403"}, {host, "200"},
	} {
		id := uint32(2*i + 1)
		f.ask(id, ":method", "GET", ":scheme", "https", ":path", "/", ":authority", c.authority)
		if got := f.status(id); got != c.want {
			t.Errorf(":authority %s: %s, want %s", c.authority, got, c.want)
		}
	}
}

// G16 on HTTP/2: a WebSocket is asked for by CONNECT, plain or extended. The
// extended one is not announced, so clients do not try; one that does loses its
// stream and nothing else.
func TestWebSocketOverHTTP2(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a}, echo)
	f := framesTo(t, p, a.TLSConfig().MinVersion)
	f.ask(1, ":method", "CONNECT", ":authority", host)
	if got := f.status(1); got != "501" || p.Upgrades() != 1 {
		t.Errorf("CONNECT: %s, %d counted", got, p.Upgrades())
	}
	f.ask(3, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/v1/responses",
		":authority", host)
	if got := f.status(3); got != "PROTOCOL_ERROR" {
		t.Errorf("extended CONNECT: %s", got)
	}
	if f.extended {
		t.Error("extended CONNECT is announced")
	}
	f.ask(5, ":method", "GET", ":scheme", "https", ":path", "/", ":authority", host)
	if got := f.status(5); got != "200" {
		t.Errorf("the connection afterwards: %s", got)
	}
}

// frames is an HTTP/2 client that sends what it is told to.
type frames struct {
	*http2.Framer
	tb       testing.TB
	buf      strings.Builder
	enc      *hpack.Encoder
	extended bool // the server takes extended CONNECT
}

func framesTo(tb testing.TB, p *proxy.Proxy, version uint16) *frames {
	tb.Helper()
	conn := tls.Client(connect(tb, p),
		&tls.Config{InsecureSkipVerify: true, ServerName: host, NextProtos: []string{"h2"}, MinVersion: version})
	tb.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(deadline))
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		tb.Fatal(err)
	}
	f := &frames{Framer: http2.NewFramer(conn, conn), tb: tb}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.enc = hpack.NewEncoder(&f.buf)
	if err := f.WriteSettings(); err != nil {
		tb.Fatal(err)
	}
	return f
}

func (f *frames) ask(id uint32, fields ...string) {
	f.tb.Helper()
	f.buf.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(f.buf.String()),
		EndHeaders: true, EndStream: true}); err != nil {
		f.tb.Fatal(err)
	}
}

// status reads until stream id is answered: by a status, or by a reset's code.
func (f *frames) status(id uint32) string {
	f.tb.Helper()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			f.tb.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := frame.Value(http2.SettingEnableConnectProtocol); ok && v == 1 {
				f.extended = true
			}
		case *http2.MetaHeadersFrame:
			if frame.StreamID == id {
				return frame.PseudoValue("status")
			}
		case *http2.RSTStreamFrame:
			if frame.StreamID == id {
				return frame.ErrCode.String()
			}
		}
	}
}
