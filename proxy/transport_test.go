package proxy

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// G11: HTTP/2 where the server has it, no proxy from the environment (it may
// be us), no compression of our own, and no limit to how long a reply takes.
func TestTransport(t *testing.T) {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.URL.RequestURI()+" "+r.Header.Get("Accept-Encoding"))
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	defer upstream.Close()
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())

	rt, err := NewTransport(map[string]string{"anthropic": upstream.URL + "/stand-in/"}, roots)
	if err != nil {
		t.Fatal(err)
	}
	inner := rt.(*transport).next
	defer inner.CloseIdleConnections()
	if inner.Proxy != nil || inner.ResponseHeaderTimeout != 0 {
		t.Error("follows the environment's proxies, or limits replies")
	}
	req, _ := http.NewRequest(http.MethodGet, "https://api.anthropic.com/v1/a%2Fb?q=1", nil)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := "HTTP/2.0 /stand-in/v1/a%2Fb?q=1 "; string(got) != want {
		t.Errorf("upstream saw %q, want %q", got, want)
	}
	if req.URL.Host != "api.anthropic.com" {
		t.Error("the caller's request was changed")
	}
}

// TestUpstreamOfAHost holds that an upstream answers all wires of its provider's host, so that none
// reaches the provider with a key; a wire's own upstream comes first, and other hosts are not touched.
func TestUpstreamOfAHost(t *testing.T) {
	openai := map[string]string{"openai": "http://openai.test"}
	both := map[string]string{"openai": "http://openai.test", "chat": "http://chat.test"}
	for _, c := range []struct {
		upstream map[string]string
		url      string
		want     string
	}{
		{openai, "https://api.openai.com/v1/responses", "openai.test"},
		{openai, "https://api.openai.com/v1/chat/completions", "openai.test"},
		{openai, "https://api.deepseek.com/chat/completions", ""},
		{openai, "https://api.anthropic.com/v1/messages", ""},
		{both, "https://api.openai.com/v1/responses", "openai.test"},
		{both, "https://api.openai.com/v1/chat/completions", "chat.test"},
		{both, "https://api.deepseek.com/chat/completions", "chat.test"},
	} {
		rt, err := NewTransport(c.upstream, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if base := rt.(*transport).baseFor(u); base != nil {
			got = base.Host
		}
		if got != c.want {
			t.Errorf("%s with %v is answered by %q, not by %q", c.url, c.upstream, got, c.want)
		}
	}
}

// G11: a request that would come back to us is refused, however our address is
// spelt; one to another proxy of the same program is not.
func TestNoLoop(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	for _, listen := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"} {
		upstream := map[string]string{"openai": other.URL}
		var rt http.RoundTripper
		p, err := New(Config{Ingress: []string{BaseURL}, Listen: listen, Credential: "correct-horse-battery",
			Handler: http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					out := r.Clone(r.Context())
					out.RequestURI = ""
					resp, err := rt.RoundTrip(out)
					if err == nil {
						_ = resp.Body.Close()
					}
					_, _ = io.WriteString(w, fmt.Sprint(errors.Is(err, errLoop)))
				})})
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(p.listeners[0].Addr().String())
		upstream["anthropic"] = "http://localhost:" + port
		upstream["gemini"] = "http://" + strings.Replace(listen, ":0", ":"+port, 1)
		if rt, err = NewTransport(upstream, nil); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"/anthropic/x": "true", "/gemini/x": "true", "/openai/x": "false"} {
			resp, err := http.Get(p.URLFor(BaseURL, "") + path)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(resp.Body); string(got) != want && (listen != "[::1]:0" || path != "/anthropic/x") {
				t.Errorf("%s %s: a loop %s, want %s", listen, path, got, want)
			}
			_ = resp.Body.Close()
		}
		http.DefaultClient.CloseIdleConnections()
		rt.(*transport).CloseIdleConnections()
		_ = p.Close(t.Context())
	}
}

func TestUpstreamIsChecked(t *testing.T) {
	for _, c := range []struct{ provider, base string }{
		{"mistral", "http://127.0.0.1:9000"},
		{"anthropic", "127.0.0.1:9000"},
		{"anthropic", "ftp://127.0.0.1"},
		{"anthropic", "http://user:secret@127.0.0.1"},
		{"anthropic", ""},
	} {
		if _, err := NewTransport(map[string]string{c.provider: c.base}, nil); err == nil {
			t.Errorf("%s=%s: accepted", c.provider, c.base)
		}
	}
}

// What a provider sent that is not HTTP is not quoted: a key that it repeats would be in a message.
func TestUnreadableReplyIsNotQuoted(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for reply, want := range map[string]string{
		ok + "X-Echo: hunter2\x01\r\n\r\n":                          "malformed MIME header line",
		ok + "hunter2\r\n\r\n":                                      "malformed MIME header",
		"HTTP/1.1 hunter2 OK\r\n\r\n":                               "malformed HTTP status code",
		"hunter2 200 OK\r\n\r\n":                                    "malformed HTTP version",
		"hunter2\r\n\r\n":                                           "malformed HTTP response",
		ok + "Content-Length: hunter2\r\n\r\n":                      "bad Content-Length",
		ok + "Content-Length: 1\r\nContent-Length: hunter2\r\n\r\n": "multiple Content-Length headers",
		ok + "Transfer-Encoding: hunter2\r\n\r\n":                   "unsupported transfer encoding",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, reply)
			_ = conn.Close()
		}()
		rt, err := NewTransport(map[string]string{"anthropic": "http://" + listener.Addr().String()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequest(http.MethodGet, "https://api.anthropic.com/v1/x", nil)
		resp, err := rt.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", reply, err, want)
		}
		_ = listener.Close()
	}
	const goAway = `http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=PROTOCOL_ERROR`
	if got := replyError(errors.New(goAway + `, debug="hunter2"`)).Error(); got != goAway {
		t.Error(got)
	}
}
