package rkat

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// lockedBuffer is a stderr that a test reads while the program writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// keyOfTelemetry is the key of the runs below. Nothing that is sent may have it.
const keyOfTelemetry = "made-up-key-of-a-test"

// runWithTelemetry runs the demo and returns what it writes.
func runWithTelemetry(t *testing.T, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env = append([]string{
		"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=" + keyOfTelemetry, "RKAT_TELEMETRY_OTLP_TIMEOUT=30s",
	}, env...)
	args = append([]string{"run", "--demo"}, append(args, "How long is \"a heron\", "+keyOfTelemetry+"?")...)
	if code := allBackends.Run(t.Context(), args, strings.NewReader(""), &out, &errs, env); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, errs.String())
	}
	return out.String(), errs.String()
}

// TestCollector: spans and metrics of a run reach the collector, without content and
// without the key.
func TestCollector(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]byte{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = append(got[r.URL.Path], body...)
	}))
	defer collector.Close()
	plain, _ := runWithTelemetry(t, nil)
	if len(got) != 0 {
		t.Error("something was sent, and nobody asked for it")
	}
	if out, errs := runWithTelemetry(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL,
	}); out != plain || strings.Contains(errs, "telemetry") {
		t.Errorf("%q %q", out, errs)
	}
	spans := string(got["/v1/traces"])
	for want, is := range map[string]bool{
		"invoke_agent rkat": true, "execute_tool demo_count": true, "heron": false, keyOfTelemetry: false,
	} {
		if strings.Contains(spans, want) != is {
			t.Errorf("spans with %q: %v", want, !is)
		}
	}
	if !bytes.Contains(got["/v1/metrics"], []byte("gen_ai.client.token.usage")) {
		t.Error("no metrics")
	}
	clear(got)
	runWithTelemetry(t, nil, "--otlp-endpoint", collector.URL, "--telemetry-content", "true")
	if spans = string(got["/v1/traces"]); !strings.Contains(spans, "a heron") ||
		strings.Contains(spans, keyOfTelemetry) {
		t.Error("content is missing, or holds the key")
	}
	clear(got)
	for _, off := range []string{"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"} {
		if runWithTelemetry(t, []string{off, "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}); len(got) != 0 {
			t.Errorf("%s: something was sent", off)
		}
	}
}

// TestBadCollector: a collector that is down, refuses, fails or hangs changes neither answer
// nor exit code and is named in one line; what waits for it is bounded.
func TestBadCollector(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[2J", http.StatusForbidden) },
	))
	defer refuses.Close()
	fails := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	))
	defer fails.Close()
	hang := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer hangs.Close()
	defer close(hang)
	down := httptest.NewServer(nil)
	down.Close()
	plain, _ := runWithTelemetry(t, nil)
	const lost = "some spans or metrics are lost"
	for _, c := range []struct{ name, url, want string }{
		{"down", down.URL, lost}, {"refuses", refuses.URL, lost}, {"fails", fails.URL, lost},
		{"hangs", hangs.URL, "the collector did not answer within 1ms; " + lost},
	} {
		var env []string
		if c.name == "hangs" {
			env = []string{"RKAT_TELEMETRY_OTLP_TIMEOUT=1ms"} // the whole bound of what the run waits
		}
		out, errs := runWithTelemetry(t, env, "--otlp-endpoint", c.url)
		if out != plain || strings.Count(errs, "telemetry: "+c.want) != 1 ||
			strings.Count(errs, "telemetry: ") != 1 || strings.Contains(errs, "\x1b") {
			t.Errorf("%s: %q %q", c.name, out, errs)
		}
	}
}

// TestMetricsEndpoint reads the metrics while the model is asked. Without a host only
// this machine can connect.
func TestMetricsEndpoint(t *testing.T) {
	stderr := &lockedBuffer{}
	var page string
	u := newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		address := regexp.MustCompile(`(?m)^metrics: (http://127\.0\.0\.1:\d+/metrics)$`).FindStringSubmatch(stderr.String())
		if address != nil {
			if reply, err := http.Get(address[1]); err == nil {
				body, _ := io.ReadAll(reply.Body)
				_ = reply.Body.Close()
				page = reply.Header.Get("Content-Type") + "\n" + string(body)
			}
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	env := append(u.env(t.TempDir()), "HOME="+t.TempDir())
	var out bytes.Buffer
	allBackends.Run(
		t.Context(), []string{"run", "--metrics-listen", "0", "canary-text"}, strings.NewReader(""), &out, stderr, env,
	)
	if !strings.HasPrefix(page, "text/plain; version=0.0.4") ||
		!strings.Contains(page, "\nrkat_runs_active 1\n") || strings.Contains(page, "canary") {
		t.Errorf("%s\n%s", page, stderr.String())
	}
	taken := httptest.NewServer(nil)
	defer taken.Close()
	stderr = &lockedBuffer{}
	if code := allBackends.Run(
		t.Context(), []string{"run", "--metrics-listen", taken.Listener.Addr().String(), "hi"}, strings.NewReader(""),
		&out, stderr, env,
	); code != exitUsage || !strings.Contains(stderr.String(), "--metrics-listen: ") {
		t.Errorf("a port that is taken: %d %s", code, stderr.String())
	}
}
