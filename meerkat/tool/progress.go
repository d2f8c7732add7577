package tool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
)

// DefaultMaxProgress is how often a call may report progress. The last report says
// that further ones are left out.
const DefaultMaxProgress = 1000

// Progress is how far a running tool says it is. Total is zero when unknown.
type Progress struct {
	Done, Total float64
	Message     string // at most 1 KiB, valid UTF-8
}

// Report tells the Observer of the running call how far it is. It does nothing
// when ctx is not that of a call, or when the call has ended. It may be called
// from any goroutine. Numbers that are none count as 0. After Traits.MaxProgress
// reports the call is no longer heard.
func Report(ctx context.Context, p Progress) {
	r, ok := ctx.Value(reporterKey{}).(*reporter)
	if !ok {
		return
	}
	p.Done, p.Total = finite(p.Done), finite(p.Total)
	p.Message, _ = replaceInvalid(p.Message)
	p.Message = p.Message[:runeStart(p.Message, min(len(p.Message), leastText))]
	r.report(p)
}

type reporterKey struct{}

// finite returns f, 0 if it is not a number that JSON can hold.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// reporter passes progress on until its call has ended, or has reported too often.
type reporter struct {
	limit, count int         // reports; limit 0: DefaultMaxProgress
	mu           *sync.Mutex // the batch's
	over         bool
	tell         func(Progress)
}

func (r *reporter) withReporter(ctx context.Context) context.Context {
	return context.WithValue(ctx, reporterKey{}, r)
}

func (r *reporter) report(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := cmp.Or(r.limit, DefaultMaxProgress)
	if r.over || r.count >= limit {
		return
	}
	if r.count++; r.count == limit {
		p.Message = fmt.Sprintf(
			"%d reports of progress are the most of a call (tools.max_progress); further ones are left out", limit,
		)
	}
	r.tell(p)
}

func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
