package meerkat

import (
	"context"

	"github.com/meerkat-go/conformance/meerkat/agent"
)

// eventBuffer is how far the reader of a channel of events may fall behind before
// deltas are dropped, beside the channel's own room, unless WithEventBuffer says
// otherwise.
const eventBuffer = 256

// RunWithEvents is Run and sends events while they happen. The last event says how
// the run ended; then events is closed. The caller must read until then. A reader
// that falls behind misses deltas, which a stream_truncated event reports, and
// nothing else.
func (a *Agent) RunWithEvents(ctx context.Context, prompt string, events chan<- Event) (RunResult, error) {
	defer close(events)
	return agent.Run(ctx, a.withEventsTo(events), prompt)
}

// ResumeWithEvents is Resume with events, as in RunWithEvents.
func (a *Agent) ResumeWithEvents(ctx context.Context, id SessionID, prompt string,
	events chan<- Event) (RunResult, error) {
	defer close(events)
	return agent.Resume(ctx, a.withEventsTo(events), id, prompt)
}

// withEventsTo returns the configuration with events sent on, besides to the listener
// that it has.
func (a *Agent) withEventsTo(events chan<- Event) agent.Config {
	config := a.config
	listener := config.OnEvent
	config.OnEvent = func(e Event) {
		if listener != nil {
			listener(e)
		}
		events <- e
	}
	if config.EventBuffer == 0 {
		config.EventBuffer = eventBuffer
	}
	return config
}
