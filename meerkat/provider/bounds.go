package provider

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"time"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Bounds limit what one reply may be, whatever the provider sends. A zero field means
// that of [DefaultBounds], a negative one no limit.
type Bounds struct {
	// ReplyBytes and ReplyEvents limit a whole reply, EventBytes one event of it.
	ReplyBytes  int
	ReplyEvents int
	EventBytes  int
	// IdleTimeout is how long no event at all may come in a streamed reply. The wait
	// for its beginning counts.
	IdleTimeout time.Duration
	// PingTimeout is how long a streamed reply may bring nothing but pings and events
	// without content.
	PingTimeout time.Duration
	// ReplyTimeout limits a whole reply.
	ReplyTimeout time.Duration
}

// DefaultBounds are far above what providers send: the longest replies have some
// 128,000 tokens, and the models that think longest say nothing for minutes.
var DefaultBounds = Bounds{
	ReplyBytes: 64 << 20, ReplyEvents: 500_000, EventBytes: 32 << 20,
	IdleTimeout: 10 * time.Minute, PingTimeout: 20 * time.Minute, ReplyTimeout: 2 * time.Hour,
}

// LimitError says that a reply went beyond one of the [Bounds].
type LimitError struct {
	// Setting is the key of the setting that holds the limit, such as
	// "limits.reply_bytes".
	Setting string
	// What the reply did, and the limit in words.
	What, Limit string
	retryable   bool
}

// Error names the limit and the setting.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the reply %s %s; the setting %s holds this limit", e.What, e.Limit, e.Setting)
}

func (b Bounds) withDefaults() Bounds {
	d := DefaultBounds
	return Bounds{
		effective(b.ReplyBytes, d.ReplyBytes), effective(b.ReplyEvents, d.ReplyEvents),
		effective(b.EventBytes, d.EventBytes),
		effective(b.IdleTimeout, d.IdleTimeout), effective(b.PingTimeout, d.PingTimeout),
		effective(b.ReplyTimeout, d.ReplyTimeout),
	}
}

// effective returns a limit: the default for zero, the largest number for none.
func effective[N int | time.Duration](n, standard N) N {
	const most = 1<<62 - 1
	switch {
	case n == 0:
		return standard
	case n < 0:
		return most
	}
	return n
}

func (b Bounds) bytesError() error {
	return &LimitError{
		Setting: "limits.reply_bytes", What: "is larger than", Limit: fmt.Sprintf("%d bytes", b.ReplyBytes),
	}
}

// replyClock ends a call when its reply takes too long. Its methods are called by one
// goroutine.
type replyClock struct {
	bounds Bounds
	cancel context.CancelCauseFunc
	idle   *time.Timer // nil for a reply that comes at once
	silent *time.Timer
	total  *time.Timer
	events int
}

// startClock returns a context that ends when a bound of time is exceeded, and the
// clock, which the caller stops.
func (b Bounds) startClock(ctx context.Context, unary bool) (context.Context, *replyClock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &replyClock{bounds: b, cancel: cancel}
	c.total = c.startTimer(b.ReplyTimeout, &LimitError{Setting: "limits.reply_timeout", What: "is not complete after"})
	if !unary {
		c.idle = c.startTimer(
			b.IdleTimeout, &LimitError{Setting: "limits.idle_timeout", What: "brought no event for", retryable: true},
		)
		c.silent = c.startTimer(
			b.PingTimeout,
			&LimitError{Setting: "limits.ping_timeout", What: "brought only pings, or events without content, for"},
		)
	}
	return ctx, c
}

func (c *replyClock) startTimer(d time.Duration, e *LimitError) *time.Timer {
	e.Limit = d.String()
	return time.AfterFunc(d, func() { c.cancel(e) })
}

func (c *replyClock) stop() {
	for _, t := range []*time.Timer{c.total, c.idle, c.silent} {
		if t != nil {
			t.Stop()
		}
	}
	c.cancel(nil)
}

// onFrame counts an event of a stream and returns an error for one too many.
func (c *replyClock) onFrame() error {
	if c.events++; c.events > c.bounds.ReplyEvents {
		return &LimitError{
			Setting: "limits.reply_events", What: "has more than",
			Limit: fmt.Sprintf("%d events", c.bounds.ReplyEvents),
		}
	}
	if c.idle != nil {
		c.idle.Reset(c.bounds.IdleTimeout)
	}
	return nil
}

// watchEvents returns a listener that takes note of content and passes events on.
func (c *replyClock) watchEvents(listener func(stream.Event)) func(stream.Event) {
	return func(e stream.Event) {
		c.onEvent(e)
		if listener != nil {
			listener(e)
		}
	}
}

func (c *replyClock) onEvent(e stream.Event) {
	if c.silent == nil {
		return
	}
	switch e.Kind {
	case stream.EventTextDelta, stream.EventReasoningDelta, stream.EventToolCallDelta:
		if len(e.Delta) > 0 {
			c.silent.Reset(c.bounds.PingTimeout)
		}
	case stream.EventBlockStart, stream.EventBlockComplete:
		c.silent.Reset(c.bounds.PingTimeout)
	default: // usage and anomalies are no content
	}
}

// headersTooLarge matches what net/http says, which has no error of its own for it.
var headersTooLarge = regexp.MustCompile(`response headers exceeded|response header list larger`)

// limitOf returns the bound that ended a call, as far as err or the context of the
// call knows it.
func limitOf(ctx context.Context, err error) *LimitError {
	var limit *LimitError
	var line *stream.LineTooLongError
	switch {
	case errors.As(err, &limit):
		return limit
	case errors.As(err, &line):
		return &LimitError{
			Setting: "limits.event_bytes", What: "has an event of more than", Limit: fmt.Sprintf("%d bytes", line.Max),
		}
	case errors.As(context.Cause(ctx), &limit):
		return limit
	case err != nil && headersTooLarge.MatchString(err.Error()):
		return &LimitError{Setting: "limits.header_bytes", What: "has headers larger than", Limit: "it may have"}
	}
	return nil
}

// kind returns the kind of the error of a call that a bound ended. The same request
// may succeed later only where the provider fell silent.
func (e *LimitError) kind() Kind {
	if e.retryable {
		return Timeout
	}
	return LimitExceeded
}
