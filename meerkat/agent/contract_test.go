package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// judging is a test, of whatever kind.
type judging interface {
	Helper()
	Fatalf(string, ...any)
}

// ordered checks the promises about the events of a run: run_started comes
// first, one terminal event that fits the error comes last, sequence numbers
// have no gaps, times, turns and attempts only grow, and every event has its
// ids. Within an attempt it checks the promises about blocks and calls.
func ordered(t judging, events []Event, err error) {
	t.Helper()
	var last Event
	c := contract{bodies: map[string]int{}}
	for i, e := range events {
		if e.Seq != i || (e.Type == RunStarted) != (i == 0) || e.Type.Terminal() != (i == len(events)-1) ||
			e.RunID == "" || e.SessionID == "" || e.TS.IsZero() {
			t.Fatalf("event %d of %d: %+v", i, len(events), e)
		}
		if e.TS.Before(last.TS) || e.Turn < last.Turn || e.Turn == last.Turn && e.Attempt < last.Attempt &&
			e.Type != CompactionStarted {
			t.Fatalf("event %d goes back from %+v: %+v", i, last, e)
		}
		if (e.TurnID == "") != (e.Turn == 0) || (e.Attempt == 0) != (e.Turn == 0) {
			t.Fatalf("event %d: %+v", i, e)
		}
		if broken := c.see(e); broken != "" {
			t.Fatalf("event %d: %s: %+v", i, broken, e)
		}
		last = e
	}
	want := RunCompleted
	switch {
	case errors.Is(err, context.Canceled):
		want = RunInterrupted
	case err != nil:
		want = RunFailed
	}
	if last.Type != want {
		t.Fatalf("the last event is %s, the error %v", last.Type, err)
	}
	if open := c.calls; len(open) > 0 && !errors.Is(err, errPower) {
		t.Fatalf("calls %v were asked for and nothing became of them", open)
	}
}

// contract follows the blocks and the calls of a run.
type contract struct {
	turn, attempt int
	started       int            // blocks of this attempt
	deltas        map[int]string // of this attempt, by block
	texts         []int          // the blocks of text
	said          string         // text_complete
	torn          bool           // some deltas were dropped
	void          bool           // the attempt was
	calls         []string       // that were asked for, until they are answered
	bodies        map[string]int // of results, by turn and call
}

// see returns which promise e breaks, "" if none.
func (c *contract) see(e Event) string {
	if e.Turn != c.turn || e.Attempt != c.attempt {
		c.turn, c.attempt, c.started, c.deltas, c.torn, c.void = e.Turn, e.Attempt, 0, map[int]string{}, false, false
		c.texts, c.said = nil, ""
	}
	switch e.Type {
	case StreamTruncated:
		c.torn = true
	case StreamReset:
		c.void = true
	case BlockStarted, TextDelta, ReasoningDelta, ToolCallDelta, BlockCompleted:
		return c.block(e)
	case TextComplete:
		c.said = e.Content
	case TurnCompleted:
		shown := ""
		for _, i := range c.texts {
			shown += c.deltas[i]
		}
		if c.started > 0 && shown != c.said && !c.torn && !c.void {
			return fmt.Sprintf("%q was shown, and text_complete says %q", shown, c.said)
		}
	case ToolCallRequested:
		c.calls = append(c.calls, e.ID)
	default:
		return c.tool(e)
	}
	return ""
}

func (c *contract) block(e Event) string {
	switch {
	case c.void:
		return "a part of an attempt that is void"
	case e.Type == BlockStarted:
		if c.started++; *e.Index != c.started-1 {
			return "blocks do not start in order"
		}
		if e.Block.Type == transcript.BlockText {
			c.texts = append(c.texts, *e.Index)
		}
	case e.Type == BlockCompleted:
		have, want := c.deltas[*e.Index], e.Block.Text
		if e.Block.Type == transcript.BlockToolUse {
			want = string(e.Block.Args)
		}
		if c.started > 0 && !c.torn && have != want {
			return fmt.Sprintf("the deltas say %q", have)
		}
	default:
		c.deltas[*e.Index] += e.Delta
	}
	return ""
}

func (c *contract) tool(e Event) string {
	switch e.Type {
	case ToolExecutionStarted, ToolProgress, ToolExecutionCompleted, ToolExecutionTimedOut, ToolResultReceived:
	default:
		return ""
	}
	if e.ID == "" || e.Name == "" {
		return "it does not say which tool"
	}
	if e.Result != "" {
		if c.bodies[fmt.Sprint(e.Turn, e.ID)]++; c.bodies[fmt.Sprint(e.Turn, e.ID)] > 1 {
			return "a result comes twice"
		}
	}
	if i := slices.Index(c.calls, e.ID); e.Type == ToolResultReceived && i >= 0 {
		c.calls = slices.Delete(c.calls, i, i+1)
	}
	return ""
}

// real plays replies block by block as an assembler does, several open at once,
// and cuts the one at which its context ends or its error comes.
type real struct {
	model
	cut map[int]int // by request: how many events come before an error
	n   int
}

var errCut = &provider.Error{
	Kind: provider.Incomplete, Provider: "anthropic", Err: &stream.IncompleteError{Reason: "EOF"},
}

func (m *real) Complete(ctx context.Context, req *provider.Request, onEvent func(stream.Event)) (stream.Reply, error) {
	reply, err := m.model.Complete(ctx, req, func(stream.Event) {})
	if err != nil {
		return reply, err
	}
	limit, cuts := m.cut[m.n]
	m.n++
	for i, e := range wire(reply.Message.Blocks) {
		if cuts && i >= limit {
			m.replies = append([]any{reply}, m.replies...)
			return stream.Reply{}, errCut
		}
		onEvent(e)
		if ctx.Err() != nil {
			return stream.Reply{}, &provider.Error{Kind: provider.Cancelled, Provider: "anthropic", Err: ctx.Err()}
		}
	}
	return reply, nil
}

// wire is the events of a reply: all blocks start, deltas alternate, and the
// last block ends first.
func wire(blocks []transcript.Block) []stream.Event {
	var out []stream.Event
	for i, b := range blocks {
		out = append(out, stream.Event{
			Kind: stream.EventBlockStart, Index: i, Block: &transcript.Block{Type: b.Type, ID: b.ID, Name: b.Name},
		})
	}
	kinds := map[transcript.BlockType]stream.EventKind{
		transcript.BlockText: stream.EventTextDelta, transcript.BlockReasoning: stream.EventReasoningDelta,
		transcript.BlockToolUse: stream.EventToolCallDelta,
	}
	for half := range 2 {
		for i, b := range blocks {
			body := []byte(b.Text + string(b.Args))
			from, to := half*(len(body)/2), len(body)/2+half*len(body)
			out = append(out, stream.Event{Kind: kinds[b.Type], Index: i, Delta: body[from:min(to, len(body))]})
		}
	}
	for i, b := range slices.Backward(blocks) {
		out = append(out, stream.Event{Kind: stream.EventBlockComplete, Index: i, Block: &b})
	}
	return out
}

// TestContract holds the contract over runs that are retried, cut, cancelled,
// refused and out of turns, with a listener that follows and one that lags; the
// clock goes back all the time.
func TestContract(t *testing.T) {
	answer := func() stream.Reply { return says("end_turn", transcript.Text("one"), transcript.Text("two")) }
	talking := func(ids ...string) stream.Reply {
		r := calls(ids...)
		r.Message.Blocks = append(r.Message.Blocks, transcript.Text("and so on"))
		return r
	}
	for name, c := range map[string]struct {
		replies []any
		cut     map[int]int
		turns   int
		cancel  int
	}{
		"plain":       {replies: []any{talking("a", "b"), talking("c"), answer()}},
		"cut":         {replies: []any{talking("a"), answer()}, cut: map[int]int{0: 0, 1: 5, 3: 7, 4: 2}},
		"cut for all": {replies: []any{talking("a")}, cut: map[int]int{0: 1, 1: 2, 2: 3, 3: 4, 4: 5}},
		"truncated": {
			replies: []any{
				talking("a"), says("max_tokens", transcript.Text("x"), transcript.ToolUse("b", "run", []byte(`{"x`))),
			},
		},
		"refused": {
			replies: []any{says("refusal", transcript.Text("x"), transcript.ToolUse("b", "run", []byte(`{}`)))},
		},
		"twins":       {replies: []any{talking("a", "a")}},
		"no calls":    {replies: []any{says("tool_use", transcript.Text("x"))}},
		"out of time": {replies: []any{talking("a"), talking("b"), answer()}, turns: 2},
		"cancelled":   {replies: []any{talking("a"), answer()}, cancel: 11},
		"in a tool":   {replies: []any{talking("a", "b"), answer()}, cancel: 21},
	} {
		for _, buffer := range []int{0, 1, 64} {
			cctx, cancel := context.WithCancel(ctx)
			cfg := config(nil, session.NewMemoryStore(), &counter{})
			cfg.Client = &real{model: model{replies: c.replies}, cut: c.cut}
			cfg.Retry = provider.RetryPolicy{MaxRetries: 4}
			cfg.MaxTurns, cfg.EventBuffer = c.turns, buffer
			tick := epoch
			cfg.Now = func() time.Time { tick = tick.Add(-time.Second); return tick }
			var events []Event
			cfg.OnEvent = func(e Event) {
				if events = append(events, e); c.cancel > 0 && len(events) == c.cancel {
					cancel()
				}
			}
			_, err := Run(cctx, cfg, "go")
			cancel()
			t.Run(fmt.Sprint(name, " ", buffer), func(t *testing.T) { ordered(t, events, err) })
		}
	}
}

// TestInterruptKeepsTheText checks what is kept of a reply that the user
// interrupts: the text that arrived and the complete blocks, in the order in
// which they started (interrupted-reply). The events say what was kept.
func TestInterruptKeepsTheText(t *testing.T) {
	blocks := []transcript.Block{
		transcript.Text("said before"), transcript.ToolUse("a", "run", []byte(`{"x":1}`)),
		transcript.Text("never ended"),
	}
	for name, c := range map[string]struct {
		n    int // wire events before the end
		text string
		len  int // blocks kept
	}{
		"nothing":      {3, "", 0},
		"half a text":  {4, "said ", 1},
		"and another":  {6, "said never", 2},
		"all of it":    {9, "said beforenever ended", 2},
		"and the call": {11, "said beforenever ended", 3},
	} {
		t.Run(name, func(t *testing.T) {
			cctx, cancel := context.WithCancel(ctx)
			defer cancel()
			store := session.NewMemoryStore()
			cfg := config(nil, store, &counter{})
			cfg.Client = &real{model: model{replies: []any{bare("end_turn", blocks...)}}}
			var events []Event
			cfg.OnEvent = func(e Event) {
				if events = append(events, e); e.Turn == 1 && countBlocks(events) == c.n {
					cancel()
				}
			}
			got, err := Run(cctx, cfg, "go")
			ordered(t, events, err)
			s := load(t, store)
			legal(t, s.Messages)
			agrees(t, &s)
			if got.Text != c.text || len(s.Messages[1].Blocks) != c.len ||
				s.Messages[1].StopReason != transcript.StopAborted || c.len > 0 &&
				s.Messages[1].Blocks[0].Text == "never ended" {
				t.Errorf("%q, %v", got.Text, s.Messages)
			}
			told := slices.IndexFunc(events, func(e Event) bool { return e.Type == TextComplete })
			if (told >= 0) != (c.text != "") || told >= 0 && events[told].Content != c.text {
				t.Errorf("%+v", events)
			}
		})
	}
}

func countBlocks(events []Event) (n int) {
	for _, e := range events {
		switch e.Type {
		case BlockStarted, TextDelta, ReasoningDelta, ToolCallDelta, BlockCompleted:
			n++
		default:
		}
	}
	return n
}

// TestPanics checks that a panic leaves the session unlocked for a caller that
// recovers.
func TestPanics(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"listener": func(c *Config) {
			c.OnEvent = func(e Event) {
				if e.Type == ToolExecutionStarted {
					panic("listener")
				}
			}
		},
		"client": func(c *Config) {
			c.Client.(*model).replies[1] = func(*provider.Request) (stream.Reply, error) { panic("client") }
		},
	} {
		store, tools := session.NewMemoryStore(), &counter{}
		cfg := config(&model{replies: []any{calls("a"), text("done")}}, store, tools)
		spoil(&cfg)
		func() {
			defer func() {
				if r := recover(); r != name {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			_, _ = Run(ctx, cfg, "go")
		}()
		if _, err := Resume(
			ctx, config(&model{replies: []any{text("done")}}, store, tools), sessionID, "",
		); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s := load(t, store)
		legal(t, s.Messages)
	}
}

// TestListenerRuns checks that a listener can run another session, and cannot
// open the one in use.
func TestListenerRuns(t *testing.T) {
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{text("outer")}}, store, nil)
	var inner, same error
	cfg.OnEvent = func(e Event) {
		if e.Type == TurnStarted {
			other := config(&model{replies: []any{text("inner")}}, session.NewMemoryStore(), nil)
			_, inner = Run(ctx, other, "go")
			_, same = Resume(ctx, config(&model{}, store, nil), sessionID, "go")
		}
	}
	got, err := Run(ctx, cfg, "go")
	if err != nil || inner != nil || same == nil || got.Text != "outer" {
		t.Errorf("%+v, %v, %v, %v", got, err, inner, same)
	}
}
