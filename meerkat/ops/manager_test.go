package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// newTestManager returns a Manager whose operations do what run says.
func newTestManager(run func(context.Context, Task) Outcome, change func(*Config)) *Manager {
	var n atomic.Int64
	c := Config{
		Run: run, Now: time.Now,
		NewID: func() (session.ID, error) { return session.ID(fmt.Sprintf("id-%d", n.Add(1))), nil },
	}
	if change != nil {
		change(&c)
	}
	return NewManager(c)
}

// accept records every submission.
func accept(specs []OperationSpec, _ int, _ *session.ForkBudgetPolicy) ([]OperationSpec, error) {
	return specs, nil
}

// untilStopped is work that never ends by itself.
func untilStopped(ctx context.Context, _ Task) Outcome {
	<-ctx.Done()
	return Outcome{Status: Interrupted, Error: "stopped"}
}

func mustSubmit(t *testing.T, n *Node, specs ...OperationSpec) []OperationID {
	t.Helper()
	ids, err := n.Submit(specs, nil, accept)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestNeverEnds: an operation that never ends is stopped by its time, by a cancellation,
// or by the end of the run of its parent; nothing of it goes on then.
func TestNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(untilStopped, nil)
		root := m.Join(t.Context(), Place{ID: "root"})
		ids := mustSubmit(
			t, root, OperationSpec{Label: "late", Policy: OperationPolicy{Timeout: time.Minute}},
			OperationSpec{Label: "cancelled"}, OperationSpec{Label: "left"},
		)
		time.Sleep(2 * time.Minute) // on the clock of the bubble
		if err := m.Cancel(ids[1]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		all := m.Operations("root")
		if s := all[0]; s.OpResult.Status != Failed || !strings.Contains(s.Error, "1m0s") {
			t.Errorf("the one whose time was up: %+v", s.OpResult)
		}
		if s := all[1]; s.OpResult.Status != Cancelled {
			t.Errorf("the cancelled one: %+v", s.OpResult)
		}
		if s := all[2]; s.OpResult.Status != Running {
			t.Errorf("the other one: %+v", s.OpResult)
		}
		root.Leave(false) // a goroutine that went on would fail the bubble
		if m.Operations("root") != nil || m.Cancel(ids[2]) == nil {
			t.Error("the tree is still known")
		}
	})
}

// TestBackpressure: an operation waits while its parent is behind, goes on when the
// parent takes the events, and none is lost.
func TestBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported atomic.Int32
		m := newTestManager(func(_ context.Context, task Task) Outcome {
			for i := range 10 {
				task.Report(fmt.Sprint(i), nil)
				reported.Add(1)
			}
			return Outcome{Status: Completed, Text: "done"}
		}, func(c *Config) { c.EventBuffer = 4 })
		root := m.Join(t.Context(), Place{ID: "root"})
		mustSubmit(t, root, OperationSpec{})
		synctest.Wait()
		if n := reported.Load(); n != 3 { // and the start
			t.Errorf("%d reports went through, want 3", n)
		}
		var seen []string
		for root.Drain().Open {
			news := root.Wait(t.Context())
			for _, e := range news.Events {
				seen = append(seen, string(e.Type)+e.Message)
			}
			for _, r := range news.Results {
				root.Settle([]OperationID{r.OpID}, nil)
			}
		}
		if got := strings.Join(seen, " "); !strings.HasSuffix(got, "progress9 completed") && reported.Load() != 10 {
			t.Errorf("%d reports, seen: %s", reported.Load(), got)
		}
		root.Leave(true)
	})
}

// TestStoppedWhileBehind: an operation that waits for its parent ends when it is
// cancelled, and when the parent ends.
func TestStoppedWhileBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(func(ctx context.Context, task Task) Outcome {
			for ctx.Err() == nil {
				task.Report("again", nil)
			}
			return Outcome{Status: Interrupted}
		}, func(c *Config) { c.EventBuffer = 1 })
		root := m.Join(t.Context(), Place{ID: "root"})
		ids := mustSubmit(t, root, OperationSpec{}, OperationSpec{})
		synctest.Wait()
		if err := m.Cancel(ids[0]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := m.Operations("root")[0]; s.OpResult.Status != Cancelled {
			t.Errorf("%+v", s.OpResult)
		}
		root.Leave(true)
	})
}

// TestSteeringFlood: the queue stays as long as it may be, the newest directives are
// kept, and handles say what became of each.
func TestSteeringFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(untilStopped, nil)
		root := m.Join(t.Context(), Place{ID: "root"})
		var handles []*SteeringHandle
		for i := range 10_000 {
			h, err := m.Steer("root", fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			handles = append(handles, h)
		}
		queued := root.Drain().Directives
		if len(queued) != DefaultSteeringDepth || queued[0].Text != "9984" || queued[0].Seq != 9985 {
			t.Errorf("%d are queued, the first is %+v", len(queued), queued[0])
		}
		if n := len(root.tree.state.findAgent("root").directives); n > 4*DefaultSteeringDepth {
			t.Errorf("%d directives are remembered", n)
		}
		root.Settle(nil, []string{queued[0].ID})
		root.Leave(true)
		for i, want := range map[int]SteeringStatus{0: SteeringExpired, 9984: SteeringApplied, 9999: SteeringExpired} {
			if got := handles[i].Status(); got != want {
				t.Errorf("directive %d: %s, want %s", i, got, want)
			}
		}
		if _, err := m.Steer("root", "late"); err == nil {
			t.Error("an agent that has ended takes a directive")
		}
	})
}

// TestNotRecorded: an operation whose submission could not be stored never starts, and
// its name is free again.
func TestNotRecorded(t *testing.T) {
	full := errors.New("no space left on device")
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(func(context.Context, Task) Outcome {
			t.Error("it was started")
			return Outcome{}
		}, nil)
		root := m.Join(t.Context(), Place{ID: "root"})
		for range 2 {
			_, err := root.Submit(
				[]OperationSpec{{Label: "a"}}, nil,
				func([]OperationSpec, int, *session.ForkBudgetPolicy) ([]OperationSpec, error) { return nil, full },
			)
			if !errors.Is(err, full) {
				t.Errorf("%v", err)
			}
		}
		if all := m.Operations("root"); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		root.Leave(true)
	})
}

// TestPanics: work that panics is an operation that failed.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(func(context.Context, Task) Outcome { panic("broken") }, nil)
		root := m.Join(t.Context(), Place{ID: "root"})
		mustSubmit(t, root, OperationSpec{})
		news := root.Wait(t.Context())
		for len(news.Results) == 0 {
			news = root.Wait(t.Context())
		}
		if r := news.Results[0]; r.Status != Failed || !strings.Contains(r.Error, "broken") {
			t.Errorf("%+v", r)
		}
		root.Leave(true)
	})
}

// BenchmarkOperation is an operation that does nothing: what submission, start, end and
// delivery take.
func BenchmarkOperation(b *testing.B) {
	m := newTestManager(func(context.Context, Task) Outcome { return Outcome{Status: Completed} }, nil)
	for b.Loop() {
		root := m.Join(b.Context(), Place{ID: "root"})
		if _, err := root.Submit([]OperationSpec{{}}, nil, accept); err != nil {
			b.Fatal(err)
		}
		for root.Drain().Open {
			for _, r := range root.Wait(b.Context()).Results {
				root.Settle([]OperationID{r.OpID}, nil)
			}
		}
		root.Leave(true)
	}
}
