package agent

import "sync"

// eventSink numbers events and hands them to the listener. With a buffer, the
// listener runs in its own goroutine and may fall behind. Deltas that find no
// room are dropped; before the next event that is delivered, a
// stream_truncated says how many. Every other event waits for room.
type eventSink struct {
	listener func(Event)
	queue    chan Event // nil: the listener is called at once
	done     chan struct{}

	mu      sync.Mutex
	seq     int
	dropped int
	last    Event // the stamp of the deltas that were dropped
}

// newEventSink returns an eventSink to listener, which may be nil.
func newEventSink(listen func(Event), buffer int) *eventSink {
	o := &eventSink{listener: listen}
	if listen == nil || buffer <= 0 {
		return o
	}
	// One place more: after a drop a delta needs two, for the stream_truncated
	// before it.
	o.queue, o.done = make(chan Event, buffer+1), make(chan struct{})
	go func() {
		defer close(o.done)
		for e := range o.queue {
			listen(e)
		}
	}()
	return o
}

// emit passes e on. It is safe for concurrent use. The listener receives the
// events in the order of their numbers.
func (o *eventSink) emit(e Event) {
	if o.listener == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Type.Droppable() && !o.fits() {
		o.dropped++
		o.last = e
		return
	}
	if o.dropped > 0 {
		gap := Event{Type: StreamTruncated, SessionID: o.last.SessionID, RunID: o.last.RunID, TS: o.last.TS,
			Turn: o.last.Turn, TurnID: o.last.TurnID, Attempt: o.last.Attempt, Dropped: o.dropped}
		o.dropped = 0
		o.deliver(gap)
	}
	o.deliver(e)
}

// fits reports whether a delta can be delivered without waiting, with the
// stream_truncated that must go before it.
func (o *eventSink) fits() bool {
	need := 1
	if o.dropped > 0 {
		need = 2
	}
	return o.queue == nil || cap(o.queue)-len(o.queue) >= need
}

func (o *eventSink) deliver(e Event) {
	e.Seq = o.seq
	o.seq++
	if o.queue == nil {
		o.listener(e)
		return
	}
	o.queue <- e
}

// close waits until the listener has received everything.
func (o *eventSink) close() {
	if o.queue != nil {
		close(o.queue)
		<-o.done
	}
}
