package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func overloaded() error {
	return &provider.Error{Kind: provider.Overloaded, Provider: "anthropic", Status: 529}
}

// heard collects the types of events, and what they hold where it matters.
func heard(cfg *Config) *[]Event {
	var all []Event
	cfg.OnEvent = func(e Event) { all = append(all, e) }
	return &all
}

func types(events []Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Type))
	}
	return strings.Join(out, " ")
}

// TestRetry checks that the same request is sent again as a whole, that what was
// shown before is void, and that no tool ran in between and each ran once.
func TestRetry(t *testing.T) {
	var waits []time.Duration
	m := &model{
		replies: []any{overloaded(), calls("a"), overloaded(), overloaded(), text("done")},
		events:  []stream.Event{{Kind: stream.EventTextDelta, Delta: []byte("x")}},
	}
	tools := &counter{}
	cfg := config(m, session.NewMemoryStore(), tools)
	cfg.Retry = provider.RetryPolicy{MaxRetries: 2, InitialDelay: time.Second, MaxDelay: time.Minute, Multiplier: 3}
	cfg.Sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	events := heard(&cfg)
	got, err := Run(ctx, cfg, "go")
	if err != nil || got.Text != "done" || got.Turns != 2 || tools.runs["a"] != 1 {
		t.Fatalf("%+v, %v, %v", got, err, tools.runs)
	}
	if len(waits) != 3 || waits[0] != time.Second || waits[1] != time.Second || waits[2] != 3*time.Second {
		t.Errorf("waits %v", waits)
	}
	const again = " text_delta stream_reset retrying"
	want := "run_started checkpoint_saved turn_started" + again +
		" text_delta tool_call_requested turn_completed checkpoint_saved" +
		" tool_execution_started tool_execution_completed tool_result_received checkpoint_saved turn_started" +
		again + again +
		" text_delta text_complete turn_completed checkpoint_saved checkpoint_saved run_completed"
	if got := types(*events); got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
	attempts := map[string][]int{}
	for _, e := range *events {
		if e.Type == TextDelta {
			attempts[e.TurnID] = append(attempts[e.TurnID], e.Attempt)
		}
		if e.Type == Retrying && (e.MaxAttempts != 3 || *e.DelayMS < 1000 || e.ErrorKind != "overloaded") {
			t.Errorf("%+v", e)
		}
	}
	if a, b := attempts["r1.1"], attempts["r1.2"]; len(a) != 2 || a[1] != 2 || len(b) != 3 || b[2] != 3 {
		t.Errorf("attempts %v", attempts)
	}
	first, second := m.requests[0], m.requests[1]
	if len(first.Messages) != 1 || len(second.Messages) != 1 ||
		len(m.requests[4].Messages) != len(m.requests[2].Messages) {
		t.Error("a retried request is another one")
	}
	s := load(t, cfg.Store)
	legal(t, s.Messages)
	if len(s.Calls) != 2 || s.Calls[0].Attempt != 2 || s.Calls[1].Attempt != 3 {
		t.Errorf("%+v", s.Calls)
	}
}

// TestRetryEnds with the error when attempts are used up, when it cannot help,
// when the wait is too long, and when it would not fit the time budget.
func TestRetryEnds(t *testing.T) {
	hour := time.Hour
	for name, c := range map[string]struct {
		err   error
		limit time.Duration
		calls int
	}{
		"used up":       {overloaded(), 0, 3},
		"no use":        {&provider.Error{Kind: provider.InvalidRequest}, 0, 1},
		"no provider's": {errors.New("bug"), 0, 1},
		"too long":      {&provider.Error{Kind: provider.RateLimited, RetryAfter: &hour}, 0, 1},
		"no time":       {overloaded(), 500 * time.Millisecond, 1},
	} {
		m := &model{replies: []any{c.err, c.err, c.err, c.err}}
		cfg := config(m, session.NewMemoryStore(), nil)
		cfg.Retry = provider.RetryPolicy{MaxRetries: 2, InitialDelay: time.Second, MaxDelay: time.Minute, Multiplier: 1}
		cfg.Limits.MaxDuration = c.limit
		_, err := Run(ctx, cfg, "go")
		if !errors.Is(err, c.err) || len(m.requests) != c.calls {
			t.Errorf("%s: %v after %d calls, want %d", name, err, len(m.requests), c.calls)
		}
		s := load(t, cfg.Store)
		if len(s.Errors) != 1 || s.Errors[0].Kind != ErrorKind(c.err) || len(s.RunEnds) != 1 {
			t.Errorf("%s: %+v %+v", name, s.Errors, s.RunEnds)
		}
	}
}

// TestCancelWhileWaiting ends at once, and a resume asks again.
func TestCancelWhileWaiting(t *testing.T) {
	cctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{overloaded()}}, store, nil)
	cfg.Retry = provider.RetryPolicy{MaxRetries: 2}
	cfg.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	events := heard(&cfg)
	if _, err := Run(cctx, cfg, "go"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if last := (*events)[len(*events)-1]; last.Type != RunInterrupted {
		t.Errorf("%+v", last)
	}
	if _, err := Resume(ctx, config(&model{replies: []any{text("done")}}, store, nil), sessionID, ""); err != nil {
		t.Error(err)
	}
}

// TestInterruptKeepsWhatIsComplete checks that complete blocks are kept,
// thoughts without text after them are dropped, calls are closed, and all of it
// is marked as interrupted by the user (interrupted-reply).
func TestInterruptKeepsWhatIsComplete(t *testing.T) {
	blocks := []transcript.Block{
		transcript.Reasoning("hm", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "EqQB"}),
		transcript.Text("I will look."), transcript.ToolUse("a", "run", []byte(`{"x":1}`)),
		transcript.Reasoning("and", nil),
	}
	for name, c := range map[string]struct {
		n    int // blocks that are complete
		want int // messages
	}{"nothing": {0, 2}, "a thought": {1, 2}, "text": {2, 2}, "a call": {3, 3}, "a thought behind": {4, 3}} {
		cctx, cancel := context.WithCancel(ctx)
		store, tools := session.NewMemoryStore(), &counter{}
		m := &interrupting{blocks: blocks[:c.n], cancel: cancel}
		got, err := Run(
			cctx,
			Config{Client: m, Store: store, Tools: tools, Model: "claude-opus-4-5", NewID: config(nil, nil, nil).NewID},
			"go",
		)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		s := load(t, store)
		legal(t, s.Messages)
		agrees(t, &s)
		if len(s.Messages) != c.want || len(tools.runs) > 0 {
			t.Errorf("%s: %v, %v", name, s.Messages, tools.runs)
		}
		if s.Messages[1].StopReason != transcript.StopAborted || got.StopReason != transcript.StopAborted ||
			(got.Text == "I will look.") != (c.n > 1) {
			t.Errorf("%s: %+v %+v", name, s.Messages[1], got)
		}
		if c.want > 2 && s.Messages[2].Results[0].Status != transcript.ResultAborted {
			t.Errorf("%s: %+v", name, s.Messages[2])
		}
		cancel()
	}
}

// interrupting shows blocks and is then interrupted.
type interrupting struct {
	model
	blocks []transcript.Block
	cancel func()
}

func (m *interrupting) Complete(ctx context.Context, _ *provider.Request,
	onEvent func(stream.Event)) (stream.Reply, error) {
	for i := range m.blocks {
		onEvent(stream.Event{Kind: stream.EventBlockComplete, Index: i, Block: &m.blocks[i]})
	}
	m.cancel()
	<-ctx.Done()
	return stream.Reply{}, &provider.Error{Kind: provider.Cancelled, Err: ctx.Err()}
}
