package agent

import (
	"context"
	"errors"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// counted says what a reply has cost so far and then goes on as the model below it,
// or ends as err says.
type counted struct {
	model
	usage transcript.Usage
	errs  []error // of the first calls; nil: the model answers
	end   func()  // called before an error is returned
}

func (m *counted) Complete(ctx context.Context, req *provider.Request,
	onEvent func(stream.Event)) (stream.Reply, error) {
	if len(m.errs) == 0 {
		return m.model.Complete(ctx, req, onEvent)
	}
	err := m.errs[0]
	m.errs = m.errs[1:]
	onEvent(stream.Event{Kind: stream.EventUsage, Usage: m.usage})
	if m.end != nil {
		m.end()
		<-ctx.Done()
	}
	return stream.Reply{}, err
}

// TestFailedCallsCount: what a call cost that got no reply counts in the usage of the
// run and of the session, and in budgets, however the call ended.
func TestFailedCallsCount(t *testing.T) {
	cost := transcript.Usage{InputTokens: 100, OutputTokens: 7}
	for name, failure := range map[string]*provider.Error{
		"a stream that was cut":     {Kind: provider.Incomplete},
		"a failure inside a stream": {Kind: provider.Overloaded, Status: 200},
		"a connection that broke":   {Kind: provider.ConnectionReset},
		"a reply that is not read":  {Kind: provider.StreamParse},
	} {
		t.Run(name, func(t *testing.T) {
			store := session.NewMemoryStore()
			cfg := config(nil, store, nil)
			cfg.Retry = provider.RetryPolicy{MaxRetries: 1}
			cfg.Client = &counted{model: model{replies: []any{text("done")}}, usage: cost, errs: []error{failure}}
			got, err := Run(ctx, cfg, "go")
			s := load(t, store)
			if err != nil && failure.Kind != provider.StreamParse {
				t.Fatal(err)
			}
			if got.Usage.InputTokens < 100 || s.Usage != got.Usage || s.RunEnds[0].Usage != got.Usage {
				t.Errorf("run %+v, session %+v", got.Usage, s.Usage)
			}
			failed := s.Calls[0]
			if failed.Error != string(failure.Kind) || failed.Turn != 1 || s.Calls[len(s.Calls)-1].Turn != 1 {
				t.Errorf("%+v", s.Calls)
			}
			if spent := spentBefore(&s); spent.Turns != len(s.Calls)-1 || spent.Tokens < 107 {
				t.Errorf("%+v", spent)
			}
		})
	}
}

// TestFailedCallsSpendTheBudget ends a run before the attempt that its budget has no
// room for.
func TestFailedCallsSpendTheBudget(t *testing.T) {
	cfg := config(nil, session.NewMemoryStore(), nil)
	cfg.Retry = provider.RetryPolicy{MaxRetries: 5}
	cfg.Limits.MaxTokens = 200
	broken := &provider.Error{Kind: provider.Incomplete}
	client := &counted{
		model: model{replies: []any{text("never")}}, usage: transcript.Usage{InputTokens: 90, OutputTokens: 20},
		errs: []error{broken, broken, broken},
	}
	cfg.Client = client
	_, err := Run(ctx, cfg, "go")
	if spent := (*session.BudgetExceededError)(nil); !errors.As(err, &spent) || spent.Used != 220 ||
		len(client.errs) != 1 {
		t.Errorf("%v, %d attempts left", err, len(client.errs))
	}
}

// TestInterruptedCallsCount: what an interrupted call cost counts, and the session
// holds the reply that was interrupted even if nothing of it had arrived.
func TestInterruptedCallsCount(t *testing.T) {
	cctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store := session.NewMemoryStore()
	cfg := config(nil, store, nil)
	cfg.Client = &counted{
		usage: transcript.Usage{InputTokens: 100, OutputTokens: 1},
		errs:  []error{&provider.Error{Kind: provider.Cancelled, Err: context.Canceled}}, end: cancel,
	}
	got, err := Run(cctx, cfg, "go")
	s := load(t, store)
	if !errors.Is(err, context.Canceled) || got.Usage.Total() != 101 || s.Usage != got.Usage {
		t.Errorf("%v: run %+v, session %+v", err, got.Usage, s.Usage)
	}
	if last := s.Last(); last.Role != transcript.RoleAssistant || last.StopReason != transcript.StopAborted ||
		got.StopReason != transcript.StopAborted {
		t.Errorf("%+v", last)
	}
	if s.Errors[0].Kind != ErrorKind(err) || s.Calls[0].Error != ErrorKind(err) {
		t.Errorf("%+v, %+v", s.Errors, s.Calls)
	}
	again := &model{replies: []any{text("done")}}
	if _, err := Resume(
		ctx, config(again, store, nil), sessionID, "",
	); err != nil || len(again.requests[0].Messages) != 1 {
		t.Errorf("%v, %+v", err, again.requests)
	}
}
