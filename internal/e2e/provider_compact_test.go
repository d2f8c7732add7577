package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// A prompt of about 80,000 tokens fills more than a quarter of any window here.
var longPrompt = "Echo the word heron. " + strings.Repeat("word ", 64_000)

// strictProvider is the simulator at its strictest. It keeps the bodies and the betas that
// it got, and can refuse requests to compact as a gateway does.
type strictProvider struct {
	http.RoundTripper
	refusesToCompact bool
	bodies           []string
	betas            []string
	refused          []string // in its words
	window           string   // the items of the last window that it returned
}

func newStrictProvider() *strictProvider {
	return &strictProvider{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "compacting",
		Level: rule.Strict}))}
}

func (p *strictProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.bodies, p.betas = append(p.bodies, string(body)), append(p.betas, r.Header.Get("Anthropic-Beta"))
	if p.refusesToCompact && strings.Contains(string(body), `"context_management"`) {
		const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`
		return &http.Response{StatusCode: http.StatusBadRequest,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(refusal)),
			Request: r}, nil
	}
	resp, err := p.RoundTripper.RoundTrip(r)
	isWindow := strings.HasSuffix(r.URL.Path, "/responses/compact")
	if err != nil || resp.StatusCode == http.StatusOK && !isWindow {
		return resp, err
	}
	said, _ := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(said))
	if resp.StatusCode != http.StatusOK {
		p.refused = append(p.refused, string(said))
		return resp, nil
	}
	_, rest, _ := strings.Cut(string(said), `"output":[`)
	p.window, _, _ = strings.Cut(rest, `],"usage"`)
	return resp, nil
}

func (p *strictProvider) last() string { return p.bodies[len(p.bodies)-1] }

// asks counts the requests that ask for a compaction.
func (p *strictProvider) asks() (n int) {
	for _, body := range p.bodies {
		if strings.Contains(body, `"context_management":`) {
			n++
		}
	}
	return n
}

// compactingAgent compacts from a quarter of the window on.
func compactingAgent(t *testing.T, dir, model string, p *strictProvider, reasons *[]string) *meerkat.Agent {
	t.Helper()
	runs := 0
	return build(t, builderOver(dir, model, p,
		&runs).WithCompaction(agent.Compaction{Threshold: 0.25}).WithEvents(func(e meerkat.Event) {
		if e.Type == agent.CompactionCompleted && e.Error == "" {
			*reasons = append(*reasons, e.Reason)
		}
	}))
}

var compactionBlock = regexp.MustCompile(`\{[^{}]*"type":"compaction","?[^{}]*\}`)

// TestProviderCompacts: a conversation that has become long is compacted by the provider
// that a strict one stands for, in the middle of a tool loop. Its block goes back in
// place, the conversation is not cut, and nothing is asked for again while it is short.
// Then another model of the provider and another provider get the messages without it.
func TestProviderCompacts(t *testing.T) {
	for model, others := range map[string][]string{
		"claude-opus-4-6": {"claude-opus-5-5", "gpt-5.2", "claude-opus-4-6"},
		"claude-opus-5-5": {"gemini-3.5-flash", "claude-opus-5-5"},
		"gpt-5.2":         {"gpt-5.4", "claude-opus-4-6", "gpt-5.2"},
	} {
		t.Run(model, func(t *testing.T) {
			dir, p, reasons := t.TempDir(), newStrictProvider(), []string(nil)
			subject := compactingAgent(t, dir, model, p, &reasons)
			first, err := subject.Run(t.Context(), longPrompt)
			if err != nil || p.asks() != 1 ||
				!slices.Equal(reasons, []string{"the provider compacted the conversation"}) {
				t.Fatalf("%v, refused %v; asked %d times, compacted %q", err, p.refused, p.asks(), reasons)
			}
			second, err := subject.Resume(t.Context(), first.SessionID, "And the word crane.")
			if err != nil || p.asks() != 1 || len(second.Degraded) > 0 {
				t.Fatalf("%v, refused %v; asked %d times, %v", err, p.refused, p.asks(), second.Degraded)
			}
			block := compactionBlock.FindString(p.last())
			at := strings.Index(p.last(), block)
			if block == "" || !strings.Contains(p.last()[:at], longPrompt) ||
				!strings.Contains(p.last()[at:], "And the word crane.") {
				t.Errorf("%d bytes were sent with the compaction %q at %d", len(p.last()), block, at)
			}
			if wants := strings.HasPrefix(model, "claude"); strings.Contains(p.betas[len(p.betas)-1], "compact-2026-01-12") != wants {
				t.Errorf("betas %q", p.betas)
			}
			if used := second.Usage.InputTokens; used > 20_000 {
				t.Errorf("behind the compaction a run takes %d tokens", used)
			}
			for _, other := range others {
				runs := 0
				got, err := agentOver(t, dir, other, p, &runs).Resume(t.Context(), first.SessionID,
					"And the word stork.")
				if err != nil || len(p.refused) > 0 {
					t.Fatalf("%s: %v, refused %v", other, err, p.refused)
				}
				if kept := strings.Contains(p.last(), block); kept != (other == model) ||
					!strings.Contains(p.last(), longPrompt) {
					t.Errorf("%s got %d bytes, the compaction: %v", other, len(p.last()), kept)
				}
				for _, d := range got.Degraded {
					if strings.Contains(d.Reason, "compaction") {
						t.Errorf("%s: %+v", other, d)
					}
				}
			}
		})
	}
}

// TestProviderRefusesToCompact: the request is sent again without the parameter, once, and
// from then on the agent writes the summary itself. Of the conversation nothing is lost.
func TestProviderRefusesToCompact(t *testing.T) {
	for _, model := range []string{"claude-opus-4-6", "gpt-5.2"} {
		t.Run(model, func(t *testing.T) {
			dir, p, reasons := t.TempDir(), newStrictProvider(), []string(nil)
			p.refusesToCompact = true
			subject := compactingAgent(t, dir, model, p, &reasons)
			first, err := subject.Run(t.Context(), longPrompt)
			if err != nil || p.asks() != 1 || len(reasons) > 0 || len(first.Degraded) > 0 {
				t.Fatalf("%v, refused %v; asked %d times, compacted %q, %v", err, p.refused, p.asks(), reasons,
					first.Degraded)
			}
			if _, err := subject.Resume(t.Context(), first.SessionID, "And the word crane."); err != nil ||
				p.asks() != 1 {
				t.Fatalf("%v, refused %v; asked %d times", err, p.refused, p.asks())
			}
			if len(reasons) != 1 || !strings.Contains(reasons[0], "fills its share") ||
				strings.Contains(p.last(), longPrompt) || len(p.refused) > 0 {
				t.Errorf("compacted %q, %d bytes sent last, refused %v", reasons, len(p.last()), p.refused)
			}
		})
	}
}

// TestCompactsToWindow: OpenAI compacts a session on demand, and what it returned begins
// the next request as it came. Another provider gets the messages that it stands for.
func TestCompactsToWindow(t *testing.T) {
	dir, p, reasons := t.TempDir(), newStrictProvider(), []string(nil)
	subject := compactingAgent(t, dir, "gpt-5.2", p, &reasons)
	first, err := subject.Run(t.Context(), "Echo the word heron.")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subject.Resume(t.Context(), first.SessionID, "And the word crane."); err != nil {
		t.Fatal(err)
	}
	if _, err := subject.Compact(t.Context(), first.SessionID); err != nil ||
		!strings.HasPrefix(p.last(), `{"model":"gpt-5.2","instructions":"`) || len(reasons) != 1 {
		t.Fatalf("%v, %q, asked with %.300s", err, reasons, p.last())
	}
	if _, err := subject.Resume(t.Context(), first.SessionID, "And the word wren."); err != nil ||
		strings.Count(p.last(), p.window) != 1 || p.window == "" ||
		strings.Count(p.last(), "function_call_output") > 1 {
		t.Errorf("%v: %q does not begin %.300s", err, p.window, p.last())
	}
	runs := 0
	got, err := agentOver(t, dir, "claude-opus-4-6", p, &runs).Resume(t.Context(), first.SessionID,
		"And the word stork.")
	if err != nil || strings.Contains(p.last(), "gAAAA") || !strings.Contains(p.last(), "And the word crane.") ||
		len(p.refused) > 0 {
		t.Errorf("%v, refused %v; another provider got %.300s; lost %v", err, p.refused, p.last(), got.Degraded)
	}
	other := build(t, builderOver(dir, "claude-opus-4-6", p, &runs).WithCompaction(agent.Compaction{Keep: 20}))
	if _, err := other.Compact(t.Context(), first.SessionID); err != nil ||
		!strings.Contains(p.last(), "Echo the word heron.") {
		t.Errorf("%v; another provider summarises %.300s", err, p.last())
	}
}
