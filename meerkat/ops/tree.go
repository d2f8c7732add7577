package ops

import (
	"context"
	"fmt"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// tree drives the state machine of one tree of operations. It decides nothing.
type tree struct {
	manager *Manager

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed at the next change
	cancels map[OperationID]context.CancelCauseFunc
	inboxes map[session.ID]*inbox // of the agents that run
	// work counts the goroutines of the operations of each agent.
	work map[session.ID]*sync.WaitGroup
	ctxs map[session.ID]context.Context // of the runs of the agents
}

// inbox holds the events of the operations of an agent until its next turn.
type inbox struct {
	events []OpEvent
	room   chan struct{} // closed when events are taken
}

// applyInput takes a step and performs its effects. mayWait says that the caller waits while
// the agent that gets the events is behind. The event of an end never waits: who sees that
// an operation has ended may end as well, and must not miss it. The error is that of a
// refused input.
func (t *tree) applyInput(ctx context.Context, in input, mayWait bool) error {
	t.mu.Lock()
	next, effects := step(t.state, in)
	t.state = next
	var events []eventEffect
	var err error
	for _, e := range effects {
		switch e := e.(type) {
		case startEffect:
			t.startOperation(e.id)
		case stopEffect:
			if cancel := t.cancels[e.id]; cancel != nil {
				cancel(errCancelled)
			}
		case eventEffect:
			if !t.addEvent(e, mayWait && !e.event.Type.isEnd()) {
				events = append(events, e)
			}
		case refuseEffect:
			err = e.err
		}
	}
	t.announceChange()
	t.mu.Unlock()
	for _, e := range events {
		t.deliverEvent(ctx, e)
	}
	return err
}

// announceChange wakes the goroutines that wait for the state. The caller holds the lock.
func (t *tree) announceChange() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// addEvent puts an event into the inbox of an agent. It returns false where the sender has
// to wait for room. The caller holds the lock.
func (t *tree) addEvent(e eventEffect, mayWait bool) bool {
	box := t.inboxes[e.to]
	if box == nil {
		return true // the agent is gone
	}
	if mayWait && len(box.events) >= t.manager.config.EventBuffer {
		return false
	}
	box.events = append(box.events, e.event)
	return true
}

// deliverEvent waits until there is room for an event; when ctx ends, progress is lost.
func (t *tree) deliverEvent(ctx context.Context, e eventEffect) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.addEvent(e, true) {
		room := t.inboxes[e.to].room
		t.mu.Unlock()
		select {
		case <-room:
			t.mu.Lock()
		case <-ctx.Done():
			t.mu.Lock()
			if e.event.Type != EventProgress {
				t.addEvent(e, false)
			}
			t.announceChange()
			return
		}
	}
	t.announceChange()
}

// startOperation runs an operation in a goroutine of its own. The caller holds the lock.
func (t *tree) startOperation(id OperationID) {
	o := t.state.findOperation(id)
	ctx, cancel := context.WithCancelCause(t.ctxs[o.parent])
	stop := context.CancelFunc(func() {})
	if o.spec.Policy.Timeout > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, o.spec.Policy.Timeout, &timeoutError{o.spec.Policy.Timeout})
	}
	t.cancels[id] = cancel
	task := Task{Spec: o.spec, Parent: o.parent, Report: func(message string, percent *float64) {
		_ = t.applyInput(ctx, progressInput{id, message, percent}, true) // it cannot be refused
	}}
	work := t.work[o.parent]
	work.Go(func() {
		defer cancel(nil)
		defer stop()
		now := t.manager.config.Now
		_ = t.applyInput(ctx, startedInput{now(), id}, true)
		end := t.runTask(ctx, task)
		_ = t.applyInput(ctx, endedInput{now(), id, end}, true)
		t.mu.Lock()
		delete(t.cancels, id)
		t.mu.Unlock()
	})
}

// runTask does the work. A panic in it is a failure of the operation.
func (t *tree) runTask(ctx context.Context, task Task) (end outcome) {
	defer func() {
		if p := recover(); p != nil {
			end = outcome{status: Failed, result: OpResult{Error: fmt.Sprintf("its work panicked: %v", p)}}
		}
	}()
	o := t.manager.config.Run(ctx, task)
	end = outcome{
		status: o.Status,
		result: OpResult{
			Text: o.Text, Error: o.Error, Artifact: o.Artifact, Size: o.Size, Summary: o.Summary, Spent: o.Spent,
		},
	}
	end.result.Attempt = o.Attempt
	if timeout, late := context.Cause(ctx).(*timeoutError); late &&
		o.Status != Completed { //nolint:errorlint // it is never wrapped
		end.status, end.result.Error = Failed, timeout.Error()
	}
	return end
}

// queueDirective queues a directive.
func (t *tree) queueDirective(agent session.ID, text string) (*SteeringHandle, error) {
	id, err := t.manager.config.NewID()
	if err != nil {
		return nil, err
	}
	if err := t.applyInput(context.Background(), steerInput{agent, string(id), text}, false); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := &SteeringHandle{ID: string(id), tree: t, agent: agent}
	for _, d := range t.state.queuedDirectives(agent) {
		if d.ID == h.ID {
			h.Seq = d.Seq
		}
	}
	return h, nil
}

// SteeringHandle follows one directive.
type SteeringHandle struct {
	ID  string
	Seq uint64 // of the agent, from 1

	tree  *tree
	agent session.ID
}

// Status returns what has become of the directive. One that was forgotten, because many
// came after it, has expired.
func (h *SteeringHandle) Status() SteeringStatus {
	h.tree.mu.Lock()
	defer h.tree.mu.Unlock()
	if a := h.tree.state.findAgent(h.agent); a != nil {
		for _, d := range a.directives {
			if d.ID == h.ID {
				return d.Status
			}
		}
	}
	return SteeringExpired
}
