package server

import (
	"context"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Run implements RunQueue.
func (l *Local) Run(_ context.Context, id RunID) (Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run := l.byID[id]; run != nil {
		return run.Run, nil
	}
	return Run{}, &RunNotFoundError{id}
}

// Wait implements RunQueue.
func (l *Local) Wait(ctx context.Context, id RunID) (Run, error) {
	l.mu.Lock()
	run := l.byID[id]
	l.mu.Unlock()
	if run == nil {
		return Run{}, &RunNotFoundError{id}
	}
	select {
	case <-run.done:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return run.Run, nil
}

// Runs implements RunQueue.
func (l *Local) Runs(_ context.Context, id session.ID, before RunID, limit int) (page []Run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.bySession[id]
	if s == nil {
		return nil, nil
	}
	for _, run := range slices.Backward(s.runs) {
		if len(page) < limit && (before == "" || run.ID < before) {
			page = append(page, run.Run)
		}
	}
	return page, nil
}

// Active implements RunQueue.
func (l *Local) Active(context.Context) (active []Run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, run := range l.active {
		active = append(active, run.Run)
	}
	return active, nil
}

// Interrupt implements RunQueue.
func (l *Local) Interrupt(_ context.Context, id session.ID) (Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.unendedRun(id)
	if run == nil {
		return Run{}, &NotRunningError{id}
	}
	l.runs.Interrupt(id)
	return run.Run, nil
}

// CancelOperation implements RunQueue.
func (l *Local) CancelOperation(_ context.Context, id, operation session.ID) (Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.unendedRun(id)
	if run == nil {
		return Run{}, &NotRunningError{id}
	}
	if !slices.Contains(run.cancelled, operation) {
		run.cancelled = append(run.cancelled, operation)
	}
	if run.onCancel != nil {
		run.onCancel(operation)
	}
	return run.Run, nil
}

// Forget implements RunQueue.
func (l *Local) Forget(_ context.Context, id session.ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run := l.unendedRun(id); run != nil {
		return &BusyError{id, run.ID}
	}
	s := l.bySession[id]
	if s == nil {
		return nil
	}
	for _, run := range slices.Clone(s.runs) {
		l.forgetRun(run)
	}
	return nil
}

// Drain implements RunQueue.
func (l *Local) Drain(ctx context.Context) error {
	l.mu.Lock()
	l.draining = true
	idle := make(chan struct{})
	if len(l.active) == 0 {
		close(idle)
	} else if l.idle == nil {
		l.idle = idle
	} else {
		idle = l.idle
	}
	l.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		l.cancelAll(ErrDraining)
		<-idle
	}
	return nil
}

// Steer implements SteeringQueue.
func (l *Local) Steer(_ context.Context, id session.ID, text string) (Steering, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.unendedRun(id)
	if run == nil {
		return Steering{}, &NotRunningError{id}
	}
	s := l.bySession[id]
	if countQueued(s.steering) >= l.options.Steering {
		return Steering{}, &SteeringFullError{id, l.options.Steering}
	}
	name, err := l.options.NewID()
	if err != nil {
		return Steering{}, err
	}
	m := Steering{ID: name, Session: id, Run: run.ID, Text: text, Status: SteeringQueued, Created: l.currentTime()}
	s.steering = append(s.steering, m)
	return m, nil
}

func countQueued(all []Steering) (n int) {
	for _, m := range all {
		if m.Status == SteeringQueued {
			n++
		}
	}
	return n
}

// Steerings implements SteeringQueue.
func (l *Local) Steerings(_ context.Context, id session.ID) ([]Steering, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.bySession[id]; s != nil {
		return slices.Clone(s.steering), nil
	}
	return nil, nil
}
