package tool

import (
	"context"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Observer is told about calls as they run. Its functions, which may be nil,
// are called one at a time.
type Observer struct {
	Started func(transcript.ToolCall)
	Done    func(transcript.ToolCall, transcript.ToolResult)
}

// DispatchAll runs calls on d, at most limit at once (0: no limit), and returns
// their results in the order of the calls (seed 000 §1.1.5).
//
// When ctx ends, calls that have not started are answered "not executed" and
// calls that are running "interrupted" (unless their result is there already);
// DispatchAll does not wait for a tool that ignores its context.
func DispatchAll(ctx context.Context, d Dispatcher, calls []transcript.ToolCall, limit int, o Observer) []transcript.ToolResult {
	if limit <= 0 {
		limit = len(calls)
	}
	b := &batch{d: d, observer: o, slots: make(chan struct{}, limit)}
	results := make([]transcript.ToolResult, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		if !b.claim(ctx) {
			results[i] = NotExecuted(call.ID, "the run was cancelled before this tool started")
			continue
		}
		wg.Go(func() { results[i] = b.one(ctx, call) })
	}
	wg.Wait()
	return results
}

type batch struct {
	d        Dispatcher
	observer Observer
	slots    chan struct{}
	mu       sync.Mutex // holds the observer to one call at a time
}

// claim takes a slot, in the order of the calls, unless ctx ends first.
func (b *batch) claim(ctx context.Context) bool {
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

func (b *batch) one(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	b.tell(func() {
		if b.observer.Started != nil {
			b.observer.Started(call)
		}
	})
	done := make(chan transcript.ToolResult, 1)
	go func() {
		defer func() { <-b.slots }()
		done <- b.d.Dispatch(ctx, call)
	}()
	result := await(ctx, done, call.ID)
	b.tell(func() {
		if b.observer.Done != nil {
			b.observer.Done(call, result)
		}
	})
	return result
}

func await(ctx context.Context, done <-chan transcript.ToolResult, id string) transcript.ToolResult {
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r
	default:
		return Interrupted(id)
	}
}

func (b *batch) tell(event func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	event()
}
