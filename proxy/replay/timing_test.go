package replay

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// clocked notes when each Write was made.
type clocked struct {
	*httptest.ResponseRecorder
	begin time.Time
	at    []time.Duration
}

func (w *clocked) Write(p []byte) (int, error) {
	w.at = append(w.at, time.Since(w.begin))
	return w.ResponseRecorder.Write(p)
}

func slow() cassette.Interaction {
	in := pair("{}", "abc")
	in.Timeline = []cassette.Chunk{{At: 0, Length: 1}, {At: 40 * time.Millisecond, Length: 1}, {At: 100 * time.Millisecond, Length: 1}}
	in.Duration = 300 * time.Millisecond // so the header took 200 ms
	return in
}

func TestTiming(t *testing.T) {
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
		p := player(t, Config{Timing: c.timing}, slow())
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
	p := player(t, Config{Timing: Recorded}, slow())
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
