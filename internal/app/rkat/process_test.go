package rkat

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

// tunnel is a proxy that leads every CONNECT to one address and keeps the
// hosts it was asked for.
func tunnel(t *testing.T, to string, hosts *atomic.Value) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts.Store(r.Host)
		upstream, err := net.Dial("tcp", to)
		if err != nil || r.Method != http.MethodConnect {
			http.Error(w, "no tunnel", http.StatusBadGateway)
			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = upstream.Close()
			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
		_, _ = io.Copy(client, upstream)
		_ = client.Close()
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func scenarioNamed(t *testing.T, name string) *specs.Scenario {
	t.Helper()
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no scenario %s", name)
	return nil
}

// TestThroughAProxy reaches the providers' real names through a proxy and trusts
// a certificate, both taken from env alone, and leaves nothing running.
func TestThroughAProxy(t *testing.T) {
	server, err := simulator.Start(
		"", simulator.New(simulator.Config{Scenario: scenarioNamed(t, "thinking-tool-loop"), Seed: "x"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, server.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	var host atomic.Value
	proxy := tunnel(t, strings.TrimPrefix(server.URL, "https://"), &host)
	for model, want := range map[string]string{
		"claude-opus-4-5": "api.anthropic.com:443", "gpt-5.2": "api.openai.com:443",
		"gemini-3-flash-preview": "generativelanguage.googleapis.com:443",
	} {
		env := []string{"ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k", "GEMINI_API_KEY=k",
			"RKAT_SESSION_DIR=" + t.TempDir(),
			"https_proxy=" + proxy, "SSL_CERT_FILE=" + ca}
		got := rkat(t.Context(), env, "run", "--conform-tools", "--model", model, "hi")
		if got.code != 0 || host.Load() != want {
			t.Errorf("%s: %d via %v: %s", model, got.code, host.Load(), got.stderr)
		}
		// Without the certificate the same way is closed.
		if got := rkat(
			t.Context(), env[:5], "run", "--model", model, "hi",
		); got.code != exitUnavailable || !strings.Contains(got.stderr, "certificate") {
			t.Errorf("%s without the certificate: %d %s", model, got.code, got.stderr)
		}
	}
}

func TestProxyOf(t *testing.T) {
	for _, c := range []struct{ env, url, want string }{
		{"HTTPS_PROXY=http://p:1", "https://api.anthropic.com", "http://p:1"},
		{"https_proxy=p:1", "https://api.anthropic.com", "http://p:1"},
		{"HTTPS_PROXY=socks5://p:1", "https://api.anthropic.com", "socks5://p:1"},
		{"HTTP_PROXY=http://p:1", "https://api.anthropic.com", ""},
		{"HTTP_PROXY=http://p:1", "http://api.example.com", "http://p:1"},
		{"HTTPS_PROXY=http://p:1 NO_PROXY=.anthropic.com", "https://api.anthropic.com", ""},
		{"HTTPS_PROXY=http://p:1 no_proxy=*", "https://api.anthropic.com", ""},
		{"HTTPS_PROXY=http://p:1", "https://127.0.0.1:9", ""},
	} {
		choose, err := environment(config.ParseEnvironment(strings.Fields(c.env))).proxyFunc()
		if err != nil {
			t.Fatal(err)
		}
		got, err := choose(httptest.NewRequest(http.MethodPost, c.url, nil))
		if err != nil || got == nil && c.want != "" || got != nil && got.String() != c.want {
			t.Errorf("%s: %s goes by %v, %v; want %q", c.env, c.url, got, err, c.want)
		}
	}
}

// TestInterrupted ends with 130, keeps the session legal, and leaks nothing.
func TestInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": here\n\n")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	env := []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + server.URL, "RKAT_SESSION_DIR=" + t.TempDir()}
	got := rkat(ctx, env, "run", "--model", "claude-opus-4-5", "--output", "json", "hi")
	if got.code != exitInterrupted || !strings.Contains(got.stdout, `"error":{"kind":"interrupted"`) {
		t.Errorf("%+v", got)
	}
	legalSession(t, env)
}

// TestDemonstrationLeavesNothing: its provider and the tool servers end with it.
func TestDemonstrationLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	servers := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(
		servers,
		[]byte(`{"mcpServers":{"srv":{"command":"sh","args":["-c","exec cat"],"startTimeout":"100ms","optional":true}}}`),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	got := rkat(
		t.Context(), []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, "run", "--demo", "--mcp", servers,
		"hi",
	)
	if got.code != 0 || !strings.Contains(got.stderr, "mcp server srv: not on offer: ") {
		t.Errorf("%+v", got)
	}
}

// TestProcessEnvironmentIsNotRead: what is not in env does not exist.
func TestProcessEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("RKAT_SESSION_DIR", t.TempDir())
	if got := rkat(
		t.Context(), nil, "run", "hi",
	); got.code != exitUsage || !strings.Contains(got.stderr, "RKAT_SESSION_DIR") {
		t.Errorf("%+v", got)
	}
	if got := rkat(t.Context(), []string{"HOME=/nowhere"}, "run", "hi"); got.code != exitDenied {
		t.Errorf("%+v", got)
	}
}

func TestSessionFolder(t *testing.T) {
	for want, env := range map[string][]string{
		"/a":                            {"RKAT_SESSION_DIR=/a", "XDG_DATA_HOME=/x", "HOME=/h"},
		"/x/rkat/sessions":              {"RKAT_SESSION_DIR=", "XDG_DATA_HOME=/x", "HOME=/h"},
		"/h/.local/share/rkat/sessions": {"XDG_DATA_HOME=relative", "HOME=/g", "HOME=/h", "nonsense"},
	} {
		e := environment(config.ParseEnvironment(env))
		cfg, err := config.Load(config.Options{Env: e})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cfg.SessionFolder(); err != nil || got != filepath.FromSlash(want) {
			t.Errorf("%v: %s, %v; want %s", env, got, err, want)
		}
	}
}

// brokenPipe is a stdout that nobody reads.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestBrokenStdout: an answer that could not be delivered is not a success.
func TestBrokenStdout(t *testing.T) {
	u := newUpstream(t, simulator.New(simulator.Config{Scenario: scenarioNamed(t, "thinking-tool-loop"), Seed: "x"}))
	for _, format := range formats {
		var errs strings.Builder
		args := []string{"run", "--conform-tools", "--model", "claude-opus-4-5", "--output", format, "hi"}
		code := Run(t.Context(), args, strings.NewReader(""), brokenPipe{}, &errs, u.env(t.TempDir()))
		if code != exitError || !strings.Contains(errs.String(), "rkat: stdout: broken pipe") {
			t.Errorf("%s: %d %s", format, code, errs.String())
		}
	}
}

// TestNoSecretAnywhere: the key is in no file, on no output.
func TestNoSecretAnywhere(t *testing.T) {
	const key = "made-up-secret-9f2c"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"bad key `+key+`"}}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	env := []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + server.URL, "RKAT_SESSION_DIR=" + dir}
	metrics, trace := filepath.Join(t.TempDir(), "metrics"), filepath.Join(t.TempDir(), "trace")
	got := rkat(
		t.Context(), env, "run", "--provider", "openai", "--output", "json-stream", "--verbose", "--metrics-file",
		metrics, "--trace-file", trace, "hi",
	)
	counted, err := os.ReadFile(metrics)
	spans, terr := os.ReadFile(trace)
	if err := errors.Join(err, terr); err != nil {
		t.Fatal(err)
	}
	seen := rkat(t.Context(), env, "doctor", "--online", "--json", "--verbose")
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 || got.code != exitDenied {
		t.Fatalf("%v, %+v", files, got)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"session": string(data), "stdout": got.stdout, "stderr": got.stderr,
		"metrics": string(counted), "spans": string(spans), "doctor": seen.stdout, "doctor's stderr": seen.stderr,
	} {
		if text == "" && what != "doctor's stderr" || strings.Contains(text, key) {
			t.Errorf("%s holds the key: %s", what, text)
		}
	}
}
