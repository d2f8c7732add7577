package transcript

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func callRecord(message int, id string, s CallStatus) CallRecord {
	return CallRecord{Message: message, CallID: id, Name: "t", Status: s}
}

var callStatuses = []CallStatus{CallProposed, CallRunning, CallComplete, CallError, CallCancelled, CallInterrupted}

// TestMoves has every pair of statuses: what follows what.
func TestMoves(t *testing.T) {
	for _, from := range callStatuses {
		for _, to := range callStatuses {
			l, err := NewLedger(callRecord(1, "a", from))
			if err != nil {
				t.Fatal(err)
			}
			l, err = l.With(callRecord(1, "a", to))
			legal := from == to || from == CallProposed || from == CallRunning && to.Final()
			var contradiction *ContradictionError
			if legal != (err == nil) || !legal && !errors.As(err, &contradiction) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			want := from
			if legal {
				want = to
			}
			if have, ok := l.Lookup(1, "a"); !ok || have.Status != want {
				t.Errorf("%s to %s: it is %s", from, to, have.Status)
			}
			if open := len(l.Open()) == 1; open == want.Final() {
				t.Errorf("%s to %s: open is %v", from, to, l.Open())
			}
		}
	}
}

func TestWithTwiceAddsNothing(t *testing.T) {
	l, _ := NewLedger(
		callRecord(1, "a", CallProposed), callRecord(1, "a", CallProposed), callRecord(1, "a", CallRunning),
		callRecord(1, "a", CallRunning),
	)
	if n := len(l.Entries()); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func TestAnEndMayLearnItsResultOnce(t *testing.T) {
	done := callRecord(1, "a", CallComplete)
	l, _ := NewLedger(done)
	first, second := done, done
	first.Result, second.Result = &ToolResult{Content: "1"}, &ToolResult{Content: "2"}
	l, err := l.With(first)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = l.With(second); err != nil {
		t.Fatal(err)
	}
	if have, _ := l.Lookup(1, "a"); have.Result == nil || have.Result.Content != "1" {
		t.Errorf("result %v, want the first", have.Result)
	}
}

// TestIDsRepeatOverTurns: the same id in another message is another call.
func TestIDsRepeatOverTurns(t *testing.T) {
	l, err := NewLedger(
		callRecord(1, "fc_0", CallProposed), callRecord(1, "fc_0", CallComplete), callRecord(3, "fc_0", CallProposed),
	)
	if err != nil {
		t.Fatal(err)
	}
	if open := l.Open(); len(open) != 1 || open[0].Message != 3 {
		t.Errorf("open %v", open)
	}
	if _, ok := l.Lookup(2, "fc_0"); ok {
		t.Error("message 2 makes no call")
	}
}

func TestBadEntries(t *testing.T) {
	for name, entries := range map[string][]CallRecord{
		"no status":    {callRecord(1, "a", "")},
		"another name": {callRecord(1, "a", CallProposed), {Message: 1, CallID: "a", Name: "u", Status: CallRunning}},
	} {
		if _, err := NewLedger(entries...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	l, err := NewLedger(callRecord(1, "a", CallProposed), CallRecord{Message: 1, CallID: "a", Status: CallRunning})
	if have, _ := l.Lookup(1, "a"); err != nil || have.Name != "t" {
		t.Errorf("a name left out is kept: %v, %v", have, err)
	}
}

// TestValue grows many values from one another and holds each to a plain copy
// of its own entries.
func TestValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type grown struct {
			l    Ledger
			want map[callKey]CallStatus
		}
		values := []grown{{want: map[callKey]CallStatus{}}}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			from := values[rapid.IntRange(0, len(values)-1).Draw(t, "from")]
			e := callRecord(
				rapid.IntRange(0, 2).Draw(t, "message"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id"),
				rapid.SampledFrom(callStatuses).Draw(t, "status"),
			)
			l, err := from.l.With(e)
			want := map[callKey]CallStatus{}
			for k, s := range from.want {
				want[k] = s
			}
			if err == nil {
				want[e.callKey()] = e.Status
			}
			values = append(values, grown{l, want})
			for i, v := range values {
				open := 0
				for k, s := range v.want {
					if have, ok := v.l.Lookup(k.message, k.id); !ok || have.Status != s {
						t.Fatalf("value %d: %v is %v, want %s", i, k, have, s)
					}
					if !s.Final() {
						open++
					}
				}
				if len(v.l.Open()) != open {
					t.Fatalf("value %d: open %v, want %d", i, v.l.Open(), open)
				}
			}
			again, err := NewLedger(l.Entries()...)
			if err != nil || !again.Equal(l) {
				t.Fatalf("the ledgerLog does not add up again: %v", err)
			}
		}
	})
}

func TestConcurrentGrowth(t *testing.T) {
	base, _ := NewLedger(callRecord(0, "a", CallProposed))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			l := base
			for n := range 100 {
				l, _ = l.With(callRecord(i+1, fmt.Sprint(n), CallProposed))
			}
			if len(l.Open()) != 101 {
				t.Errorf("%d open calls, want 101", len(l.Open()))
			}
		})
	}
	wg.Wait()
}

func BenchmarkWith(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var l Ledger
			for i := range n {
				id := fmt.Sprint(i)
				l, _ = l.With(callRecord(i, id, CallProposed))
				l, _ = l.With(callRecord(i, id, CallComplete))
			}
			for i := n; b.Loop(); i++ {
				next, _ := l.With(callRecord(i, "x", CallProposed))
				l, _ = next.With(callRecord(i, "x", CallComplete))
			}
		})
	}
}
