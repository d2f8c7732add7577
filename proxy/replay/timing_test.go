package replay

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
)

// clocked notes when each Write was made.
type clocked struct {
	*httptest.ResponseRecorder
	begin           time.Time
	at              []time.Duration
	header, flushed time.Duration
}

func (w *clocked) WriteHeader(status int) {
	w.header = time.Since(w.begin)
	w.ResponseRecorder.WriteHeader(status)
}

func (w *clocked) Flush() { w.flushed = time.Since(w.begin) }

func (w *clocked) Write(p []byte) (int, error) {
	w.at = append(w.at, time.Since(w.begin))
	return w.ResponseRecorder.Write(p)
}

func slow() cassette.Interaction {
	in := pair("{}", "abc")
	in.Timeline = []cassette.Chunk{{At: 0, Length: 1}, {At: 40 * time.Millisecond, Length: 1},
		{At: 100 * time.Millisecond, Length: 1}}
	in.Duration = 300 * time.Millisecond // so the header took 200 ms
	return in
}

// fakeTime makes replay wait by the clock of a synctest bubble.
func fakeTime(t *testing.T) {
	t.Helper()
	real := startAlarm
	startAlarm = func(context.Context) *alarm { return nil }
	t.Cleanup(func() { startAlarm = real })
}

func TestTiming(t *testing.T) {
	fakeTime(t)
	const ms = time.Millisecond
	for _, c := range []struct {
		timing Timing
		want   []time.Duration
	}{
		{None, []time.Duration{0, 0, 0}},
		{Recorded, []time.Duration{200 * ms, 240 * ms, 300 * ms}},
		{4, []time.Duration{50 * ms, 60 * ms, 75 * ms}},
		{0.5, []time.Duration{400 * ms, 480 * ms, 600 * ms}},
	} {
		p := newReplayer(t, Config{Timing: c.timing}, slow())
		synctest.Test(t, func(t *testing.T) {
			w := &clocked{ResponseRecorder: httptest.NewRecorder(), begin: time.Now()}
			p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader("{}")))
			if !slices.Equal(w.at, c.want) {
				t.Errorf("timing %v: written at %v, want %v", c.timing, w.at, c.want)
			}
		})
	}
}

// A client that leaves does not keep a slow reply waiting.
func TestTimingEndsWithTheClient(t *testing.T) {
	fakeTime(t)
	p := newReplayer(t, Config{Timing: Recorded}, slow())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 220*time.Millisecond)
		defer cancel()
		begin := time.Now()
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("ended with %v", err)
				}
			}()
			r := httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader("{}")).WithContext(ctx)
			p.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if took := time.Since(begin); took != 220*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
}

// The header comes when it came, also before a body of known length.
func TestTimeToTheHeader(t *testing.T) {
	fakeTime(t)
	in := slow()
	in.Response.Header.Set("Content-Length", "3")
	in.Timeline[0].At = 20 * time.Millisecond
	p := newReplayer(t, Config{Timing: Recorded}, in)
	synctest.Test(t, func(t *testing.T) {
		w := &clocked{ResponseRecorder: httptest.NewRecorder(), begin: time.Now()}
		p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader("{}")))
		if w.header != 200*time.Millisecond || w.flushed != w.header || w.at[0] != 220*time.Millisecond {
			t.Errorf("header written at %v, sent at %v, body at %v", w.header, w.flushed, w.at)
		}
	})
}

// The pauses of a plan are real at every speed, and delay all that follows.
func TestHoldsAtEverySpeed(t *testing.T) {
	fakeTime(t)
	const ms = time.Millisecond
	plan, err := fault.Parse("f.yaml",
		[]byte("faults: [{fault: stall, for: 1s, at_byte: 2}, {fault: stall, for: 500ms, before_header: true}]"))
	if err != nil {
		t.Fatal(err)
	}
	for timing, want := range map[Timing][]time.Duration{
		None:     {500 * ms, 500 * ms, 1500 * ms},
		Recorded: {700 * ms, 740 * ms, 1800 * ms},
		4:        {550 * ms, 560 * ms, 1575 * ms},
	} {
		p := newReplayer(t, Config{Timing: timing, Faults: &plan}, slow())
		synctest.Test(t, func(t *testing.T) {
			w := &clocked{ResponseRecorder: httptest.NewRecorder(), begin: time.Now()}
			p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader("{}")))
			if !slices.Equal(w.at, want) {
				t.Errorf("timing %v: written at %v, want %v", timing, w.at, want)
			}
		})
	}
}

// An alarm rings when it should, not before, and when its owner leaves.
func TestAlarm(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := newAlarm(ctx)
	if a == nil {
		t.Skip("this system's timers are exact by themselves")
	}
	defer a.close()
	for _, d := range []time.Duration{1, 100 * time.Microsecond, 3 * time.Millisecond} {
		begin := time.Now()
		if a.sleep(d); time.Since(begin) < d {
			t.Errorf("slept %v of %v", time.Since(begin), d)
		}
	}
	begin := time.Now()
	time.AfterFunc(time.Millisecond, cancel)
	if a.sleep(time.Hour); time.Since(begin) > time.Minute {
		t.Error("an hour's sleep outlived its owner")
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTimingValid(t *testing.T) {
	for speed, want := range map[Timing]bool{0: true, 1: true, 0.001: true, 1e9: true, -1: false, 1e-9: false,
		Timing(math.NaN()): false, Timing(math.Inf(-1)): false} {
		if speed.Valid() != want {
			t.Errorf("%v: %v", speed, !want)
		}
	}
}
