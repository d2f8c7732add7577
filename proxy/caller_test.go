package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy"
)

const credential = "correct-horse.battery~staple"

// session answers with what the handler may know about the caller.
func session(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprint(w, proxy.Session(r.Context()), " ", r.URL.Path, " ", r.RequestURI, " ",
		r.Header.Values("Proxy-Authorization"))
}

// A session is named by the proxy user, the base URL or the port, and none of
// that reaches the handler (pitfall G19).
func TestSessions(t *testing.T) {
	for _, secret := range []string{"", credential} {
		a := authority(t)
		p := start(t, proxy.Config{CA: a, Ingress: []string{proxy.MITM, proxy.BaseURL}, Credential: secret,
			Sessions: map[string]string{"by-port": "127.0.0.1:0"}}, session)
		for _, name := range []string{"", "by-user", "by-port", "A.b_c-9"} {
			for _, h2 := range []bool{false, true} {
				c, tr := client(t, p, a)
				through, _ := url.Parse(p.URLFor(proxy.MITM, name))
				tr.Proxy, tr.ForceAttemptHTTP2 = http.ProxyURL(through), h2
				req, _ := http.NewRequest(http.MethodGet, "https://"+host+"/v1/messages", nil)
				req.Header.Set("Proxy-Authorization", "Basic eDp5")
				resp, err := c.Do(req)
				if got, want := body(t, resp, err), name+" /v1/messages /v1/messages []"; got != want {
					t.Errorf("%q by proxy user, h2=%t: %q, want %q", name, h2, got, want)
				}
			}
			resp, err := http.Get(p.URLFor(proxy.BaseURL, name) + "/anthropic/v1/messages%2Fx")
			if got, want := body(t, resp, err), name+" /v1/messages/x /anthropic/v1/messages%2Fx []"; got != want {
				t.Errorf("%q by base URL: %q, want %q", name, got, want)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestSessionsStayApart(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a}, session)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			name := fmt.Sprint("run-", i)
			through, _ := url.Parse(p.URLFor(proxy.MITM, name))
			c, tr := client(t, p, a)
			tr.Proxy = http.ProxyURL(through)
			for range 5 {
				resp, err := c.Get("https://" + host + "/")
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if !strings.HasPrefix(string(text), name+" ") {
					t.Errorf("%s was taken for %s", name, text)
				}
			}
		})
	}
	wg.Wait()
}

func TestBadSessionNames(t *testing.T) {
	p := start(t, proxy.Config{Ingress: []string{proxy.MITM, proxy.BaseURL}},
		func(http.ResponseWriter, *http.Request) { t.Error("reached the handler") })
	for _, name := range []string{"..", "a b", "a%2Fb", "n%C3%A4me", strings.Repeat("x", 65), "%ff"} {
		resp, err := http.Get(p.URL() + "/~" + name + "/anthropic/v1/messages")
		if text := body(t, resp, err); resp.StatusCode != http.StatusBadRequest ||
			!strings.Contains(text, "1 to 64 letters") {
			t.Errorf("/~%s: %d %s", name, resp.StatusCode, text)
		}
	}
	for header, want := range map[string]string{
		"Basic Li46eA==": "HTTP/1.1 400", // ..:x
		"Basic !":        "HTTP/1.1 407",
		"Bearer abc":     "HTTP/1.1 407",
	} {
		if got := raw(t, p, "CONNECT "+host+":443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: "+header+
			"\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", header, got)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// raw sends bytes to the outer ingress and returns all that comes back.
func raw(tb testing.TB, p *proxy.Proxy, request string) string {
	tb.Helper()
	conn := dial(tb, p)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(deadline))
	_, _ = io.WriteString(conn, request)
	reply, err := io.ReadAll(conn)
	if err != nil {
		tb.Error(err)
	}
	return string(reply)
}

// Whoever lacks the credential gets nowhere by any ingress, and it is not shown.
func TestCredential(t *testing.T) {
	var log strings.Builder
	a := authority(t)
	p := start(t, proxy.Config{CA: a, Listen: "0.0.0.0:0", Credential: credential,
		Ingress: []string{proxy.MITM, proxy.BaseURL},
		Log:     func(line string) { log.WriteString(line) }}, session)
	for _, wrong := range []string{"", "/~x", "/~x:" + credential + "x", "/~x:" + strings.ToUpper(credential)} {
		resp, err := http.Get(p.URL() + wrong + "/anthropic/v1/messages")
		if text := body(t, resp, err); resp.StatusCode != http.StatusForbidden ||
			!strings.Contains(text, "/~NAME:CREDENTIAL/") {
			t.Errorf("%s: %d %s", wrong, resp.StatusCode, text)
		}
	}
	for _, target := range []string{"CONNECT " + host + ":443", "GET http://" + host + "/"} {
		reply := raw(t, p, target+" HTTP/1.1\r\nHost: "+host+
			"\r\nProxy-Authorization: Basic eDp5\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(reply, "HTTP/1.1 407") || !strings.Contains(reply, "Proxy-Authenticate: Basic") {
			t.Errorf("%s: %s", target, reply)
		}
	}
	resp, err := http.Get(p.URLFor(proxy.BaseURL, "") + "/elsewhere")
	if text := body(t, resp, err); resp.StatusCode != http.StatusNotFound || strings.Contains(text, credential) {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if strings.Contains(log.String(), credential) || strings.Contains(p.URL(), credential) {
		t.Errorf("the credential is shown: %s %s", log.String(), p.URL())
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestListenBeyondLoopback(t *testing.T) {
	for name, cfg := range map[string]proxy.Config{
		"no credential":   {Listen: "0.0.0.0:0"},
		"by a session":    {Sessions: map[string]string{"a": "0.0.0.0:0"}},
		"short":           {Listen: "0.0.0.0:0", Credential: "guess-me"},
		"not for URLs":    {Listen: "0.0.0.0:0", Credential: "correct/horse/battery"},
		"bad session":     {Sessions: map[string]string{"a/b": "127.0.0.1:0"}},
		"nobody's name":   {Sessions: map[string]string{"-": "127.0.0.1:0"}},
		"session address": {Sessions: map[string]string{"a": "8080"}},
	} {
		cfg.CA, cfg.Handler = authority(t), http.NotFoundHandler()
		_, err := proxy.New(cfg)
		if err == nil || cfg.Credential != "" && strings.Contains(err.Error(), cfg.Credential) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
