package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Execute performs one attempt of a run: it starts the session of the run, goes on with
// it, or goes on where an earlier attempt was cut off. What such an attempt did is in the
// records of the session: a prompt that is stored is not said again, and a run that ended
// is not run again. Events go to the log as the JSON of agent.Event. It is an [Execute].
//
// An attempt that cannot begin, because the store is away or the replica that was gone
// still holds the session, is tried again until the host's Patience is over.
func (h Host) Execute(ctx context.Context, r Run, c Control) Outcome {
	now, sleep := h.Now, h.Sleep
	if now == nil {
		now = time.Now
	}
	if sleep == nil {
		sleep = sleepContext
	}
	until := now().Add(h.Patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		out, err := h.tryExecute(ctx, r, c)
		if err == nil {
			return out
		}
		passes := errors.As(err, new(*session.StorageError)) ||
			errors.As(err, new(*session.LockedError)) || errors.Is(err, session.ErrExists)
		if passes && now().Add(pause).Before(until) {
			if err = sleep(ctx, pause); err == nil {
				continue
			}
		}

		// The agent reported nothing. Readers of events learn of it.
		at := now()
		outcome := newOutcome(meerkat.RunResult{}, err)
		e := meerkat.Event{
			Type: agent.RunFailed, SessionID: r.Session, RunID: string(r.ID), TS: at.UTC().Round(0),
			Error:     outcome.Error,
			ErrorKind: outcome.ErrorKind,
		}
		if outcome.Status == StatusInterrupted {
			e.Type = agent.RunInterrupted
		}
		appendEvent(c, e)
		return outcome
	}
}

// Pauses between the tries to begin an attempt.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 2 * time.Second
)

func sleepContext(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryExecute performs an attempt. An error means that nothing was begun, and that readers of
// events know nothing of it.
func (h Host) tryExecute(ctx context.Context, r Run, c Control) (Outcome, error) {
	// the prompt of a run that is called off at once is kept
	s, err := h.Store.Load(context.WithoutCancel(ctx), r.Session)
	if err != nil && (!errors.Is(err, session.ErrNotFound) || !r.New) {
		return Outcome{}, err
	}
	next := planAttempt(r, &s)
	if next.ended != nil {
		return *next.ended, nil
	}
	cancels := &cancelRequests{changed: make(chan struct{}, 1)}
	var ended atomic.Bool // the agent has reported the end of the run
	request := next.request
	request.Listen = func(e meerkat.Event) {
		ended.Store(ended.Load() || e.Type.Terminal() && e.ParentID == "") // sub-agents end as well
		appendEvent(c, e)
		cancels.tryAgain()
	}
	request.Steering = func() []ops.Directive {
		var directives []ops.Directive
		for _, s := range c.TakeSteering() {
			directives = append(directives, ops.Directive{ID: s.ID, Text: s.Text})
		}
		return directives
	}
	a, release, err := h.Open(ctx, request)
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	defer followCancels(ctx, cancels, c, a)()
	var result meerkat.RunResult
	if request.Session == "" {
		result, err = a.Run(ctx, next.prompt)
	} else {
		result, err = a.Resume(ctx, r.Session, next.prompt)
	}
	if next.answered && errors.Is(err, agent.ErrNothingToContinue) {
		return Outcome{Status: StatusCompleted, Text: lastText(&s), StopReason: s.Last().StopReason}, nil
	}
	if err != nil && !ended.Load() {
		return Outcome{}, err
	}
	return newOutcome(result, err), nil
}

// followCancels hands what clients ask to cancel to an agent, until stop is called.
func followCancels(ctx context.Context, cancels *cancelRequests, c Control, a *meerkat.Agent) (stop func()) {
	if a.Operations() == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancels.forwardRequests(ctx, a.Operations())
	}()
	c.OnCancel(cancels.addRequest)
	return func() { cancel(); <-done }
}

// appendEvent adds an event of a run to the log of its session.
func appendEvent(c Control, e meerkat.Event) {
	if data, err := json.Marshal(e); err == nil {
		c.Append(string(e.Type), data)
	}
}

// newOutcome says what came of a run.
func newOutcome(r meerkat.RunResult, err error) Outcome {
	out := Outcome{
		Status: StatusCompleted, Text: r.Text, StopReason: r.StopReason, Usage: r.Usage, Turns: r.Turns,
		ToolCalls: r.ToolCalls,
	}
	if err == nil {
		return out
	}
	out.Status, out.ErrorKind, out.Error = StatusFailed, ErrorKind(err), err.Error()
	if errors.Is(err, context.Canceled) {
		out.Status = StatusInterrupted
	}
	return out
}

// ErrorKind names an error as agent.ErrorKind does, and those that come before there is a
// run as well.
func ErrorKind(err error) string {
	switch {
	case errors.As(err, new(*catalog.UnsupportedModel)):
		return "unsupported_model"
	case errors.As(err, new(*meerkat.MissingKeyError)):
		return "missing_key"
	case errors.As(err, new(*mcp.ServerError)) && !errors.Is(err, context.Canceled):
		return "tool_server"
	case errors.As(err, new(*session.LockedError)):
		return "session_locked"
	case errors.Is(err, session.ErrNotFound):
		return "session_not_found"
	case errors.As(err, new(*session.VersionError)):
		return "session_version"
	case errors.As(err, new(*session.CorruptError)):
		return "session_damaged"
	default:
		return agent.ErrorKind(err)
	}
}

// attempt is what is to be done for a run.
type attempt struct {
	request Request
	prompt  string
	// answered says that the prompt is stored already: nothing to go on with means that
	// it was answered as well.
	answered bool
	// ended is set if an earlier attempt has ended the run.
	ended *Outcome
}

// planAttempt decides what is to be done for a run whose session is s; a session without
// an id does not exist.
func planAttempt(r Run, s *session.Session) attempt {
	t := r.Task
	next := attempt{prompt: t.Prompt, request: Request{
		Session: r.Session, RunID: string(r.ID), Model: t.Model, Effort: t.Effort, System: t.System,
		Limits: t.Limits, Metadata: t.Metadata, Attached: t.Attached, TraceParent: t.TraceParent,
		TraceState: t.TraceState,
	}}
	if s.ID == "" {
		next.request.Session, next.request.NewSession = "", r.Session
		return next
	}
	begun, said := findAttempt(r, s)
	if !begun {
		return next
	}
	if next.ended = endedAttempt(r, s); next.ended != nil {
		return next
	}
	if said {
		next.prompt, next.request.Attached, next.answered = "", nil, true
	}
	return next
}

// findAttempt reports whether an earlier attempt of a run is in its session, and whether
// its prompt is.
func findAttempt(r Run, s *session.Session) (begun, said bool) {
	for _, item := range s.Timeline {
		switch item.Kind {
		case "run":
			begun = s.Runs[item.Index].ID == string(r.ID)
		case "message":
			m := &s.Messages[item.Index]
			said = said || begun && m.Role == transcript.RoleUser && m.Content == r.Task.Prompt
		}
	}
	return len(s.Runs) > 0 && s.Runs[len(s.Runs)-1].ID == string(r.ID), said
}

// endedAttempt returns what came of a run whose end is recorded, nil if it is not, or if
// the run was only cut off.
func endedAttempt(r Run, s *session.Session) *Outcome {
	if len(s.RunEnds) == 0 || s.RunEnds[len(s.RunEnds)-1].RunID != string(r.ID) {
		return nil
	}
	end := s.RunEnds[len(s.RunEnds)-1]
	out := Outcome{
		Status: StatusCompleted, Text: lastText(s), StopReason: end.StopReason, Usage: end.Usage, Turns: end.Turns,
		ToolCalls: end.ToolCalls,
	}
	for _, e := range s.Errors {
		if e.RunID != string(r.ID) {
			continue
		}
		if e.Kind == "interrupted" {
			return nil
		}
		out.Status, out.ErrorKind, out.Error = StatusFailed, e.Kind, e.Message
	}
	return &out
}

// lastText returns the text of the last reply.
func lastText(s *session.Session) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m := &s.Messages[i]; m.Role == transcript.RoleAssistant {
			return m.String()
		}
	}
	return ""
}
