package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elazarl/goproxy"
	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "api.anthropic.com"

func authority(tb testing.TB, extra ...string) *ca.Authority {
	tb.Helper()
	hosts, err := proxy.Hosts(extra)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := ca.New(hosts, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// start runs a proxy in front of h until the test ends.
func start(tb testing.TB, cfg proxy.Config, h http.HandlerFunc) *proxy.Proxy {
	tb.Helper()
	if cfg.CA == nil {
		cfg.CA = authority(tb, cfg.AllowHosts...)
	}
	cfg.Handler = h
	p, err := proxy.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Close(ctx)
	})
	return p
}

// client goes through p and trusts its authority.
func client(tb testing.TB, p *proxy.Proxy, a *ca.Authority) (*http.Client, *http.Transport) {
	tb.Helper()
	through, err := url.Parse(p.URL())
	if err != nil {
		tb.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: a.Pool()}}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}, tr
}

func setup(tb testing.TB, h http.HandlerFunc) (*proxy.Proxy, *http.Client, *http.Transport) {
	tb.Helper()
	a := authority(tb)
	p := start(tb, proxy.Config{CA: a}, h)
	c, tr := client(tb, p, a)
	return p, c, tr
}

func body(tb testing.TB, resp *http.Response, err error) string {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func TestHandlerSeesTheRequestTheClientMeant(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			_, c, tr := setup(t, func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				_, _ = io.WriteString(w, r.Proto+" "+r.Method+" "+r.URL.String()+" "+string(data))
			})
			tr.ForceAttemptHTTP2 = proto == "HTTP/2.0"
			resp, err := c.Post("https://"+host+"/v1/messages?beta=true", "application/json", strings.NewReader("{}"))
			if got, want := body(t, resp, err), proto+" POST https://"+host+"/v1/messages?beta=true {}"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// G8: nothing but provider hosts is intercepted, and nothing at all tunnelled.
func TestOtherHostsAreRefused(t *testing.T) {
	p, c, _ := setup(t, func(http.ResponseWriter, *http.Request) { t.Error("reached the handler") })

	conn := dial(t, p)
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	text := body(t, resp, err)
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(text,
		"example.com:443: not a provider host, so nothing is sent there") || strings.Contains(text, "--allow-host") {
		t.Errorf("CONNECT example.com: %d %s", resp.StatusCode, text)
	}

	through, _ := url.Parse(p.URL())
	plain := &http.Transport{Proxy: http.ProxyURL(through)}
	defer plain.CloseIdleConnections()
	for _, address := range []string{"http://" + host, "http://169.254.169.254/key"} {
		resp, err := (&http.Client{Transport: plain}).Get(address)
		if text := body(t, resp, err); resp.StatusCode != http.StatusForbidden || !strings.Contains(text, "https") {
			t.Errorf("%s: %d %s", address, resp.StatusCode, text)
		}
	}
	if _, err := c.Get("https://" + host + ":8443/"); err == nil {
		t.Error("a provider's name let through to another port")
	}
	if p.Refused() != 4 {
		t.Errorf("%d refusals counted, want 4", p.Refused())
	}
}

// G8: the host inside the tunnel is the host the tunnel was opened for.
func TestInnerHostIsCheckedAgain(t *testing.T) {
	_, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "in") })
	for inner, want := range map[string]int{
		host:             200,
		host + ":443":    200,
		"example.com":    http.StatusForbidden,
		"api.openai.com": http.StatusMisdirectedRequest,
	} {
		req, _ := http.NewRequest(http.MethodGet, "https://"+host+"/", nil)
		req.Host = inner
		resp, err := c.Do(req)
		if body(t, resp, err); resp.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", inner, resp.StatusCode, want)
		}
	}
}

func TestAllowedHost(t *testing.T) {
	extra := []string{"gateway.example", "localhost:8443", "10.1.2.3"}
	a := authority(t, extra...)
	p := start(t, proxy.Config{CA: a, AllowHosts: extra}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.String())
	})
	c, _ := client(t, p, a)
	for _, address := range []string{"https://gateway.example/v1", "https://localhost:8443/v1", "https://10.1.2.3/v1"} {
		resp, err := c.Get(address)
		if got := body(t, resp, err); got != address {
			t.Errorf("%s arrived as %s", address, got)
		}
	}
	if _, err := proxy.New(proxy.Config{CA: authority(t), AllowHosts: extra, Handler: http.NotFoundHandler()}); err == nil {
		t.Error("accepted an authority that cannot sign for an allowed host")
	}
}

func TestConfigIsChecked(t *testing.T) {
	a, h := authority(t), http.NotFoundHandler()
	anyInterface, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = anyInterface.Close() }()
	for name, cfg := range map[string]proxy.Config{
		"no handler":      {CA: a},
		"no authority":    {Handler: h},
		"all interfaces":  {CA: a, Handler: h, Listen: ":8080"},
		"other address":   {CA: a, Handler: h, Listen: "192.0.2.1:8080"},
		"any address":     {CA: a, Handler: h, Listen: "0.0.0.0:0"},
		"no port":         {CA: a, Handler: h, Listen: "127.0.0.1"},
		"open listener":   {CA: a, Handler: h, Listener: anyInterface},
		"unknown ingress": {CA: a, Handler: h, Ingress: []string{"back"}},
		"port by name":    {CA: a, Handler: h, AllowHosts: []string{"example.com:https"}},
		"scheme":          {CA: a, Handler: h, AllowHosts: []string{"https://example.com"}},
		"host with path":  {CA: a, Handler: h, AllowHosts: []string{"https://example.com/"}},
		"wildcard":        {CA: a, Handler: h, AllowHosts: []string{"*.example.com"}},
	} {
		if _, err := proxy.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPortInUse(t *testing.T) {
	first := start(t, proxy.Config{}, nil404)
	second, err := proxy.New(proxy.Config{CA: authority(t), Handler: http.NotFoundHandler(),
		Listen: strings.TrimPrefix(first.URL(), "http://")})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); !errors.Is(err, proxy.ErrInUse) {
		t.Errorf("error %v, want ErrInUse", err)
	}
}

func nil404(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

// G9: goproxy's authority, whose key everybody has, is never used.
func TestBuiltInAuthorityIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "authority.pem"),
		slices.Concat(goproxy.CA_CERT, []byte("\n"), goproxy.CA_KEY), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ca.Open(dir, nil, time.Now()); !errors.Is(err, ca.ErrNotOurs) {
		t.Errorf("error %v, want ErrNotOurs", err)
	}
}

func dial(tb testing.TB, p *proxy.Proxy) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(deadline))
	return conn
}
