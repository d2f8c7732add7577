package harness

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/specs"
)

// stallingTransport answers the first request with a reply that never ends, and all others
// at once.
type stallingTransport struct{ stalled chan struct{} }

func (s *stallingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("{}")), Request: r}
	if r.Header.Get("X-Attempt") == "1" {
		answer.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
			close(s.stalled)
			<-r.Context().Done()
			return 0, r.Context().Err()
		}))
	}
	return answer, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestExchangesAreInTheOrderOfTheirRequests holds that an attempt that stalled comes before
// the next one, although it ends later.
func TestExchangesAreInTheOrderOfTheirRequests(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	kept := newCapture(Permutation{Case: c, Source: evidence.SourceSimulator}, "seed", About{})
	upstream := &stallingTransport{make(chan struct{})}
	steps := &stepRecorder{capture: kept, config: record.Config{Transport: upstream, Redactor: newRedactor()}}
	kept.steps = steps
	kept.beginStep(0)
	send := func(ctx context.Context, attempt string) {
		defer func() { _ = recover() }() // how a handler ends a reply that broke off
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://api.anthropic.com/v1/messages",
			strings.NewReader("{}"))
		r.Header.Set("X-Attempt", attempt)
		steps.ServeHTTP(httptest.NewRecorder(), r)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { defer close(left); send(ctx, "1") }()
	<-upstream.stalled
	send(t.Context(), "2")
	leave()
	<-left
	if err := steps.close(); err != nil {
		t.Fatal(err)
	}
	ev, _ := kept.finish([]evidence.Process{{}})
	if len(ev.Exchanges) != 2 {
		t.Fatalf("%d exchanges", len(ev.Exchanges))
	}
	for i, want := range []string{"1", "2"} {
		if got := http.Header(ev.Exchanges[i].Request.Header).Get("X-Attempt"); got != want {
			t.Errorf("exchange %d is attempt %s", i, got)
		}
	}
}

// TestDateToWaitForLiesAhead: an agent that is judged has a clock of its own, by which a date until which it is to
// wait must not have passed, or nobody can see whether it waits.
func TestDateToWaitForLiesAhead(t *testing.T) {
	c := findCase(t, "rate-limit-date/anthropic")
	kept := newCapture(Permutation{Case: c, Source: evidence.SourceSimulator}, "1", rkatSubject{}.About())
	h, err := kept.openSource(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept.beginStep(0)
	r := httptest.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", strings.NewReader(
		`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":`+
			strconv.Quote(specs.Fresh(c.Scenario.Steps[0].Prompt, "1"))+`}]}`))
	r.Header.Set("X-Api-Key", "test-key")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w, asked := httptest.NewRecorder(), time.Now()
	h.ServeHTTP(w, r)
	until, err := http.ParseTime(w.Header().Get("Retry-After"))
	if err != nil || until.Before(asked.Truncate(time.Second).Add(time.Second)) {
		t.Errorf("status %d, Retry-After %q at %v: %s", w.Code, w.Header().Get("Retry-After"), asked, w.Body)
	}
	if err := kept.steps.close(); err != nil {
		t.Fatal(err)
	}
}
