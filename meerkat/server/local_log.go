package server

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// localLog holds the last events of a session.
type localLog struct {
	name    string
	events  []LogEvent
	last    uint64 // the number of the last event ever appended
	bytes   int
	changed chan struct{} // closed when the log changes
}

// eventSize is about what an event takes beside its data, in bytes.
const eventSize = 96

// appendEvent appends an event, drops the oldest beyond the bounds, and wakes readers. It returns
// by how many bytes the log grew.
func (g *localLog) appendEvent(kind string, data json.RawMessage, bounds BackendLimits) int {
	before := g.bytes
	g.last++
	g.events = append(g.events, LogEvent{Position{g.name, g.last}, kind, data})
	g.bytes += eventSize + len(data)
	drop := 0
	for len(g.events)-drop > bounds.Events || g.bytes > bounds.EventBytes && drop < len(g.events) {
		g.bytes -= eventSize + len(g.events[drop].Data)
		g.events[drop] = LogEvent{}
		drop++
	}
	g.events = g.events[drop:]
	close(g.changed)
	g.changed = make(chan struct{})
	return g.bytes - before
}

// pageAfter returns what follows a position. ok is false if a reader has to wait.
func (g *localLog) pageAfter(after Position, limit int) (p EventPage, ok bool) {
	first := g.last + 1 - uint64(len(g.events)) // the number of the first event that is kept
	from := after.Number
	switch {
	case after == (Position{}):
		p.Gap = first > 1
	case after.Log != g.name || after.Number > g.last || after.Number+1 < first:
		p.Gap = true
	}
	if p.Gap || after == (Position{}) {
		from = first - 1
	}
	start := int(from + 1 - first) //nolint:gosec // an index into events
	p.Events = slices.Clone(g.events[start:min(len(g.events), start+limit)])
	p.Next = Position{g.name, from + uint64(len(p.Events))}
	return p, p.Gap || len(p.Events) > 0
}

// Events implements EventLog.
func (l *Local) Events(ctx context.Context, id session.ID, after Position, limit int) (EventPage, error) {
	for {
		p, s, changed, err := l.readLog(id, after, limit)
		if changed == nil || err != nil {
			return p, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		l.leaveLog(id, s)
		if ctx.Err() != nil {
			return EventPage{Next: after}, nil
		}
	}
}

// readLog returns a page or, if there is nothing yet, what to wait for; the caller then
// calls leaveLog.
func (l *Local) readLog(id session.ID, after Position, limit int) (EventPage, *localSession, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.sessionState(id)
	if err != nil {
		return EventPage{Next: after}, nil, nil, err
	}
	if p, ok := s.log.pageAfter(after, limit); ok {
		l.dropUnused(id, s)
		return p, nil, nil, nil
	}
	s.readers++
	return EventPage{}, s, s.log.changed, nil
}

// leaveLog ends the wait of a reader.
func (l *Local) leaveLog(id session.ID, s *localSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.readers--
	l.dropUnused(id, s)
}

// dropUnused forgets a session that is known only because of readers that have left.
func (l *Local) dropUnused(id session.ID, s *localSession) {
	if l.bySession[id] == s && s.readers == 0 && len(s.runs) == 0 {
		l.dropLog(id, s)
	}
}

// localControl implements Control.
type localControl struct {
	local *Local
	run   *localRun
	over  bool // guarded by the lock of local
}

// Append implements Control.
func (c *localControl) Append(kind string, data json.RawMessage) {
	l := c.local
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.over {
		l.bytes += l.bySession[c.run.Session].log.appendEvent(kind, data, l.options.BackendLimits)
	}
}

// OnCancel implements Control.
func (c *localControl) OnCancel(cancel func(operation session.ID)) {
	c.local.mu.Lock()
	defer c.local.mu.Unlock()
	for _, operation := range c.run.cancelled {
		cancel(operation)
	}
	c.run.onCancel = cancel
}

// TakeSteering implements Control.
func (c *localControl) TakeSteering() (taken []Steering) {
	c.local.mu.Lock()
	defer c.local.mu.Unlock()
	s := c.local.bySession[c.run.Session]
	for i := range s.steering {
		if m := &s.steering[i]; m.Status == SteeringQueued && !c.over {
			m.Status = SteeringApplied
			taken = append(taken, *m)
		}
	}
	return taken
}
