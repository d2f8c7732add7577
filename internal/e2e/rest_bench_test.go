package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
)

const benchToken = "token-of-the-benchmark-0123456789"

// serveRuns serves the API over TCP; its agents talk to a provider at url.
func serveRuns(b *testing.B, url string, n int) *httptest.Server {
	b.Helper()
	store := jsonl.New(b.TempDir(), nil)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * n}}
	host := server.Host{Store: store, Version: "bench",
		Open: func(ctx context.Context, r server.Request) (*meerkat.Agent, func(), error) {
			builder := meerkat.NewAgent().WithAnthropic("test-key").WithModel("claude-opus-4-6").WithBaseURL(url).WithHTTPClient(client).
				WithStore(store).WithEvents(func(e agent.Event) { r.Listen(e) }).WithNewRunID(func() (string,
				error) {
				return r.RunID, nil
			})
			if r.NewSession != "" {
				builder.WithNewID(func() (session.ID, error) { return r.NewSession, nil })
			}
			a, err := builder.BuildContext(ctx)
			return a, func() {}, err
		}}
	backend := server.NewLocal(host.Execute, server.LocalOptions{BackendLimits: server.BackendLimits{Runs: 2 * n}})
	api := rest.New(host, backend, rest.Options{Token: benchToken, Streams: n})
	served := httptest.NewServer(api.Handler())
	b.Cleanup(func() { _ = api.Drain(b.Context()); served.CloseClientConnections(); served.Close() })
	return served
}

// askAPI sends a request and returns its open response.
func askAPI(ctx context.Context, client *http.Client, method, url, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+benchToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "wait=300")
	return client.Do(r)
}

// runOnce starts a session over HTTP, waits for its answer, and returns where the run is.
func runOnce(ctx context.Context, client *http.Client, url string) (string, error) {
	response, err := askAPI(ctx, client, http.MethodPost, url+"/sessions", `{"prompt":"hello"}`)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%d %.200s %w", response.StatusCode, text, err)
	}
	return response.Header.Get("Location"), nil
}

// BenchmarkREST is what n clients at once get from one server: each starts a session and
// waits for the answer, while n event streams are open.
func BenchmarkREST(b *testing.B) {
	url := startProvider(b, "talk")
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			served := serveRuns(b, url, n)
			client := served.Client()
			client.Transport.(*http.Transport).MaxIdleConnsPerHost = n
			before := heapBytes()
			openStreams(b, client, served.URL, n)
			perStream := (heapBytes() - before) / uint64(n)
			var times []time.Duration
			results := make(chan time.Duration, n)
			began := time.Now()
			for b.Loop() {
				allAtOnce(b, n, func() error {
					began := time.Now()
					_, err := runOnce(b.Context(), client, served.URL)
					results <- time.Since(began)
					return err
				})
				for range n {
					times = append(times, <-results)
				}
			}
			elapsed := time.Since(began)
			slices.Sort(times)
			b.ReportMetric(float64(len(times))/elapsed.Seconds(), "runs/s")
			b.ReportMetric(float64(times[len(times)*99/100].Milliseconds()), "p99-ms")
			b.ReportMetric(float64(perStream)/1024, "KiB/stream")
			b.ReportMetric(float64(heapBytes()-before)/1024/float64(len(times)+1), "KiB/session")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// openStreams opens n event streams of one session; each has read an event.
func openStreams(b *testing.B, client *http.Client, url string, n int) {
	b.Helper()
	location, err := runOnce(b.Context(), client, url)
	if err != nil {
		b.Fatal(err)
	}
	events := url + strings.Split(location, "/runs/")[0] + "/events"
	for range n {
		response, err := askAPI(b.Context(), client, http.MethodGet, events, "")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = response.Body.Close() })
		if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
