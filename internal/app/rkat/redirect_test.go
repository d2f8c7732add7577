package rkat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/simulator"
)

// redirects are the statuses that lead elsewhere, some of them with the body.
var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
	http.StatusPermanentRedirect,
}

// elsewhere is a host that nobody configured. It keeps whatever reaches it.
type elsewhere struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.seen = append(e.seen, fmt.Sprint(r.Method, r.URL, r.Header, string(body)))
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *elsewhere) mustBeUnknown(t *testing.T, what string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seen) > 0 {
		t.Errorf("%s: another host was sent %q", what, e.seen)
	}
	e.seen = nil
}

// redirect answers with a status that leads to the other host.
func (e *elsewhere) redirect(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", e.URL+r.URL.Path)
		w.WriteHeader(status)
	}
}

// TestProviderRedirects: neither key nor prompt follows a redirect of the provider's
// address, and the error says what is wrong.
func TestProviderRedirects(t *testing.T) {
	other := newElsewhere(t)
	for _, status := range redirects {
		u := newUpstream(t, other.redirect(status))
		for _, model := range []string{"claude-opus-4-6", "gpt-5.2", "gemini-3-flash-preview"} {
			for _, way := range []string{"--stream", "--unary"} {
				what := fmt.Sprint(status, " ", model, " ", way)
				got := rkat(t.Context(), u.env(t.TempDir()), "run", "-m", model, way, "heron")
				if got.code == 0 || !strings.Contains(got.stderr,
					"the address redirects elsewhere; use the API's own base URL") ||
					strings.Contains(got.stderr, other.URL) {
					t.Errorf("%s: %+v", what, got)
				}
				other.mustBeUnknown(t, what)
			}
		}
		if u.requests() != 6 {
			t.Errorf("%d: %d requests, not 6: a redirect is not tried again", status, u.requests())
		}
		got := rkat(t.Context(), u.env(t.TempDir()), "doctor", "--online")
		if got.code != exitError || strings.Count(got.stdout, "redirects elsewhere") != 3 {
			t.Errorf("%d: doctor says %+v", status, got)
		}
		other.mustBeUnknown(t, fmt.Sprint(status, " doctor"))
	}
}

// TestToolServerRedirects: the credentials of an MCP server stay with it, whether it
// redirects at its start or in the middle of a session.
func TestToolServerRedirects(t *testing.T) {
	other := newElsewhere(t)
	provider := newUpstream(t, simulator.New(simulator.Config{Seed: "redirect"}))
	for _, status := range redirects {
		for name, redirects := range map[string]func(body []byte) bool{
			"start": func([]byte) bool { return true },
			"call":  func(body []byte) bool { return strings.Contains(string(body), "tools/call") },
		} {
			what := fmt.Sprint(status, " at ", name)
			url := newToolsOverHTTP(t, other.redirect(status), redirects)
			got := rkat(
				t.Context(), append(provider.env(t.TempDir()), "TOKEN=made-up-token"), "run", "-m", "claude-opus-4-6",
				"--mcp", writeServers(t, url), `Call srv__note with "heron".`,
			)
			wantCode := map[string]int{"start": exitUnavailable, "call": 0}[name]
			if got.code != wantCode || !strings.Contains(got.stdout+got.stderr, "it redirects to ") ||
				strings.Contains(got.stdout+got.stderr, "made-up-token") {
				t.Errorf("%s: %+v", what, got)
			}
			other.mustBeUnknown(t, what)
		}
	}
}

// newToolsOverHTTP is an MCP server that hands over the requests that are chosen by their
// bodies.
func newToolsOverHTTP(t *testing.T, redirect http.Handler, chosen func([]byte) bool) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "note"}, func(context.Context, *mcp.CallToolRequest, struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if chosen(body) {
			redirect.ServeHTTP(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL
}

func writeServers(t *testing.T, url string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers":{"srv":{"url":"` + url + `","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCollectorRedirects: the headers of the collector do not travel, and the run is what
// it is without one.
func TestCollectorRedirects(t *testing.T) {
	other := newElsewhere(t)
	for _, status := range redirects {
		collector := httptest.NewServer(other.redirect(status))
		defer collector.Close()
		env := []string{
			"HOME=" + t.TempDir(), "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL,
			"OTEL_EXPORTER_OTLP_HEADERS=authorization=made-up-token",
		}
		got := rkat(t.Context(), env, "run", "--demo", "hi")
		if got.code != 0 || strings.Count(got.stderr, "telemetry: ") != 1 ||
			!strings.Contains(got.stderr, fmt.Sprint(status)) ||
			strings.Contains(got.stderr, "made-up-token") {
			t.Errorf("%d: %+v", status, got)
		}
		other.mustBeUnknown(t, fmt.Sprint(status))
	}
}
