package simulator

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// TestHTTP2 holds that HTTP/2 is offered when asked for, with TLS and without,
// and that a cut is then a stream that is reset on a connection that lives on.
func TestHTTP2(t *testing.T) {
	for _, plain := range []bool{false, true} {
		server, err := Open(ListenConfig{Plain: plain, HTTP2: true}, New(Config{Scenario: everyScenario(t)}))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(server.CA)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP2(!plain)
		transport.Protocols.SetUnencryptedHTTP2(plain)
		client := &http.Client{Transport: transport}
		for name, ask := range asks {
			resp, err := client.Do(ask(server.URL, 3, true))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			reset := http2.StreamError{}
			if resp.ProtoMajor != 2 || len(body) == 0 ||
				!errors.As(err, &reset) && !strings.Contains(err.Error(), "INTERNAL_ERROR") {
				t.Errorf("plain=%t %s: %s, %d bytes and then %v; want a stream that is reset", plain, name, resp.Proto,
					len(body), err)
			}
			if got := send(t, client, ask(server.URL, 0, true)); got.status != 200 || got.err != nil {
				t.Errorf("plain=%t %s: after the cut %d, %v", plain, name, got.status, got.err)
			}
		}
		transport.CloseIdleConnections()
		server.Close()
	}
}

// TestPlain holds that without TLS there is no certificate to trust.
func TestPlain(t *testing.T) {
	server, err := Open(ListenConfig{Plain: true}, New(Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	got := send(t, &http.Client{Transport: transport}, asks["gemini"](server.URL, 0, true))
	if got.status != 200 || !strings.HasPrefix(server.URL, "http://127.0.0.1:") || server.CA != nil {
		t.Errorf("%s: %d", server.URL, got.status)
	}
}

// BenchmarkStartUp is how long a server takes to be there; the budget is 50 ms.
func BenchmarkStartUp(b *testing.B) {
	for b.Loop() {
		server, err := Open(ListenConfig{HTTP2: true}, New(Config{Seed: "x"}))
		if err != nil {
			b.Fatal(err)
		}
		server.Close()
	}
}

// TestTaken holds that an address in use is named.
func TestTaken(t *testing.T) {
	one, err := Open(ListenConfig{Plain: true}, http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	address := strings.TrimPrefix(one.URL, "http://")
	if _, err := Open(ListenConfig{Address: address}, http.NotFoundHandler()); err == nil ||
		!strings.Contains(err.Error(), address+": cannot listen there: ") {
		t.Errorf("%v", err)
	}
}
