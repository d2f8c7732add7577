package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// WriteJSON writes v to Stdout, indented and without escaped HTML.
func (f *Frame) WriteJSON(v any) error {
	e := json.NewEncoder(f.JSON())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Count is a number with its noun: "1 file", "2 files".
func Count[N ~int | ~int64 | ~uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Progress shows a person at a terminal how far a long command is. It is silent
// for the first second, with -q, and when Stderr is not a terminal that can clear a
// line. Its methods may be used concurrently.
type Progress struct {
	w    io.Writer // nil: silent
	what string
	now  func() time.Time

	mu    sync.Mutex
	done  int
	shown time.Time
}

const (
	progressDelay    = time.Second
	progressInterval = 100 * time.Millisecond
)

// StartProgress returns the progress of a command; what is the verb that stands
// before the numbers.
func (f *Frame) StartProgress(what string) *Progress {
	p := &Progress{what: what, now: time.Now}
	if !f.Quiet && IsTerminal(f.givenErr) && f.Getenv("TERM") != "dumb" {
		p.w = f.givenErr // it moves the cursor itself
	}
	p.shown = p.now().Add(progressDelay - progressInterval)
	return p
}

// Step counts one more of total.
func (p *Progress) Step(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	now := p.now()
	if p.w == nil || now.Sub(p.shown) < progressInterval {
		return
	}
	p.shown = now
	fmt.Fprintf(p.w, "\r%s %d of %d\x1b[K", p.what, p.done, total)
}

// ShowElapsed shows a person at a terminal that a step goes on, and for how many
// seconds, where nothing can be counted. The caller calls done at its end.
func (f *Frame) ShowElapsed(what string) (done func()) {
	p := f.StartProgress(what)
	if p.w == nil {
		return func() {}
	}
	tick := time.NewTicker(progressDelay)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.countTicks(tick.C, stop)
	}()
	return func() {
		tick.Stop()
		close(stop)
		<-ended
		p.Done()
	}
}

// countTicks shows the number of ticks until stop.
func (p *Progress) countTicks(tick <-chan time.Time, stop <-chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-tick:
			fmt.Fprintf(p.w, "\r%s: %d s\x1b[K", terminal.Line(p.what), n)
		}
	}
}

// Done clears the line.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
