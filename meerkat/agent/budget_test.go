package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// spends runs with limits and returns how the budget stopped it.
func spends(t *testing.T, cfg Config, prompt string) (*session.BudgetExceededError, Result) {
	t.Helper()
	run := Run
	if _, err := cfg.Store.Load(ctx, sessionID); err == nil {
		run = func(ctx context.Context, cfg Config, prompt string) (Result, error) {
			return Resume(ctx, cfg, sessionID, prompt)
		}
	}
	result, err := run(ctx, cfg, prompt)
	var spent *session.BudgetExceededError
	if err != nil && !errors.As(err, &spent) {
		t.Fatal(err)
	}
	s := load(t, cfg.Store)
	legal(t, s.Messages)
	agrees(t, &s)
	return spent, result
}

// TestBudgetOfTokens counts all kinds over all runs, warns once, and stops
// before the call that would go beyond.
func TestBudgetOfTokens(t *testing.T) {
	cached := uint64(4)
	reply := calls("a")
	reply.Usage.CacheReadTokens = &cached // 17 tokens
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{reply, reply, text("done")}}, store, &counter{})
	cfg.Limits, cfg.WarnAt = session.Limits{MaxTokens: 34}, 0.5
	events := heard(&cfg)
	spent, got := spends(t, cfg, "go")
	if spent == nil || *spent != (session.BudgetExceededError{
		Kind: session.BudgetTokens, Used: 34, Limit: 34,
	}) || got.Turns != 2 || got.ToolCalls != 2 {
		t.Errorf("%v, %+v", spent, got)
	}
	if n := strings.Count(types(*events), string(BudgetWarning)); n != 1 {
		t.Errorf("%d warnings", n)
	}
	// The session remembers both what was spent and the limit.
	cfg.Limits = session.Limits{}
	if spent, got = spends(t, cfg, "more"); spent == nil || spent.Used != 34 || got.Turns != 0 {
		t.Errorf("resumed: %v, %+v", spent, got)
	}
	cfg.Limits = session.Limits{MaxTokens: 35}
	if spent, got = spends(t, cfg, ""); spent != nil || got.Text != "done" {
		t.Errorf("resumed with more: %v, %+v", spent, got)
	}
	s := load(t, store)
	if s.Budget == nil || s.Budget.Limits.MaxTokens != 35 {
		t.Errorf("%+v", s.Budget)
	}
}

// TestBudgetOfToolCalls: what it has no room for is answered, not run.
func TestBudgetOfToolCalls(t *testing.T) {
	tools, store := &counter{}, session.NewMemoryStore()
	cfg := config(&model{replies: []any{calls("a", "b"), calls("c", "d")}}, store, tools)
	cfg.Limits = session.Limits{MaxToolCalls: 3}
	spent, got := spends(t, cfg, "go")
	if spent == nil || spent.Used != 4 || len(tools.runs) != 3 || tools.runs["d"] != 0 || got.ToolCalls != 4 {
		t.Errorf("%v, %v, %+v", spent, tools.runs, got)
	}
	s := load(t, store)
	if r := s.Last().Results; len(r) != 2 || r[0].IsError ||
		r[1].Content != "not executed: the budget of 3 tool calls is spent" {
		t.Errorf("%+v", r)
	}
	// Later the model may still answer with what it has, but run nothing more.
	cfg.Client = &model{replies: []any{calls("e")}}
	if spent, _ = spends(t, cfg, ""); spent == nil || tools.runs["e"] != 0 {
		t.Errorf("%v, %v", spent, tools.runs)
	}
}

// TestBudgetOfTurns is for the life of a session; MaxTurns is for one run.
func TestBudgetOfTurns(t *testing.T) {
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{calls("a"), text("one"), calls("b"), text("two")}}, store, &counter{})
	cfg.Limits = session.Limits{MaxTurns: 3}
	if spent, _ := spends(t, cfg, "go"); spent != nil {
		t.Error(spent)
	}
	if spent, got := spends(t, cfg, "go"); spent == nil || spent.Kind != session.BudgetTurns || got.Turns != 1 {
		t.Errorf("%v, %+v", spent, got)
	}
}

// stalls never answers.
type stalls struct{ model }

func (stalls) Complete(ctx context.Context, _ *provider.Request, onEvent func(stream.Event)) (stream.Reply, error) {
	block := transcript.Text("half")
	onEvent(stream.Event{Kind: stream.EventBlockComplete, Block: &block})
	<-ctx.Done()
	return stream.Reply{}, &provider.Error{Kind: provider.Timeout, Err: ctx.Err()}
}

// TestBudgetOfTime cancels a call in flight, a tool, and a wait; a run that was
// interrupted has its time counted, the time between runs is free.
func TestBudgetOfTime(t *testing.T) {
	for name, c := range map[string]struct {
		client provider.Completer
		tools  *shaky
		text   string
		stop   transcript.StopReason
	}{
		"call": {&stalls{}, nil, "half", transcript.StopCancelled},
		"tool": {&model{replies: []any{calls("slow")}}, &shaky{waits: true}, "", transcript.StopToolUse},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := session.NewMemoryStore()
				cfg := config(nil, store, nil)
				cfg.Client, cfg.Now, cfg.Sleep = c.client, time.Now, nil
				cfg.Limits = session.Limits{MaxDuration: time.Minute}
				if c.tools != nil {
					cfg.Tools = c.tools
				}
				began := time.Now()
				spent, got := spends(t, cfg, "go")
				if spent == nil || spent.Kind != session.BudgetTime || time.Since(began) != time.Minute ||
					got.Text != c.text || got.StopReason != c.stop {
					t.Errorf("%v after %v, %+v", spent, time.Since(began), got)
				}
				s := load(t, store)
				for _, m := range s.Messages {
					for _, r := range m.Results {
						if r.Status != "" {
							t.Errorf("the budget is not the user: %+v", r)
						}
					}
				}
				time.Sleep(time.Hour) // of the bubble
				cfg.Client = &model{replies: []any{text("done")}}
				if spent, _ = spends(t, cfg, "more"); spent == nil {
					t.Error("resumed with nothing left")
				}
				cfg.Limits.MaxDuration = 2 * time.Minute
				if spent, got = spends(t, cfg, "more"); spent != nil || got.Text != "done" {
					t.Errorf("the time between the runs was counted: %v", spent)
				}
			})
		})
	}
}
