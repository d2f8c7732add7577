package program

import (
	"context"
	"errors"
	"sync"

	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/suites/play"
)

// ahead performs plays before their verdicts are asked for, a few at a time,
// each once.
type ahead struct {
	perform func(context.Context, scenario.Play) play.Performance
	over    <-chan struct{}
	plays   map[string]*performance
	queue   chan *performance
	workers sync.WaitGroup
}

// performance is a play that will have been performed when done is closed.
type performance struct {
	play scenario.Play
	done chan struct{}
	play.Performance
}

// start begins to perform plays in order with so many workers. A play of which
// ctx sees no start is never performed.
func start(ctx context.Context, plays []scenario.Play, workers int, perform func(context.Context, scenario.Play) play.Performance) *ahead {
	a := &ahead{perform: perform, over: ctx.Done(), plays: map[string]*performance{}, queue: make(chan *performance, len(plays))}
	for _, p := range plays {
		next := &performance{play: p, done: make(chan struct{})}
		a.plays[p.Name()] = next
		a.queue <- next
	}
	close(a.queue)
	for range min(workers, len(plays)) {
		a.workers.Go(func() { a.work(ctx) })
	}
	return a
}

func (a *ahead) work(ctx context.Context) {
	for next := range a.queue {
		if ctx.Err() != nil {
			return
		}
		next.Performance = a.perform(ctx, next.play)
		close(next.done)
	}
}

var errOver = errors.New("interrupted")

// await returns the performance of the play called name. It gives up with ctx
// or with the context given to start.
func (a *ahead) await(ctx context.Context, name string) (play.Performance, error) {
	p := a.plays[name]
	select {
	case <-p.done:
		return p.Performance, nil
	case <-ctx.Done():
	case <-a.over:
	}
	return play.Performance{}, errOver
}

// stop returns when no play is running. Cancel the context given to start
// first, to not wait for all.
func (a *ahead) stop() { a.workers.Wait() }
