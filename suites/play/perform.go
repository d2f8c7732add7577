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
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
)

// Performance is what one play brought home.
type Performance struct {
	Play scenario.Play
	// Case is the play's name, and of a play with the simulator also that.
	Case string
	// Source is what answered.
	Source   evidence.Source
	Evidence *evidence.Evidence
	// Cassette names the one that answered, if one did.
	Cassette string
	// Trouble lists what did not go as scripted. The evidence then ends early.
	Trouble []string
	// Err is a fault of the harness: nothing can be said about the agent.
	Err  error
	Took time.Duration
}

// Perform plays p against its cassette in tapes, or without tapes against the
// simulator.
func (s *Stage) Perform(ctx context.Context, p scenario.Play, tapes fs.FS) (done Performance) {
	began := time.Now()
	w := newWitness(p, tapes)
	done.Play, done.Source, done.Case = p, w.source, w.name
	defer func() {
		if cause := recover(); cause != nil {
			done.Err = fmt.Errorf("%s: the harness panicked: %v", p.Name(), cause)
		}
		done.Took = time.Since(began)
	}()
	answers, err := w.wire()
	if err != nil {
		done.Err = err
		return done
	}
	processes, err := s.Act(ctx, p, w.count(answers), w.step)
	done.Err = errors.Join(err, w.live.close())
	done.Evidence, done.Trouble = w.report(processes)
	done.Cassette = w.tape
	return done
}

// witness writes down what passes during a play.
type witness struct {
	play   scenario.Play
	name   string
	source evidence.Source
	tapes  fs.FS
	player *replay.Player
	live   *live // nil where a cassette answers
	tape   string

	mu      sync.Mutex
	now     int         // the step that runs
	arrived map[int]int // requests by step
	passed  []cassette.Interaction
	during  []int // the step of each
	missed  []bool
	notes   []string
}

func newWitness(p scenario.Play, tapes fs.FS) *witness {
	w := &witness{play: p, name: p.Name(), source: evidence.SourceCassette, tapes: tapes, arrived: map[int]int{}}
	if tapes == nil {
		w.name, w.source = w.name+"@simulator", evidence.SourceSimulator
	}
	return w
}

// count counts requests when they arrive: a recorder tells of them only later.
func (w *witness) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.arrived[w.now]++
		w.mu.Unlock()
		next.ServeHTTP(rw, r)
	})
}

// wire is what answers the agent: the play's cassette, the simulator, or nobody.
func (w *witness) wire() (http.Handler, error) {
	redactor := redact.New(nil)
	if w.play.Silent() {
		return silence{w, redactor}, nil
	}
	if w.tapes == nil {
		w.live = &live{w: w, redactor: redactor, upstream: simulator.Transport(scripted(w.play, w.mismatch))}
		return w.live, nil
	}
	w.tape = w.play.Cassette()
	tape, err := cassette.OpenFS(w.tapes, w.tape)
	if err != nil {
		return nil, fmt.Errorf("%w; record it with: make cassettes", err)
	}
	w.player, err = replay.New(replay.Config{Cassette: tape, Redactor: redactor, Observe: w.observe, Log: w.note})
	return w.player, err
}

func (w *witness) step(n int) {
	w.live.turn()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = n
}

func (w *witness) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, line)
}

// mismatch notes a request that the scenario does not expect.
func (w *witness) mismatch(m *script.Mismatch) { w.note(m.Error()) }

func (w *witness) observe(in cassette.Interaction, missed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed, w.during, w.missed = append(w.passed, in), append(w.during, w.now), append(w.missed, missed)
}

// report turns what was seen into evidence and says what went wrong.
func (w *witness) report(processes []evidence.Process) (*evidence.Evidence, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ev, skipped := evidence.FromInteractions(w.name, w.source, w.passed)
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
	if len(trouble) == 0 {
		trouble = w.early(&ev)
	}
	return &ev, trouble
}

// early says that an agent was content before the script was at its end.
func (w *witness) early(ev *evidence.Evidence) []string {
	switch {
	case w.player != nil:
		if n := w.player.Receipt().Unused; n > 0 {
			return []string{fmt.Sprintf("%d recorded replies were never asked for", n)}
		}
	case w.live != nil && len(ev.Exchanges) > 0:
		last := ev.Exchanges[len(ev.Exchanges)-1]
		reply := wire.ReadReply(last.Provider, last.Response.Status, last.Response.Body)
		if slices.ContainsFunc(reply.Items, func(it wire.Item) bool { return it.What == wire.Call }) {
			return []string{"the model's last calls were never answered"}
		}
	}
	return nil
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
	contentType, body := llm.ErrorBody(s.w.play.Target.Provider, http.StatusBadRequest, errSilence.Error())
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
