package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
	"github.com/meerkat-go/conformance/proxy/route"
)

// Performance is what one play brought home.
type Performance struct {
	Play     scenario.Play
	Evidence *evidence.Evidence
	// Cassette names what answered, empty for a play without traffic.
	Cassette string
	// Trouble lists what did not go as scripted. The evidence then ends early.
	Trouble []string
	// Err is a fault of the harness: nothing can be said about the agent.
	Err  error
	Took time.Duration
}

// Perform plays p against its cassette in tapes.
func (s *Stage) Perform(ctx context.Context, p scenario.Play, tapes fs.FS) (done Performance) {
	began := time.Now()
	done.Play = p
	defer func() {
		if cause := recover(); cause != nil {
			done.Err = fmt.Errorf("%s: the harness panicked: %v", p.Name(), cause)
		}
		done.Took = time.Since(began)
	}()
	w := newWitness(p)
	wire, err := w.wire(tapes)
	if err != nil {
		done.Err = err
		return done
	}
	processes, err := s.Act(ctx, p, w.count(wire), w.step)
	done.Err = err
	done.Evidence, done.Trouble = w.report(processes)
	done.Cassette = w.tape
	return done
}

// witness writes down what passes during a play.
type witness struct {
	play   scenario.Play
	player *replay.Player
	tape   string

	mu      sync.Mutex
	now     int         // the step that runs
	arrived map[int]int // requests by step
	passed  []cassette.Interaction
	during  []int // the step of each
	missed  []bool
	notes   []string
}

func newWitness(p scenario.Play) *witness { return &witness{play: p, arrived: map[int]int{}} }

// count counts requests when they arrive: a recorder tells of them only later.
func (w *witness) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.arrived[w.now]++
		w.mu.Unlock()
		next.ServeHTTP(rw, r)
	})
}

// wire is what answers the agent: the play's cassette, or nobody.
func (w *witness) wire(tapes fs.FS) (http.Handler, error) {
	redactor := redact.New(nil)
	if w.play.Silent() {
		return silence{w, redactor}, nil
	}
	w.tape = w.play.Cassette()
	tape, err := cassette.OpenFS(tapes, w.tape)
	if err != nil {
		return nil, fmt.Errorf("%w; record it with: make cassettes", err)
	}
	w.player, err = replay.New(replay.Config{Cassette: tape, Redactor: redactor, Observe: w.observe, Log: w.note})
	return w.player, err
}

func (w *witness) step(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = n
}

func (w *witness) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, line)
}

func (w *witness) observe(in cassette.Interaction, missed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed, w.during, w.missed = append(w.passed, in), append(w.during, w.now), append(w.missed, missed)
}

// report turns what was seen into evidence and says what went wrong.
func (w *witness) report(processes []evidence.Process) (*evidence.Evidence, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ev, skipped := evidence.FromInteractions(w.play.Name(), evidence.SourceCassette, w.passed)
	ev.Process = processes
	for i := range ev.Exchanges {
		at := ev.Exchanges[i].Index
		ev.Exchanges[i].Process, ev.Exchanges[i].Missed = w.during[at], w.missed[at]
	}
	trouble := slices.Clone(w.notes)
	for _, s := range skipped {
		trouble = append(trouble, fmt.Sprintf("request %d, %s, is not judged: %s", s.Exchange, s.What, s.Reason))
	}
	for i, step := range w.play.Steps() {
		trouble = append(trouble, w.ended(i, step, processes)...)
	}
	if w.player != nil && len(trouble) == 0 {
		if n := w.player.Receipt().Unused; n > 0 {
			trouble = append(trouble, fmt.Sprintf("%d recorded replies were never asked for", n))
		}
	}
	return &ev, trouble
}

func (w *witness) ended(i int, step scenario.Step, processes []evidence.Process) []string {
	if i >= len(processes) {
		return []string{fmt.Sprintf("step %d did not run", i)}
	}
	why := cmp.Or(step.Ended(processes[i].ExitCode, w.arrived[i]), step.Said(processes[i].Stdout))
	if why == "" {
		return nil
	}
	return []string{fmt.Sprintf("step %d %s%s", i, why, quoted(processes[i].Stderr))}
}

// quoted is the last line of what a process wrote, cut short.
func quoted(stderr []byte) string {
	const most = 300
	lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return ""
	}
	return ": " + last[:min(most, len(last))]
}

// silence answers plays without traffic: it refuses, and remembers.
type silence struct {
	w        *witness
	redactor *redact.Redactor
}

var errSilence = errors.New("this play must not cause any traffic")

// ServeHTTP refuses one request in the provider's words.
func (s silence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	contentType, body := route.ErrorBody(s.w.play.Target.Provider, http.StatusBadRequest, errSilence.Error())
	s.w.observe(s.redactor.Interaction(cassette.Interaction{
		Request: cassette.Request{Method: r.Method, URL: r.URL.String(), Proto: r.Proto, Header: r.Header.Clone(), Body: asked},
		Response: cassette.Response{Status: http.StatusBadRequest, Proto: r.Proto, Body: body,
			Header: http.Header{"Content-Type": {contentType}}},
		End: cassette.EndEOF,
	}), true)
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body)
}
