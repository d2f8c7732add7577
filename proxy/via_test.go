package proxy

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/standin"
)

// refuseByQuery refuses all requests of a client that is to ask for a URL with the query gone
// or denied, and answers nothing where it is mute, whatever the company's proxy would say.
func refuseByQuery(url string, company http.Handler) http.Handler {
	_, query, _ := strings.Cut(url, "?")
	status := map[string]int{"gone": http.StatusForbidden, "denied": http.StatusUnauthorized}[query]
	switch {
	case query == "mute":
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	case status == 0:
		return company
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// A company's proxy is used with its login, but not for the hosts of NO_PROXY; when
// it refuses, the error says what it asks for, and no login.
func TestVia(t *testing.T) {
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "hello")
	}))
	defer provider.Close()
	roots := x509.NewCertPool()
	roots.AddCert(provider.Certificate())
	address := provider.Listener.Addr().String()
	const there, plain = "https://example.com/v1/messages", "http://example.com/v1/messages"
	for name, c := range map[string]struct {
		needs, gives, noProxy string
		offers                []string
		url, want             string
	}{
		"login":           {"clerk:tr0ub4dor", "clerk:tr0ub4dor", "", []string{`Basic realm="x"`}, there, "hello"},
		"no login needed": {"", "", "", nil, there, "hello"},
		"this machine":    {"clerk:tr0ub4dor", "clerk:tr0ub4dor", "", nil, "https://" + address, "directly hello"},
		"NO_PROXY":        {"clerk:tr0ub4dor", "", ".internal, example.com", nil, there, "directly no host"},
		"no login given": {"clerk:tr0ub4dor", "", "", []string{`Basic realm="x"`}, there,
			"upstream proxy PROXY: asks for a login; give it as USER:PASSWORD in RECORDER_UPSTREAM_PROXY_LOGIN"},
		"wrong login": {"clerk:tr0ub4dor", "clerk:tr0ub", "", []string{`Basic realm="x"`}, there,
			"upstream proxy PROXY: does not accept the login; check RECORDER_UPSTREAM_PROXY_LOGIN"},
		"another login": {"clerk:tr0ub4dor", "clerk:tr0ub", "", []string{"Negotiate", "NTLM", "[2J"}, there,
			"upstream proxy PROXY: asks for a login by Negotiate, NTLM, and only Basic is supported; name a proxy on this machine that logs in so, such as cntlm"},
		"plain, no login": {"clerk:tr0ub4dor", "", "", []string{`Basic realm="x"`}, plain,
			"upstream proxy PROXY: asks for a login; give it as USER:PASSWORD in RECORDER_UPSTREAM_PROXY_LOGIN"},
		"wrong login, 401": {"", "clerk:tr0ub", "", nil, there + "?denied",
			"upstream proxy PROXY: does not accept the login; check RECORDER_UPSTREAM_PROXY_LOGIN"},
		"no answer at all": {"", "", "", nil, there + "?mute", "through upstream proxy PROXY: unexpected EOF"},
		"nothing leads there": {"", "", "", nil, there + "?gone",
			"upstream proxy PROXY: does not lead to example.com:443 (status 403)"},
	} {
		t.Run(name, func(t *testing.T) {
			company := &standin.Proxy{To: address, Login: c.needs, Offers: c.offers}
			server := httptest.NewServer(refuseByQuery(c.url, company))
			defer server.Close()
			via, err := ParseVia(server.URL, c.gives, c.noProxy)
			if err != nil {
				t.Fatal(err)
			}
			rt, err := NewTransportVia(nil, roots, via)
			if err != nil {
				t.Fatal(err)
			}
			inner := rt.(*transport).next
			defer inner.CloseIdleConnections()
			if dial := inner.DialContext; c.noProxy != "" {
				inner.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
					if to == "example.com:443" {
						return nil, &net.DNSError{Err: "no host"}
					}
					return dial(ctx, network, to)
				}
			}
			var got string
			req, _ := http.NewRequest(http.MethodGet, c.url, nil)
			if resp, err := rt.RoundTrip(req); err != nil {
				got = err.Error()
			} else {
				text, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				got = string(text)
			}
			want, isDirect := strings.CutPrefix(strings.ReplaceAll(c.want, "PROXY:",
				strings.TrimPrefix(server.URL, "http://")+":"), "directly ")
			if !strings.Contains(got, want) || (company.Tunnels() > 0) != (c.want == "hello") ||
				isDirect && (company.Tunnels() > 0 || strings.Contains(got, "upstream proxy")) {
				t.Errorf("got %q after %d tunnels, want %q", got, company.Tunnels(), want)
			}
			if strings.Contains(got, "tr0ub") || strings.Contains(got, "2J") {
				t.Errorf("the error shows too much: %q", got)
			}
		})
	}
}

func TestParseVia(t *testing.T) {
	for _, bad := range []string{"", "proxy:3128", "socks5://proxy:1080", "http://", "http://proxy:3128/path",
		"http://us er:secret@proxy"} {
		if _, err := ParseVia(bad, "", ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseVia("http://proxy:3128", "secret", ""); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a login without a user: %v", err)
	}
	if via, err := ParseVia("http://clerk:old@proxy:3128/", "clerk:new", ""); err != nil || via.Password() != "new" {
		t.Errorf("%v, %v", via, err)
	}
}
