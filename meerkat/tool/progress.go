package tool

import (
	"context"
	"sync"
)

// Progress is how far a running tool says it is. Total is zero when unknown.
type Progress struct {
	Done, Total float64
	Message     string // at most 1 KiB, valid UTF-8
}

// Report tells the Observer of the running call how far it is. It does nothing
// when ctx is not that of a call, or when the call has ended. It may be called
// from any goroutine.
func Report(ctx context.Context, p Progress) {
	r, ok := ctx.Value(reporterKey{}).(*reporter)
	if !ok {
		return
	}
	p.Message, _ = replaceInvalid(p.Message)
	p.Message = p.Message[:runeStart(p.Message, min(len(p.Message), leastText))]
	r.report(p)
}

type reporterKey struct{}

// reporter passes progress on until its call has ended.
type reporter struct {
	mu   *sync.Mutex // the batch's
	over bool
	tell func(Progress)
}

func (r *reporter) withReporter(ctx context.Context) context.Context {
	return context.WithValue(ctx, reporterKey{}, r)
}

func (r *reporter) report(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.tell(p)
	}
}

func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
