package program

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

func plays(n int) []scenario.Play {
	all := make([]scenario.Play, n)
	for i := range all {
		all[i] = scenario.Play{Scenario: &specs.Scenario{Name: fmt.Sprint(i)}, Target: specs.Target{Provider: "openai"}}
	}
	return all
}

func TestAheadPerformsEachPlayOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	var running, most, performed atomic.Int32
	gate := make(chan struct{}, 3)
	a := start(t.Context(), plays(20), 3, func(_ context.Context, p scenario.Play) play.Performance {
		gate <- struct{}{}
		most.Store(max(most.Load(), running.Add(1)))
		performed.Add(1)
		running.Add(-1)
		<-gate
		return play.Performance{Play: p}
	})
	for i := 19; i >= 0; i-- { // in another order than they are performed
		name := fmt.Sprintf("%d/openai", i)
		for range 2 {
			done, err := a.await(t.Context(), name)
			if err != nil || done.Play.Name() != name {
				t.Fatalf("%s: %s %v", name, done.Play.Name(), err)
			}
		}
	}
	a.stop()
	if performed.Load() != 20 || most.Load() > 3 {
		t.Errorf("%d performed, %d at once; want 20, at most 3", performed.Load(), most.Load())
	}
}

// TestAheadEnds holds that nobody waits for a play that will not be performed.
func TestAheadEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	a := start(ctx, plays(2), 1, func(ctx context.Context, p scenario.Play) play.Performance {
		close(started)
		<-ctx.Done()
		return play.Performance{Play: p}
	})
	<-started
	cancel()
	if _, err := a.await(t.Context(), "1/openai"); !errors.Is(err, errOver) {
		t.Errorf("got %v", err)
	}
	a.stop()
}
