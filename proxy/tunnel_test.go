package proxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// What goes wrong between CONNECT and the first request is named, and a stream
// beside it goes on.
func TestTunnelsThatComeToNothing(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, conn net.Conn)
		kind proxy.Kind
		text string
	}{
		"certificate not trusted": {distrust, proxy.Untrusted, "recorder ca export"},
		"the same, in clear":      {distrustInClear, proxy.Untrusted, "unknown certificate authority"},
		"no TLS":                  {speakHTTP, proxy.NoTLS, "spoke no TLS"},
		"gone in the handshake":   {func(*testing.T, net.Conn) {}, proxy.Handshake, "left while agreeing on TLS"},
		"another name in TLS":     {askForAnother, proxy.Handshake, "asked for inside a tunnel"},
		"gone without a request":  {sayNothing, proxy.Unused, "without a request"},
	} {
		t.Run(name, func(t *testing.T) {
			notices := make(chan proxy.Notice, 10)
			a := authority(t)
			p := start(t, proxy.Config{CA: a, Notice: func(n proxy.Notice) { notices <- n }}, lockstep)
			good := beside(t, p, a)
			conn := connect(t, p)
			c.do(t, conn)
			_ = conn.Close()
			select {
			case n := <-notices:
				if n.Kind != c.kind || n.Host != host+":443" || !strings.Contains(n.Text, c.text) {
					t.Errorf("noted %+v, want %s with %q", n, c.kind, c.text)
				}
			case <-time.After(deadline):
				t.Error("nothing noted")
			}
			good()
		})
	}
}

// A proxy that is closed as soon as its client has gone still says why it went.
func TestClosingSaysWhyTheLastClientLeft(t *testing.T) {
	a := authority(t)
	for range 20 {
		notices := make(chan proxy.Notice, 1)
		p := start(t, proxy.Config{CA: a, Notice: func(n proxy.Notice) { notices <- n }}, lockstep)
		conn := connect(t, p)
		distrust(t, conn)
		_ = conn.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case n := <-notices:
			if n.Kind != proxy.Untrusted {
				t.Fatalf("noted %+v, want %s", n, proxy.Untrusted)
			}
		default:
			t.Fatal("nothing noted")
		}
	}
}

func distrust(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := tls.Client(conn, &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host}).Handshake(); err == nil {
		t.Error("trusted without roots")
	}
}

// distrustInClear says so as OpenSSL does: in clear, where the server expects
// cipher text.
func distrustInClear(t *testing.T, conn net.Conn) {
	t.Helper()
	hello := tls.Client(&interrupted{Conn: conn},
		&tls.Config{InsecureSkipVerify: true, ServerName: host, MinVersion: tls.VersionTLS13})
	if err := hello.Handshake(); err == nil {
		t.Error("trusted")
	}
}

// interrupted is a connection whose client has an alert to say in the place of
// its second flight.
type interrupted struct {
	net.Conn
	hello bool
}

func (c *interrupted) Write(p []byte) (int, error) {
	if !c.hello {
		c.hello = true
		return c.Conn.Write(p)
	}
	_, _ = c.Conn.Write([]byte{21, 3, 3, 0, 2, 2, 48})
	return 0, net.ErrClosed
}

func speakHTTP(t *testing.T, conn net.Conn) {
	t.Helper()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	if reply, _ := io.ReadAll(conn); !strings.HasPrefix(string(reply), "HTTP/1.1 400 ") ||
		!strings.Contains(string(reply), "use https") {
		t.Errorf("answered %q", reply)
	}
}

func askForAnother(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: "example.com"}).Handshake(); err == nil {
		t.Error("got a certificate for another host")
	}
}

func sayNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host})
	if err := c.Handshake(); err != nil {
		t.Error(err)
	}
	_ = c.Close()
}

// lockstep sends a byte whenever the client asks for one, in the same stream.
func lockstep(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(r.Body, one); err != nil {
			return
		}
		_, _ = w.Write(one)
	}
}

// beside opens a stream, and returns what checks that it still goes both ways
// and ends well.
func beside(t *testing.T, p *proxy.Proxy, a *ca.Authority) func() {
	t.Helper()
	c, tr := client(t, p, a)
	tr.ForceAttemptHTTP2 = true
	from, to := io.Pipe()
	resp, err := c.Post("https://"+host+"/beside", "text/event-stream", from)
	if err != nil {
		t.Fatal(err)
	}
	echo := func(text string) {
		t.Helper()
		got := make([]byte, len(text))
		go func() { _, _ = io.WriteString(to, text) }()
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != text {
			t.Errorf("the stream beside it: %q, %v", got, err)
		}
	}
	echo("before")
	return func() {
		t.Helper()
		echo("after")
		_ = to.Close()
		if rest := body(t, resp, nil); rest != "" {
			t.Errorf("the stream beside it ends with %q", rest)
		}
	}
}
