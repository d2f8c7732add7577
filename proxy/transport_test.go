package proxy

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
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
