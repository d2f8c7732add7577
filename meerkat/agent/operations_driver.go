package agent

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// parentKey finds in the context of an operation what its parent is made of.
type parentKey struct{}

// withOperations prepares a run that may have sub-agents: they find c in the context, and
// the listener hears one event at a time from all of them.
func (c Config) withOperations(ctx context.Context, s *session.Session) (Config, context.Context) {
	if c.Operations == nil {
		return c, ctx
	}
	if _, isChild := ctx.Value(parentKey{}).(Config); !isChild && c.OnEvent != nil {
		var mu sync.Mutex
		listen := c.OnEvent
		c.OnEvent = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			listen(e)
		}
	}
	passedOn := c
	if stored := s.Prefix; stored != nil { // a resumed session keeps what c leaves open
		prefix := resumedPrefix(
			session.Prefix{Provider: c.Client.Provider(), Model: c.Model, Effort: c.Effort}, *stored,
		)
		passedOn.Model, passedOn.Effort = prefix.Model, prefix.Effort
		passedOn.System = cmp.Or(c.System, systemInForce(s))
	}
	return c, context.WithValue(ctx, parentKey{}, passedOn)
}

// readNews returns what is new, or that the run was stopped: what operations came to
// because of that is left for the next run.
func (d *driver) readNews(ctx context.Context) input {
	var news ops.News
	if d.node != nil {
		news = d.node.Drain()
	}
	if d.cfg.Steering != nil && ctx.Err() == nil {
		news.Directives = append(news.Directives, d.cfg.Steering()...)
	}
	return d.newsInput(ctx, news)
}

// awaitNews waits until there is something new.
func (d *driver) awaitNews(ctx context.Context, e awaitNewsEffect) input {
	ctx, cancel := withTimeLimit(ctx, e.left)
	defer cancel()
	news := d.node.Wait(ctx)
	return d.newsInput(ctx, news)
}

func (d *driver) newsInput(ctx context.Context, news ops.News) input {
	if why := causeOf(ctx); why != causeNone {
		return newsInput{at: d.currentTime(), cause: why, events: news.Events}
	}
	return newsInput{
		at: d.currentTime(), events: news.Events, results: news.Results, directives: news.Directives, open: news.Open,
	}
}

// claimedResults returns the results of operations that the result of a call holds. What
// a call that did not complete holds is not shown, so that it comes again.
func (d *driver) claimedResults(callID string, o tool.Outcome) []ops.OpResult {
	if d.node == nil {
		return nil
	}
	claimed := d.node.Claim(callID)
	if o.Status != tool.StatusComplete {
		return nil
	}
	return claimed
}

// errNotRecorded says that the run ended before an operation could be recorded.
var errNotRecorded = errors.New("the operation was not started: the run has ended")

// callerContext returns how tools learn for which agent they act.
func (d *driver) callerContext(c *toolRunner) func(context.Context, string) context.Context {
	if d.node == nil {
		return nil
	}
	record := func(specs []ops.OperationSpec, shares int, fork *session.ForkBudgetPolicy) ([]ops.OperationSpec, error) {
		answer, answered := c.requestStep(submissionInput{d.currentTime(), specs, shares, fork})
		if !answered {
			return nil, errNotRecorded
		}
		return answer.specs, answer.err
	}
	report := func(events []ops.OpEvent) { c.requestStep(operationEventsInput{events}) }
	defs := d.cfg.toolDispatcher().Defs()
	return func(ctx context.Context, callID string) context.Context {
		return ops.WithCaller(ctx, ops.Caller{Node: d.node, CallID: callID, Record: record, Report: report, Defs: defs})
	}
}

// submissionOrder makes the calls of one turn that start operations, or name some, follow
// those that start operations before them: all run at the same time otherwise, and a
// model may name in a call what it starts in the one before.
type submissionOrder map[string]submissionTurn // by call id

type submissionTurn struct {
	before, done chan struct{} // nil: there is nothing to wait for, or nobody waits
}

func newSubmissionOrder(calls []transcript.ToolCall) submissionOrder {
	order := submissionOrder{}
	var last chan struct{}
	for _, c := range calls {
		turn := submissionTurn{before: last}
		if ops.SubmitsOperations(c.Name) {
			last = make(chan struct{})
			turn.done = last
		}
		if ops.IsOperationTool(c.Name) {
			order[c.ID] = turn
		}
	}
	return order
}

// awaitTurn waits until it is the turn of a call, or ctx ends, and returns what ends the
// turn.
func (o submissionOrder) awaitTurn(ctx context.Context, c transcript.ToolCall) (end func()) {
	turn := o[c.ID]
	if turn.before != nil {
		select {
		case <-turn.before:
		case <-ctx.Done():
		}
	}
	return func() {
		if turn.done != nil {
			close(turn.done)
		}
	}
}
