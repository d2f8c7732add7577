package tool

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Observer receives the progress of calls. Its functions may be nil. They are
// called one at a time, and never after DispatchAll has returned.
type Observer struct {
	// Started comes before the tool does anything. A caller writes here what must
	// be on disk before a side effect.
	Started func(transcript.ToolCall)
	// Progress comes between Started and Done.
	Progress func(transcript.ToolCall, Progress)
	// Done comes once for each call that started.
	Done func(transcript.ToolCall, transcript.ToolResult)
	// Settled comes once for each call, also for one that never started, after
	// its Done. It says how the call ended and how long it took.
	Settled func(transcript.ToolCall, transcript.ToolResult, Outcome)
}

// Outcome says how a call ended.
type Outcome struct {
	Status  Status
	Took    time.Duration
	Timeout time.Duration // the limit that was exceeded, with StatusTimedOut
}

// DispatchAll runs calls on d, at most limit at once (0: no limit), and returns
// their results in the order of the calls. Each result is
// made Sound and has the id of its call.
//
// A call whose time is up (Traits.Timeout) is answered so. When ctx ends, calls
// that have not started are answered "not executed" and calls that are running
// "interrupted" (unless their result is there already). DispatchAll does not
// wait for a tool that ignores its context; it then no longer counts towards
// limit, and what it still returns is dropped.
func DispatchAll(ctx context.Context, d Dispatcher, calls []transcript.ToolCall, limit int,
	o Observer) []transcript.ToolResult {
	if limit <= 0 {
		limit = len(calls)
	}
	b := &batch{d: d, observer: o, slots: make(chan struct{}, limit)}
	results := make([]transcript.ToolResult, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		if !b.acquireSlot(ctx) {
			results[i] = NotExecuted(call.ID, "the run was cancelled before this tool started")
			b.notifySettled(call, results[i], Outcome{Status: StatusCancelled})
			continue
		}
		wg.Go(func() {
			defer func() { <-b.slots }()
			results[i] = b.runCall(ctx, call)
		})
	}
	wg.Wait()
	return results
}

type batch struct {
	d        Dispatcher
	observer Observer
	slots    chan struct{}
	mu       sync.Mutex // calls the observer once at a time
}

// acquireSlot takes a slot, in the order of the calls, unless ctx ends first.
func (b *batch) acquireSlot(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case b.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *batch) runCall(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	b.notify(func() {
		if b.observer.Started != nil {
			b.observer.Started(call)
		}
	})
	begin := time.Now()
	traits := TraitsOf(b.d, call.Name)
	result, outcome := b.dispatchInTime(ctx, call, traits)
	outcome.Took = time.Since(begin)
	result = sanitizeResult(result, traits.MaxText, traits.MaxData)
	result.ToolUseID = call.ID
	b.notify(func() {
		if b.observer.Done != nil {
			b.observer.Done(call, result)
		}
	})
	b.notifySettled(call, result, outcome)
	return result
}

// dispatchInTime answers one call within its time.
func (b *batch) dispatchInTime(ctx context.Context, call transcript.ToolCall,
	traits Traits) (transcript.ToolResult, Outcome) {
	timeout := traits.Timeout
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		bounded, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
	}
	defer cancel()
	reporter := &reporter{limit: traits.MaxProgress, tell: func(p Progress) {
		if b.observer.Progress != nil {
			b.observer.Progress(call, p)
		}
	}, mu: &b.mu}
	defer reporter.close()
	done := make(chan transcript.ToolResult, 1)
	go func() {
		done <- recoverPanic(
			call, func() transcript.ToolResult { return b.d.Dispatch(reporter.withReporter(bounded), call) },
		)
	}()
	result, there := awaitResult(bounded, done)
	// The cause of the context tells a timeout from the end of the run.
	switch late := context.Cause(bounded); {
	case there && !result.IsError, there && late == nil:
		return result, Outcome{Status: statusOf(result)}
	case errors.Is(late, errTimeout):
		return timeoutResult(call, timeout), Outcome{Status: StatusTimedOut, Timeout: timeout}
	case there:
		return result, Outcome{Status: StatusInterrupted}
	}
	return Interrupted(call.ID), Outcome{Status: StatusInterrupted}
}

var errTimeout = errors.New("the time of the tool is up")

func timeoutResult(call transcript.ToolCall, timeout time.Duration) transcript.ToolResult {
	return errorResult(
		call.ID, "tool %s timed out after %s; it may have had effects, or still have them", call.Name, timeout,
	)
}

func statusOf(r transcript.ToolResult) Status {
	if r.IsError {
		return StatusError
	}
	return StatusComplete
}

// awaitResult returns what comes first; a result that is there wins over an end.
func awaitResult(ctx context.Context, done <-chan transcript.ToolResult) (r transcript.ToolResult, there bool) {
	select {
	case r = <-done:
		return r, true
	case <-ctx.Done():
	}
	select {
	case r = <-done:
		return r, true
	default:
		return r, false
	}
}

func (b *batch) notifySettled(call transcript.ToolCall, result transcript.ToolResult, outcome Outcome) {
	b.notify(func() {
		if b.observer.Settled != nil {
			b.observer.Settled(call, result, outcome)
		}
	})
}

func (b *batch) notify(event func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	event()
}
