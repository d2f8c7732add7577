package conform

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/meerkat-go/conformance/conform/report"
)

// human is where verdicts for people go: to the terminal, or to stderr when
// stdout is a pipe, which carries nothing but machine output (DESIGN §6).
func (a *app) human() io.Writer {
	if isTerminal(a.stdout) {
		return a.stdout
	}
	return a.stderr
}

// terminal shows reports to people.
func (a *app) terminal() *report.Terminal {
	w := a.human()
	return report.NewTerminal(w, isTerminal(w) && a.colours())
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colours honours no-color.org and terminals that have none.
func (a *app) colours() bool {
	return !slices.ContainsFunc(a.env, func(kv string) bool {
		return kv == "TERM=dumb" || len(kv) > len("NO_COLOR=") && kv[:len("NO_COLOR=")] == "NO_COLOR="
	})
}

// progress tells a person at a terminal how far a long command is. It is silent
// for the first second and everywhere else. It may be used concurrently.
type progress struct {
	w    io.Writer // nil: silent
	what string
	now  func() time.Time

	mu    sync.Mutex
	done  int
	shown time.Time
}

const (
	quiet    = time.Second
	interval = 100 * time.Millisecond
)

func (a *app) progress(what string) *progress {
	p := &progress{what: what, now: time.Now}
	if isTerminal(a.stderr) {
		p.w = a.stderr
	}
	p.shown = p.now().Add(quiet - interval)
	return p
}

// Step counts one more of total.
func (p *progress) Step(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	now := p.now()
	if p.w == nil || now.Sub(p.shown) < interval {
		return
	}
	p.shown = now
	fmt.Fprintf(p.w, "\r%s %d of %d\x1b[K", p.what, p.done, total)
}

// Done wipes the line.
func (p *progress) Done() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
