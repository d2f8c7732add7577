package proxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy"
)

// A client that still uploads is refused at once, by each ingress: it may wait for an answer
// before it sends the rest.
func TestRefusalDoesNotWaitForTheUpload(t *testing.T) {
	a := authority(t)
	open := start(t, proxy.Config{CA: a, Ingress: []string{proxy.BaseURL, proxy.MITM}}, nil404)
	locked := start(t, proxy.Config{CA: a, Ingress: []string{proxy.BaseURL, proxy.MITM},
		Credential: "a-credential-of-24-chars"}, nil404)
	for name, c := range map[string]struct {
		dial   func(*testing.T) net.Conn
		target string
		host   string
		status int
	}{
		"wrong host":    {dialTo(open), "/anthropic/v1/messages", "elsewhere.example", http.StatusForbidden},
		"wrong path":    {dialTo(open), "/elsewhere", "127.0.0.1", http.StatusNotFound},
		"no credential": {dialTo(locked), "/anthropic/v1/messages", "127.0.0.1", http.StatusForbidden},
		"plain HTTP": {dialTo(open), "http://api.anthropic.com/v1/messages", "api.anthropic.com",
			http.StatusForbidden},
		"in a tunnel": {dialThrough(open, a.Pool()), "/v1/messages", "api.openai.com", http.StatusMisdirectedRequest},
	} {
		for _, framing := range []string{"Content-Length: 200000\r\n\r\n{",
			"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
			t.Run(name+"/"+framing[:7], func(t *testing.T) {
				conn := c.dial(t)
				_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\n%s", c.target, c.host, framing)
				_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if text := body(t, resp, err); resp.StatusCode != c.status || !strings.Contains(text, "proxy_refused") {
					t.Errorf("%d %s", resp.StatusCode, text)
				}
			})
		}
	}
}

// dialTo opens connections to a proxy.
func dialTo(p *proxy.Proxy) func(*testing.T) net.Conn {
	return func(t *testing.T) net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
}

// dialThrough opens tunnels to the usual host.
func dialThrough(p *proxy.Proxy, roots *x509.CertPool) func(*testing.T) net.Conn {
	return func(t *testing.T) net.Conn {
		t.Helper()
		conn := dialTo(p)(t)
		_, _ = fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", host, host)
		resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
		return tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: host})
	}
}

// A client whose whole request is refused uses its connection again.
func TestRefusalKeepsTheConnection(t *testing.T) {
	a := authority(t)
	said := make(chan string, 100)
	p := start(t, proxy.Config{CA: a, Ingress: []string{proxy.BaseURL, proxy.MITM},
		Log: func(line string) { said <- line }}, nil404)
	for name, c := range map[string]struct {
		dial   func(*testing.T) net.Conn
		target string
		host   string
	}{
		"base URL":    {dialTo(p), "/elsewhere", "127.0.0.1"},
		"in a tunnel": {dialThrough(p, a.Pool()), "/v1/messages", "api.openai.com"},
	} {
		conn := c.dial(t)
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		reply := bufio.NewReader(conn)
		for range 3 {
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\n{}", c.target, c.host)
			resp, err := http.ReadResponse(reply, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text := body(t, resp, err); !strings.Contains(text, "proxy_refused") {
				t.Errorf("%s: %d %s", name, resp.StatusCode, text)
			}
		}
	}
	for len(said) > 0 {
		if line := <-said; strings.Contains(line, "panic") {
			t.Error(line)
		}
	}
}
