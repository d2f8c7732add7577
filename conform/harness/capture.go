package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

// capture keeps what passes between the agent and its provider during one run of
// a case.
type capture struct {
	Permutation
	about        About
	seed         string
	replayer     *replay.Replayer // nil where no cassette answers
	steps        *stepRecorder    // nil where a cassette answers
	live         *liveRecording   // nil unless a provider answers
	cassettePath string
	interrupt    interruption
	endCase      context.CancelCauseFunc
	sockets      websocket.Ordinals

	mu             sync.Mutex
	currentStep    int
	requestsByStep map[int]int
	requests       int
	passed         []passedExchange
	notes          []string
	notices        []proxy.Notice
	effects        []string // set when the room is cleared
	toolRuns       []toolserver.Call
	hasToolLog     bool         // the agent started our tool server, which noted toolRuns
	sentTurns      map[int]bool // by line: whether it was whole
	lacksTools     bool         // the agent offers no tool where a turn calls one
	endedStep      int          // the step that reached the time limit of the case; -1: none
}

// passedExchange is an exchange of the agent with what answers it.
type passedExchange struct {
	cassette.Interaction
	step   int
	missed bool // a cassette had no answer
}

func newCapture(p Permutation, seed string, about About) *capture {
	return &capture{Permutation: p, about: about, seed: seed, requestsByStep: map[int]int{}, sentTurns: map[int]bool{},
		endedStep: -1}
}

// newScript is the simulator at its strictest. With the agent's clock the date until which an agent is to wait lies
// ahead; nil stands for the fixed time of committed cassettes. An agent whose model cannot be chosen is answered with
// whatever model it asks for.
func (c *capture) newScript(now func() time.Time) http.Handler {
	switches := slices.ContainsFunc(c.Case.Scenario.Steps, func(s specs.Step) bool { return s.Switch != nil })
	return simulator.New(simulator.Config{Scenario: c.Case.Scenario, Seed: c.seed, AnyModel: switches ||
		!c.about.Can(specs.AbilityModel),
		OwnTools: c.about.Tools, Mismatch: c.noteMismatch, Sent: c.noteSent, Now: now})
}

// maxExtraRequests is how many requests a case may draw beyond the turns of its scenario.
const maxExtraRequests = 50

// errCircles ends a case whose agent asks again and again.
var errCircles = errors.New("the agent goes in circles")

// countRequests counts requests when they arrive, and ends the case after too many. A recorder
// reports them only when they are over. The handshake of a WebSocket is none.
func (c *capture) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !websocket.IsUpgrade(r) {
			c.mu.Lock()
			c.requestsByStep[c.currentStep]++
			c.requests++
			isOver := c.requests > len(c.Case.Scenario.Turns)+maxExtraRequests
			c.mu.Unlock()
			if isOver {
				c.endCase(errCircles)
				refuseRequest(w, r, http.StatusTooManyRequests, errCircles.Error())
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// newRedactor knows the made-up keys: made of words, they would be taken out of headers only,
// and a check that looks for a key elsewhere compares the two.
func newRedactor() *redact.Redactor {
	redactor := redact.New(nil)
	for _, key := range fakeKeys() {
		redactor.Learn(key[1]+otherKey, key[1])
	}
	return redactor
}

// openSource returns what answers the agent: the cassette of the case, the
// simulator, the provider, or a handler that refuses all traffic.
func (c *capture) openSource(recordings fs.FS, live *liveSource) (http.Handler, error) {
	redactor := newRedactor()
	switch {
	case !c.Case.HasTraffic():
		return noTraffic{c, redactor}, nil
	case c.Source == evidence.SourceSimulator:
		upstream := simulator.Transport(c.newScript(time.Now))
		c.steps = &stepRecorder{capture: c, config: record.Config{Transport: upstream, Redactor: redactor}}
		return c.steps, nil
	case c.Source == evidence.SourceLive && live != nil:
		var err error
		if c.live, err = live.openRecording(c.Permutation, c.runningStep); err != nil {
			return nil, err
		}
		c.steps = &stepRecorder{capture: c, config: c.live.config}
		return live.admitRequests(c.Permutation, c.steps), nil
	case c.Source != evidence.SourceCassette:
		return nil, fmt.Errorf("source %s: cannot answer an agent; use cassette, simulator or live", c.Source)
	}
	c.cassettePath = c.Case.CassettePath()
	recording, err := cassette.OpenFS(recordings, c.cassettePath)
	if err != nil {
		return nil, fmt.Errorf("%w; record it with: make cassettes", err)
	}
	c.replayer, err = replay.New(replay.Config{Cassette: recording, Redactor: redactor, Observe: c.observe,
		Log: c.note})
	return c.replayer, err
}

func (c *capture) beginStep(n int) {
	if !c.steps.beginStep() {
		c.note(fmt.Sprintf("a request of step %d was still open %v after the step", n-1, openTimeout))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.currentStep = n
}

// runningStep is the ordinal of the step that runs.
func (c *capture) runningStep() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.currentStep
}

func (c *capture) note(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, line)
}

// noteLimit keeps that a step was ended because the case took too long or too many requests.
// Nothing else is said about that step: how its process was ended is not the agent's doing.
func (c *capture) noteLimit(step int, ended error, limit time.Duration, stderr []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := "having sent no request"
	if n := c.requestsByStep[step]; n > 0 {
		sent = "having sent " + countOf(n, "request", "requests")
	}
	c.endedStep = step
	why := fmt.Sprintf("at the case's time limit of %v, %s; give slow agents more with --case-timeout", limit, sent)
	if errors.Is(ended, errCircles) {
		why = fmt.Sprintf("after %d requests, %d more than its scenario has turns: %v; see its last requests with --report html=FILE",
			c.requests-1, maxExtraRequests, errCircles)
	}
	c.notes = append(c.notes, fmt.Sprintf("step %d was ended %s%s", step, why, said(stderr)))
}

// keepNotice keeps what the proxy did not let through.
func (c *capture) keepNotice(n proxy.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = append(c.notices, n)
}

// noteMismatch notes a request that the scenario does not expect.
func (c *capture) noteMismatch(m *script.Mismatch) {
	if !m.NoTools {
		c.note(m.Error())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lacksTools = true
}

// noteSent keeps that a turn of the scenario was sent.
func (c *capture) noteSent(t specs.Turn) {
	c.mu.Lock()
	c.sentTurns[t.Line] = c.sentTurns[t.Line] || t.Cut == nil && t.Fail == nil && t.Stall == nil
	c.mu.Unlock()
	c.interrupt.noteSent(t)
}

func (c *capture) observe(in cassette.Interaction, missed bool) {
	r := c.live
	if r != nil && in.Response.Status >= 200 && in.Response.Status < 300 {
		r.isAnswered.Store(true)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed = append(c.passed, passedExchange{in, c.currentStep, missed})
}

// inOrder returns what passed in the order in which it was asked for. A recorder reports an
// exchange when it ends, and that a client has left a stalled reply may be seen after the end
// of the reply to its next attempt. The caller holds mu.
func (c *capture) inOrder() []passedExchange {
	return slices.SortedStableFunc(slices.Values(c.passed),
		func(a, b passedExchange) int { return a.Started.Compare(b.Started) })
}

// interactionsOf returns list without what the capture knows of it.
func interactionsOf(list []passedExchange) (out []cassette.Interaction) {
	for _, p := range list {
		out = append(out, p.Interaction)
	}
	return out
}

// finish turns what passed into evidence and lists what deviated from the
// scenario.
func (c *capture) finish(processes []evidence.Process) (*evidence.Evidence, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := c.inOrder()
	ev, skipped := evidence.FromInteractions(c.Name(), c.Source, interactionsOf(passed))
	var processOf []int
	ev.Process, processOf = joinSteps(c.Case.Scenario.Steps, processes)
	for i := range ev.Exchanges {
		p := passed[ev.Exchanges[i].Index]
		ev.Exchanges[i].Process, ev.Exchanges[i].Missed = processOf[p.step], p.missed
	}
	ev.Side, ev.PromisesExit, ev.Limits = c.about.Side, c.about.PromisesExit, c.Case.Scenario.Limits
	deviations := slices.Clone(c.notes)
	if c.hasToolLog {
		odd, runs := compareToolRuns(&ev, c.toolRuns)
		deviations = append(deviations, odd...)
		if !slices.ContainsFunc(c.Case.Scenario.Steps, func(s specs.Step) bool { return s.Kill }) {
			ev.ToolRuns = runs
		}
	}
	if c.live != nil {
		deviations = append(deviations, refusals(&ev)...)
	}
	for _, s := range skipped {
		if !c.about.HoldsAll {
			continue // agents ask their vendors for settings and updates as well
		}
		deviations = append(deviations, fmt.Sprintf("request %d, %s, is not judged: %s", s.Exchange, s.What, s.Reason))
	}
	for i, step := range c.Case.Steps(c.seed) {
		if i == c.endedStep {
			break // that step has its note, and no later one ran
		}
		deviation := c.stepDeviation(i, step, processes)
		if deviation == "" && c.Case.Scenario.IsLenient && !step.Turn {
			deviation = c.turnDeviation(i, processes[i].ExitCode)
		}
		if deviation != "" {
			deviations = append(deviations, deviation)
		}
	}
	if len(deviations) == 0 {
		deviations = c.unfinished(&ev)
	}
	return &ev, deviations
}

// joinSteps puts the ends of steps that one process ran together, and returns the
// process of each step. A process ended as its last step did.
func joinSteps(steps []specs.Step, ends []evidence.Process) (processes []evidence.Process, processOf []int) {
	at := -1
	for _, step := range steps {
		if !step.Turn {
			at++
		}
		processOf = append(processOf, at)
	}
	for i, end := range ends {
		at := processOf[i]
		if at == len(processes) {
			processes = append(processes, end)
			continue
		}
		joined := &processes[at]
		joined.ExitCode, joined.Remark = end.ExitCode, end.Remark
		joined.Stdout, joined.Stderr = slices.Concat(joined.Stdout, end.Stdout),
			slices.Concat(joined.Stderr, end.Stderr)
	}
	return processes, processOf
}

// unfinished says that an agent stopped before the script was at its end.
func (c *capture) unfinished(ev *evidence.Evidence) []string {
	switch {
	case c.replayer != nil:
		if n := c.replayer.Receipt().Unused; n > 0 {
			return []string{fmt.Sprintf("%d recorded replies were never asked for", n)}
		}
	case c.steps != nil && len(ev.Exchanges) > 0 && !c.Case.Scenario.IsLenient && !c.endsInFailure():
		last := ev.Exchanges[len(ev.Exchanges)-1]
		reply := last.ReadReply()
		if slices.ContainsFunc(reply.Items, func(it wire.Item) bool { return it.What == wire.Call }) {
			return []string{"the model's last calls were never answered"}
		}
	}
	return nil
}

// endsInFailure reports whether the agent is to give up in the last step. A call that
// was cut off is rightly not answered there.
func (c *capture) endsInFailure() bool {
	steps := c.Case.Steps(c.seed)
	return len(steps) > 0 && steps[len(steps)-1].Exit != specs.ExitOK
}

// stepDeviation says how step i did not end as scripted, "" when it did.
func (c *capture) stepDeviation(i int, step Step, processes []evidence.Process) string {
	if i >= len(processes) {
		return fmt.Sprintf("step %d did not run", i)
	}
	step.Exit = c.acceptedExit(step.Exit)
	why := cmp.Or(step.exitDeviation(processes[i].Remark, processes[i].ExitCode, c.requestsByStep[i]),
		step.outputDeviation(processes[i].Stdout))
	if why == "" {
		return ""
	}
	return fmt.Sprintf("step %d %s%s", i, why, said(processes[i].Stderr))
}

// acceptedExit is how a step may end. An agent that does not hold all may ask again
// where the provider fails, and may say in its own way that it has failed.
func (c *capture) acceptedExit(exit specs.Exit) specs.Exit {
	fails := func(t specs.Turn) bool { return t.Cut != nil || t.Fail != nil || t.Stall != nil || t.Refuse != nil }
	if !c.about.HoldsAll && (exit == specs.ExitError || slices.ContainsFunc(c.Case.Scenario.Turns, fails)) {
		return specs.ExitAny
	}
	return exit
}
