package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// streaming plays replies as a provider's client does: block by block, and with
// the error of a context that ends.
type streaming struct{ model }

func (m *streaming) Complete(ctx context.Context, req *provider.Request,
	onEvent func(stream.Event)) (stream.Reply, error) {
	reply, err := m.model.Complete(ctx, req, onEvent)
	for i := range reply.Message.Blocks {
		onEvent(stream.Event{Kind: stream.EventTextDelta, Index: i, Delta: []byte("x")})
		if ctx.Err() != nil {
			return stream.Reply{}, &provider.Error{Kind: provider.Cancelled, Provider: "anthropic", Err: ctx.Err()}
		}
		onEvent(stream.Event{Kind: stream.EventBlockComplete, Index: i, Block: &reply.Message.Blocks[i]})
	}
	if ctx.Err() != nil {
		return stream.Reply{}, &provider.Error{Kind: provider.Cancelled, Provider: "anthropic", Err: ctx.Err()}
	}
	return reply, err
}

// shaky has a tool that counts its runs. A call whose id begins with "slow"
// waits for the end of its context, one with "deaf" even longer, if the context
// is to end.
type shaky struct {
	counter
	release chan struct{}
	waits   bool
}

func (s *shaky) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	r := s.counter.Dispatch(ctx, call)
	switch {
	case !s.waits:
	case strings.HasPrefix(call.ID, "slow"):
		<-ctx.Done()
	case strings.HasPrefix(call.ID, "deaf"):
		<-s.release
	}
	return r
}

var _ tool.Dispatcher = (*shaky)(nil)

func script() []any {
	return []any{calls("a", "slow", "deaf"), overloaded(), calls("b", "c"), text("done")}
}

// TestCancelAnywhere cancels a run of several turns, tools and attempts at every
// one of its events, and resumes it: the session is legal, the ledger and what
// the model is told are true, no tool runs twice, and the events of both runs
// are in order.
func TestCancelAnywhere(t *testing.T) {
	for _, waits := range []bool{false, true} {
		for n := 0; ; n++ {
			if !cancelledAt(t, n, waits) {
				break
			}
			if n > 200 {
				t.Fatal("the run never ends")
			}
		}
	}
}

// cancelledAt reports whether the run was still going on at event n.
func cancelledAt(t *testing.T, n int, waits bool) bool {
	t.Helper()
	cctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store := session.NewMemoryStore()
	tools := &shaky{release: make(chan struct{}), waits: waits}
	defer close(tools.release)
	cfg := config(nil, store, tools)
	cfg.Client = &streaming{model{replies: script()}}
	cfg.Retry = provider.RetryPolicy{MaxRetries: 1}
	cfg.MaxParallel = 2
	var mu sync.Mutex
	var events []Event
	starting := 0
	cfg.OnEvent = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
		if e.Type == ToolExecutionStarted {
			starting++
		}
		// Tools that wait for the end get it at the latest when all have started.
		if e.Seq == n || waits && starting == 3 {
			cancel()
		}
	}
	_, err := Run(cctx, cfg, "go")
	ordered(t, events, err)
	more := len(events) > n
	s := load(t, store)
	if err == nil {
		legal(t, s.Messages)
		agrees(t, &s)
		return more
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("event %d: %v", n, err)
	}
	truthful(t, &s, &tools.counter)
	rest := &streaming{model{replies: []any{text("done after all")}}}
	again := config(nil, store, tools)
	again.Client = rest
	events = nil
	again.OnEvent = func(e Event) { events = append(events, e) }
	if _, err = Resume(ctx, again, sessionID, "go on"); err != nil {
		t.Fatalf("event %d: %v", n, err)
	}
	ordered(t, events, err)
	s = load(t, store)
	legal(t, s.Messages)
	agrees(t, &s)
	legal(t, rest.requests[0].Messages)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	for id, runs := range tools.runs {
		if runs != 1 {
			t.Fatalf("event %d: call %s ran %d times", n, id, runs)
		}
	}
	return more
}

// truthful requires that what the session says of each call is so.
func truthful(t *testing.T, s *session.Session, tools *counter) {
	t.Helper()
	tools.mu.Lock()
	defer tools.mu.Unlock()
	for _, e := range s.Ledger.Entries() {
		ran := tools.runs[e.CallID] > 0
		if (e.Status == transcript.CallComplete || e.Status == transcript.CallError) && !ran ||
			e.Status == transcript.CallCancelled && ran {
			t.Fatalf("call %s is %s; it ran: %v", e.CallID, e.Status, ran)
		}
	}
	for i := range s.Messages {
		for _, r := range s.Messages[i].Results {
			if strings.HasPrefix(r.Content, "not executed") && tools.runs[r.ToolUseID] > 0 {
				t.Fatalf("call %s ran and the model is told %q", r.ToolUseID, r.Content)
			}
			if r.Status == "" && r.IsError {
				t.Fatalf("the user's doing is not marked: %+v", r)
			}
		}
	}
}

// TestPowerFails loses power at every write of the same run, before and after
// the records reach the disk.
func TestPowerFails(t *testing.T) {
	for n := 0; n < 60; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("append %d, written %v", n, after), func(t *testing.T) {
				store, tools := session.NewMemoryStore(), &counter{}
				cfg := config(nil, &flaky{Store: store, n: n, after: after}, tools)
				cfg.Client = &streaming{model{replies: script()}}
				cfg.Retry = provider.RetryPolicy{MaxRetries: 1}
				_, err := Run(ctx, cfg, "go")
				if err == nil && n < 8 {
					t.Fatal("the run survived")
				}
				before := load(t, store)
				cfg.Store, cfg.Client = store, &streaming{model{replies: []any{calls("d"), text("done after all")}}}
				got, err := Resume(ctx, cfg, sessionID, "go on")
				if err != nil || got.Text != "done after all" {
					t.Fatalf("%+v, %v", got, err)
				}
				s := load(t, store)
				legal(t, s.Messages)
				agrees(t, &s)
				if len(before.Messages) > len(s.Messages) {
					t.Error("messages are gone")
				}
				told(t, &s, tools)
			})
		}
	}
}

// told requires that nothing ran twice, and that "not executed" is true.
func told(t *testing.T, s *session.Session, tools *counter) {
	t.Helper()
	for id, runs := range tools.runs {
		if runs != 1 {
			t.Errorf("call %s ran %d times", id, runs)
		}
	}
	for i := range s.Messages {
		for _, r := range s.Messages[i].Results {
			if strings.HasPrefix(r.Content, "not executed") && tools.runs[r.ToolUseID] > 0 {
				t.Errorf("call %s ran and the model is told %q", r.ToolUseID, r.Content)
			}
		}
	}
}
