package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// twice is a tool that may be run again.
type twice struct{ counter }

func (*twice) Traits(string) tool.Traits { return tool.Traits{Idempotent: true} }

// eventful is the file of a session with records of every kind: tools side by
// side, a cut reply, a changed prompt, a mark, a budget, a summary, an
// interruption, an error.
func eventful(t *testing.T, store *jsonl.Store) []byte {
	t.Helper()
	cfg := config(&model{replies: []any{calls("a", "b"), overloaded(), text("one")}}, store, &twice{})
	cfg.Retry, cfg.Limits = provider.RetryPolicy{MaxRetries: 1}, session.Limits{MaxTurns: 90}
	if _, err := Run(ctx, cfg, "go"); err != nil {
		t.Fatal(err)
	}
	on := func(prompt string, m provider.Completer, change func(*Config)) {
		t.Helper()
		cfg := config(nil, store, &twice{})
		cfg.Client = m
		change(&cfg)
		_, _ = Resume(ctx, cfg, sessionID, prompt)
	}
	on(
		"two", &model{replies: []any{says("max_tokens", transcript.ToolUse("c", "run", []byte(`{"x`)))}},
		func(c *Config) { c.System = "be long" },
	)
	on("three", &model{replies: []any{text("sum"), calls("d"), text("sum"), text("three")}}, func(c *Config) {
		c.Compaction = Compaction{Threshold: 0.01, Window: 100, Keep: 20}
		c.Annotations = []session.Annotation{{Name: session.AnnotationAllowUnlisted, Value: "m"}}
	})
	on("four", &model{replies: []any{errors.New("no route")}}, func(*Config) {})
	cctx, cancel := context.WithCancel(ctx)
	m := &interrupting{
		blocks: []transcript.Block{transcript.Text("I"), transcript.ToolUse("e", "run", []byte(`{}`))}, cancel: cancel,
	}
	cfg = config(nil, store, &twice{})
	cfg.Client = m
	_, _ = Resume(cctx, cfg, sessionID, "five")
	cancel()
	whole, err := os.ReadFile(store.Path(sessionID))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		"run", "prefix", "message", "usage", "mark", "checkpoint", "ledger", "error", "task", "compaction", "budget",
	} {
		if !bytes.Contains(whole, []byte(`"`+kind+`"`)) {
			t.Fatalf("no record of kind %s in\n%s", kind, whole)
		}
	}
	return whole
}

// TestLastRecord resumes a session that ends with each of its records, under
// each policy, with and without a prompt, with the same model and with those of
// others: it goes on legally or says that there is nothing to go on with.
func TestLastRecord(t *testing.T) {
	store := jsonl.New(t.TempDir(), nil).SyncEvery(-1)
	whole := eventful(t, store)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for n := 1; n <= len(lines); n++ {
		for i, policy := range []Policy{AskModel, RetryIdempotent, Fail} {
			for j, prompt := range []string{"", "go on"} {
				if err := os.WriteFile(store.Path(sessionID), bytes.Join(lines[:n], nil), 0o600); err != nil {
					t.Fatal(err)
				}
				who := []string{"claude-opus-4-5", "gpt-5.2", "gemini-3-flash-preview"}[(n+i+j)%3]
				name := fmt.Sprintf("%d of %d, %s, %q, %s", n, len(lines), policy, prompt, who)
				lastRecord(t, store, policy, prompt, who, name)
			}
		}
	}
}

func lastRecord(t *testing.T, store session.Store, policy Policy, prompt, who, name string) {
	t.Helper()
	m := &model{provider: catalog.ProviderOf(who), replies: []any{text("done")}}
	cfg := config(m, store, &twice{})
	cfg.Model, cfg.System, cfg.OnInterrupted = who, "", policy
	events := heard(&cfg)
	_, err := Resume(ctx, cfg, sessionID, prompt)
	ordered(t, *events, err)
	var running *InterruptedError
	switch {
	case err == nil:
	case prompt == "" && errors.Is(err, ErrNothingToContinue):
		return
	case policy == Fail && errors.As(err, &running):
		return
	default:
		t.Fatalf("%s: %v", name, err)
	}
	s := load(t, store)
	legal(t, m.requests[0].Messages)
	if last := m.requests[0].Messages; prompt != "" && !strings.Contains(
		last[len(last)-1].Content+last[max(0, len(last)-2)].Content, prompt,
	) {
		t.Fatalf("%s: the prompt is not at the end of %v", name, last)
	}
	if open := s.Ledger.Open(); len(open) > 0 {
		t.Fatalf("%s: %+v is open", name, open)
	}
}
