package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestTornClosure checks a power failure between the ledger's record of a call
// and the results that were to follow. A call that the ledger has closed stays
// closed, under every policy.
func TestTornClosure(t *testing.T) {
	for status, want := range map[transcript.CallStatus]string{
		transcript.CallCancelled:   "not executed: " + notStarted,
		transcript.CallError:       "the tool failed, and what it said was lost",
		transcript.CallComplete:    "the tool ran and returned, but its result was lost",
		transcript.CallInterrupted: "interrupted: the tool may have run; check its effects before calling it again",
	} {
		for _, policy := range []Policy{AskModel, RetryIdempotent} {
			store, tools := session.NewMemoryStore(), fourTools()
			w, err := store.Create(ctx, session.Header{
				Version: 1, ID: sessionID, Created: epoch, Provider: "anthropic", Model: "claude-opus-4-5",
			})
			if err != nil {
				t.Fatal(err)
			}
			hash, _ := session.Digest("be brief", tools.Defs(), nil)
			reply := transcript.Assistant("tool_use", transcript.ToolUse("a", "safe", []byte(`{}`)))
			if err := w.Append(ctx,
				session.Run{At: epoch, ID: "r0"},
				session.Prefix{
					At: epoch, Provider: "anthropic", Model: "claude-opus-4-5", System: "be brief",
					Tools: tools.Defs(), Hash: hash,
				},
				session.MessageRecord{At: epoch, Message: transcript.User("go")},
				session.MessageRecord{At: epoch, Message: reply},
				session.Tool{
					At:         epoch,
					CallRecord: transcript.CallRecord{Message: 1, CallID: "a", Name: "safe", Status: status},
				},
			); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			cfg := config(&model{replies: []any{text("done")}}, store, tools)
			cfg.OnInterrupted = policy
			if _, err := Resume(context.Background(), cfg, sessionID, ""); err != nil {
				t.Errorf("%s, %s: %v", status, policy, err)
				continue
			}
			s := load(t, store)
			if status != transcript.CallComplete { // its lost result goes out as an error
				agrees(t, &s)
			}
			if r := s.Messages[2].Results[0]; r.Content != want || len(tools.runs) > 0 {
				t.Errorf("%s, %s: %+v, ran %v", status, policy, r, tools.runs)
			}
		}
	}
}

// TestNegative numbers are refused before there is a session.
func TestNegative(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"MaxTurns is -1":            func(c *Config) { c.MaxTurns = -1 },
		"MaxParallel is -2":         func(c *Config) { c.MaxParallel = -2 },
		"Limits.MaxToolCalls is -1": func(c *Config) { c.Limits.MaxToolCalls = -1 },
		"Limits.MaxDuration is -1":  func(c *Config) { c.Limits.MaxDuration = -1 },
	} {
		store := session.NewMemoryStore()
		cfg := config(&model{}, store, nil)
		spoil(&cfg)
		if _, err := Run(ctx, cfg, "go"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
		if _, err := store.Load(ctx, sessionID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestManyCalls of one reply run at most MaxParallel at a time, and are answered
// in their order, whatever they do.
func TestManyCalls(t *testing.T) {
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("%03d", i))
	}
	store, wild := session.NewMemoryStore(), &wild{}
	m := &model{replies: []any{calls(ids...), text("done")}}
	cfg := config(m, store, wild)
	cfg.MaxParallel = 7
	events := heard(&cfg)
	got, err := Run(ctx, cfg, "go")
	if err != nil || got.ToolCalls != 100 || wild.most.Load() > 7 {
		t.Fatalf("%+v, %v, %d at once", got, err, wild.most.Load())
	}
	ordered(t, *events, nil)
	s := load(t, store)
	legal(t, s.Messages)
	agrees(t, &s)
	for i, r := range s.Messages[2].Results {
		panicked := r.IsError && strings.Contains(r.Content, "panic")
		if panicked != (i%3 == 0) || len(r.Content) > 2<<20 || r.ToolUseID != ids[i] {
			t.Errorf("%d: %.100q, %v", i, r.Content, r.IsError)
		}
	}
}

// wild is a tool that panics, floods, or answers as another call.
type wild struct {
	counter
	now, most atomic.Int64
}

func (w *wild) Dispatch(_ context.Context, call transcript.ToolCall) transcript.ToolResult {
	w.most.Store(max(w.most.Load(), w.now.Add(1)))
	defer w.now.Add(-1)
	switch n, _ := strconv.Atoi(call.ID); n % 3 {
	case 0:
		panic("at the disco")
	case 1:
		return transcript.ToolResult{ToolUseID: "another", Content: strings.Repeat("x", 5<<20)}
	}
	return transcript.ToolResult{ToolUseID: "another", Content: "fine"}
}

// TestClockStandsStill: what ends with the time budget says so, also when the
// clock has not seen the time go by; and time that went back between two runs
// gives none back.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &endless{}
		cfg := config(nil, session.NewMemoryStore(), nil)
		cfg.Client, cfg.Limits = m, session.Limits{MaxDuration: time.Second}
		_, err := Run(ctx, cfg, "go")
		var spent *session.BudgetExceededError
		if !errors.As(err, &spent) || spent.Kind != session.BudgetTime || spent.Used != 1000 {
			t.Errorf("%v", err)
		}
	})
	s := fresh(t)
	s.session.Elapsed, s.session.Updated = time.Second, epoch
	if got := s.spentAt(epoch.Add(-time.Hour)).Elapsed; got != time.Second {
		t.Errorf("%v", got)
	}
}

// endless never answers.
type endless struct{ model }

func (*endless) Complete(ctx context.Context, _ *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	<-ctx.Done()
	return stream.Reply{}, &provider.Error{Kind: provider.Cancelled, Err: ctx.Err()}
}

// TestPausesBetweenTools are counted anew: only those in a row are too many.
func TestPausesBetweenTools(t *testing.T) {
	pauses := slices.Repeat([]any{says("pause_turn", transcript.Text("p"))}, maxPauses)
	replies := slices.Concat(pauses, []any{calls("a")}, pauses, []any{text("done")})
	if got, err := Run(
		ctx, config(&model{replies: replies}, session.NewMemoryStore(), &counter{}), "go",
	); err != nil || !strings.HasSuffix(got.Text, "done") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestForkHasItsOwnTurns checks that the calls of the parent do not count in a
// fork.
func TestForkHasItsOwnTurns(t *testing.T) {
	store := session.NewMemoryStore()
	if _, err := Run(
		ctx, config(&model{replies: []any{calls("a"), text("done")}}, store, &counter{}), "go",
	); err != nil {
		t.Fatal(err)
	}
	fork, err := session.Branch(ctx, store, sessionID, 0, "0199a2b4-0000-7000-8000-000000000002", epoch)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(&model{replies: []any{text("done")}}, store, &counter{})
	cfg.Limits = session.Limits{MaxTurns: 2}
	if _, err := Resume(ctx, cfg, fork.ID, "more"); err != nil {
		t.Error(err)
	}
}

// TestNothingToTell checks that a list of tools that means the same in other
// bytes is not reported as a change.
func TestNothingToTell(t *testing.T) {
	store := session.NewMemoryStore()
	if _, err := Run(
		ctx, config(&model{replies: []any{text("a")}}, store, &offering{defs: []transcript.ToolDef{def("run", "r")}}),
		"go",
	); err != nil {
		t.Fatal(err)
	}
	cfg := config(
		&model{replies: []any{text("b")}}, store,
		&offering{defs: []transcript.ToolDef{def("run", "r"), def("run", "r")}},
	)
	if _, err := Resume(ctx, cfg, sessionID, "on"); err != nil {
		t.Fatal(err)
	}
	if s := load(t, store); len(s.Messages) != 4 || len(s.Annotations) != 0 {
		t.Errorf("%v, %v", s.Messages, s.Annotations)
	}
}

// TestRoleForgotten checks that a reply without a role is stored as the model's:
// custom clients forget it.
func TestRoleForgotten(t *testing.T) {
	reply, store := text("hi"), session.NewMemoryStore()
	reply.Message.Role = ""
	if _, err := Run(ctx, config(&model{replies: []any{reply}}, store, nil), "go"); err != nil {
		t.Fatal(err)
	}
	if s := load(t, store); s.Messages[1].Role != transcript.RoleAssistant {
		t.Errorf("%+v", s.Messages[1])
	}
}
