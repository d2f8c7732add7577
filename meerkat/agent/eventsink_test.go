package agent

import (
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// TestSlowListener checks that a slow listener misses only deltas, learns how
// many, and sees no gap in the numbers.
func TestSlowListener(t *testing.T) {
	release := make(chan struct{})
	var got []Event
	o := newEventSink(func(e Event) {
		<-release
		got = append(got, e)
	}, 4)
	sent := 0
	for range 100 {
		o.emit(Event{Type: TextDelta, Turn: 1})
		sent++
	}
	close(release)
	o.emit(Event{Type: BlockCompleted, Turn: 1})
	o.emit(Event{Type: RunCompleted})
	o.close()
	deltas, dropped := 0, 0
	for i, e := range got {
		if e.Seq != i {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
		switch e.Type {
		case TextDelta:
			deltas++
		case StreamTruncated:
			dropped += e.Dropped
			if e.Turn != 1 || got[i+1].Type != BlockCompleted {
				t.Errorf("%+v before %+v", e, got[i+1])
			}
		default: // only counted
		}
	}
	if deltas == 0 || dropped == 0 || deltas+dropped != sent || got[len(got)-1].Type != RunCompleted {
		t.Errorf("%d deltas and %d dropped of %d, %s", deltas, dropped, sent, types(got))
	}
}

// TestDeltaNeverWaits lets a listener that stands still take one event of a
// full buffer. The next delta must be dropped as well: the stream_truncated
// before it would take the only free place.
func TestDeltaNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := make(chan struct{})
		o := newEventSink(func(Event) { step <- struct{}{} }, 1)
		for range 10 {
			o.emit(Event{Type: TextDelta})
		}
		synctest.Wait()
		o.emit(Event{Type: TextDelta})
		<-step
		synctest.Wait()
		o.emit(Event{Type: TextDelta})
		go func() {
			for range step {
			}
		}()
		o.emit(Event{Type: RunCompleted})
		o.close()
		close(step)
	})
}

// TestEventSinkLosesNothingElse checks that nothing but deltas is lost, with any
// buffer and a listener of any speed.
func TestEventSinkLosesNothingElse(t *testing.T) {
	all := []EventType{TextDelta, BlockCompleted, ToolProgress, ToolExecutionCompleted, ReasoningDelta, RunFailed}
	rapid.Check(t, func(t *rapid.T) {
		pace := make(chan struct{}, 200)
		slow := rapid.Bool().Draw(t, "slow")
		var got []Event
		o := newEventSink(func(e Event) {
			if slow {
				<-pace
			}
			got = append(got, e)
		}, rapid.IntRange(0, 5).Draw(t, "buffer"))
		var wg sync.WaitGroup
		want, droppable, dropped := map[EventType]int{}, 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			typ := rapid.SampledFrom(all).Draw(t, "type")
			if typ.Droppable() {
				droppable++
			} else {
				want[typ]++
			}
			pace <- struct{}{}
			pace <- struct{}{}
			o.emit(Event{Type: typ})
		}
		wg.Wait()
		close(pace)
		o.close()
		for i, e := range got {
			if e.Seq != i {
				t.Fatalf("event %d has number %d", i, e.Seq)
			}
			switch {
			case e.Type == StreamTruncated:
				dropped += e.Dropped
			case e.Type.Droppable():
				droppable--
			default:
				want[e.Type]--
			}
		}
		for typ, n := range want {
			if n != 0 {
				t.Fatalf("%d of %s are missing", n, typ)
			}
		}
		if droppable < dropped {
			t.Fatalf("%d are missing, %d were reported", droppable, dropped)
		}
	})
}

// TestBufferedRun delivers everything before Run returns.
func TestBufferedRun(t *testing.T) {
	m := &model{
		replies: []any{calls("a"), text("done")},
		events:  []stream.Event{{Kind: stream.EventTextDelta, Delta: []byte("x")}},
	}
	cfg := config(m, session.NewMemoryStore(), &counter{})
	events := heard(&cfg)
	cfg.EventBuffer = 2
	_, err := Run(ctx, cfg, "go")
	ordered(t, *events, err)
}
