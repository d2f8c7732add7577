package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

// CaseRun is what one run of a case brought home. It is plain data.
type CaseRun struct {
	Permutation
	// Name is the name of the permutation.
	Name string
	// Evidence is what the agent sent and got, and how its processes ended. It is
	// nil when Err is set before the first step.
	Evidence *evidence.Evidence
	// Cassette is the path of the cassette that answered, or in which a live case was
	// kept; "" when there is none.
	Cassette string
	// Shortfall says why a provider's model did not get as far as the case asks, through
	// no fault of the agent. Nothing then passes.
	Shortfall string
	// Deviations lists what did not go as scripted. The evidence then ends early.
	Deviations []string
	// Notices say what the proxy did not let through: hosts that are not a provider's,
	// clients that do not trust its certificate.
	Notices []proxy.Notice
	// Effects are what the agent did beside its conversation: processes that it left
	// behind, files outside its folders.
	Effects []string
	// NotApplicable says why nothing can be said about the agent in this case, ""
	// when something can.
	NotApplicable string
	// Calls are the calls of the agent to a model; [Run] counts them.
	Calls report.Calls
	// Err is a fault of the harness: nothing can be said about the agent.
	Err error
	// Unsupported is why the agent cannot run the case, as it said itself. Nothing is
	// judged then.
	Unsupported string
	// Took is how long the run lasted.
	Took time.Duration
}

// Run runs p once. What goes wrong is in the result. A real model that did not do what
// it was asked to do is asked once more, from the start.
func (r *Runner) Run(ctx context.Context, p Permutation) CaseRun {
	if err := r.guard.trippedErr(); err != nil {
		return CaseRun{Permutation: p, Name: p.Name(), Err: err}
	}
	ctx, release := r.guard.attachContext(ctx)
	defer release()
	run, again := r.runOnce(ctx, p)
	if again && ctx.Err() == nil {
		if run, again = r.runOnce(ctx, p); again {
			run.Shortfall += "; it was asked twice"
		}
	}
	if err := r.guard.trippedErr(); err != nil {
		run.Err = err
	}
	return run
}

// runOnce reports also whether another try may help.
func (r *Runner) runOnce(ctx context.Context, p Permutation) (run CaseRun, again bool) {
	began := time.Now()
	capture := newCapture(p, r.seedOf(p.Source), r.Subject.About())
	run.Permutation, run.Name = p, p.Name()
	defer func() {
		if cause := recover(); cause != nil {
			run.Err = fmt.Errorf("%s: the harness panicked: %v", p.Name(), cause)
		}
		run.Took = time.Since(began)
	}()
	upstream, err := capture.openSource(r.Cassettes, r.live)
	if err != nil {
		run.Err = err
		return run, false
	}
	processes, err := r.runSteps(ctx, p, capture.countRequests(upstream), capture)
	if unsupported := (*UnsupportedError)(nil); errors.As(err, &unsupported) {
		run.Unsupported, err = unsupported.Reason, nil
	}
	run.Err = errors.Join(err, capture.steps.close())
	run.Evidence, run.Deviations = capture.finish(processes)
	run.Evidence.Prices = r.Prices
	if run.Unsupported == "" {
		run.Unsupported = calledElsewhere(p.Case.Target.Provider, run.Evidence)
	}
	if run.NotApplicable = capture.missingTools(); run.NotApplicable != "" {
		run.Deviations = []string{run.NotApplicable}
	}
	run.Cassette, run.Notices, run.Effects = capture.cassettePath, capture.notices, capture.effects
	if capture.live == nil {
		return run, false
	}
	short := liveShortfall(run.Evidence, p.Case.Steps(capture.seed), capture.about.Tools)
	run.Shortfall = short.reason
	run.Cassette, err = capture.live.close()
	run.Err = errors.Join(run.Err, err)
	return run, short.isModels
}

// Summary is what a report says of the run beside its results.
func (run CaseRun) Summary(results []report.Result) report.CaseSummary {
	s := run.caseSummary()
	facts := decide.CaseFacts{NotRun: run.Unsupported != "", Deviated: len(run.Deviations) > 0 || run.Shortfall != ""}
	for _, result := range results {
		facts.Results = append(facts.Results, result.Verdict)
	}
	hasFailed := slices.Contains(facts.Results, report.Fail)
	switch s.Reason = run.Unsupported; {
	case run.Unsupported != "":
	case run.NotApplicable != "" && !hasFailed:
		s.Reason, facts.NotRun = run.NotApplicable, true
	case run.Shortfall != "":
		s.Deviations = append([]string{run.Shortfall}, run.Deviations...)
	default:
		s.Deviations = run.Deviations
	}
	if run.Unsupported == "" {
		s.DurationMS, s.Effects = run.Took.Milliseconds(), run.Effects
	}
	s.Verdict = decide.Case(facts)
	return s
}

// Hosts are the foreign hosts that the agent tried to reach.
func (run CaseRun) Hosts() []report.Host {
	var hosts []report.Host
	for _, n := range run.Notices {
		if n.Kind == proxy.Refused && n.Host != "" {
			hosts = report.AddHosts(hosts, report.Host{Name: n.Host, Attempts: 1})
		}
	}
	return hosts
}

// stepRecorder passes requests on through a recorder that reports to the capture. It
// uses one recorder for each step, so that everything a step caused is known before the
// next one begins. The methods of a nil stepRecorder do nothing.
type stepRecorder struct {
	capture *capture
	config  record.Config // of the recorders
	entry   http.Handler  // what a request passes on its way here, as messages of WebSockets do

	mu       sync.RWMutex // requests hold it for reading
	recorder *record.Recorder
	faults   []error
}

// ServeHTTP passes a request on. A WebSocket may stay open over several steps; each of its
// messages is a request of the step in which it comes.
func (s *stepRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	release := sync.OnceFunc(s.mu.RUnlock)
	defer release()
	switch {
	case s.recorder == nil:
		panic(http.ErrAbortHandler) // no step runs
	case websocket.IsUpgrade(r):
		s.recorder.ServeWebSocket(w, r, func() http.Handler {
			release()
			return s.entry
		})
	default:
		s.recorder.ServeHTTP(w, r)
	}
}

// openTimeout is how long the requests of a step may stay open after it. An agent
// that called a prompt off hangs up at once.
const openTimeout = 5 * time.Second

// beginStep waits for the requests of the previous step and begins the next. It
// returns false when a request stays open; the steps then share a recorder.
func (s *stepRecorder) beginStep() bool {
	if s == nil {
		return true
	}
	if !s.lockWhenIdle() {
		return false
	}
	defer s.mu.Unlock()
	s.closeRecorder()
	var err error
	config := s.config
	config.Observe, config.Note = s.observe, s.noteRequest
	if s.recorder, err = record.New(config); err != nil {
		s.faults = append(s.faults, err)
	}
	return true
}

// lockWhenIdle takes mu when no request runs. It does not keep others waiting, as
// Lock would: the agent of a request that stays open may ask again.
func (s *stepRecorder) lockWhenIdle() bool {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); waited < openTimeout; waited += pause {
		if s.mu.TryLock() {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// close ends the last step and returns what went wrong in the harness.
func (s *stepRecorder) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRecorder()
	return errors.Join(s.faults...)
}

// noteRequest adds to what the configuration notes of a request when it came, and the
// WebSocket that it came by.
func (s *stepRecorder) noteRequest(r *http.Request, in *cassette.Interaction) {
	if s.config.Note != nil {
		s.config.Note(r, in)
	}
	in.Started = time.Now()
	in.WebSocket = s.capture.sockets.Of(r.Context())
}

func (s *stepRecorder) observe(in cassette.Interaction) { s.capture.observe(in, false) }

// closeRecorder makes the recorder report everything it still has. The caller
// holds mu.
func (s *stepRecorder) closeRecorder() {
	if s.recorder == nil {
		return
	}
	report := s.recorder.Close()
	for _, lost := range append(report.Lost, report.Refused...) {
		s.capture.note(lost)
	}
	s.recorder = nil
}

// turnDeviation says which turn of a step the agent never asked for, "" when it asked
// for all of them. Behind a fault it may stop, but then it must not end well. It may also
// give up in a step that may fail, and after a call that cannot be read.
func (c *capture) turnDeviation(step, exitCode int) string {
	scenario := c.Case.Scenario
	turns := scenario.StepTurns(step)
	for i, at := range turns {
		turn := scenario.Turns[at]
		whole, sent := c.sentTurns[turn.Line]
		switch {
		case whole:
		case turn.IsFault() && exitCode != 0 || scenario.Steps[step].Interrupt:
			return ""
		case turn.IsFault():
			return fmt.Sprintf("step %d exited 0, but the reply of turn %d never arrived whole", step, at+1)
		case !sent && i > 0 && (exitCode != 0 && scenario.Steps[step].Exit != specs.ExitOK ||
			hasUnreadableCall(scenario.Turns[at-1])):
			return ""
		case !sent:
			return fmt.Sprintf("step %d never asked for turn %d: %s", step, at+1, c.whyNotAsked(step))
		}
	}
	return ""
}

// hasUnreadableCall reports whether a turn has a call whose arguments end in the middle.
func hasUnreadableCall(turn specs.Turn) bool {
	return slices.ContainsFunc(turn.Emit, func(b specs.Block) bool { return b.Partial })
}

// whyNotAsked says why the requests of a step asked for no turn. The caller holds mu.
func (c *capture) whyNotAsked(step int) string {
	for _, in := range c.passed {
		if in.step != step {
			continue
		}
		q := wire.ReadRequest(c.Case.Target.Provider, in.Request.Method, in.Request.URL, in.Request.Body)
		if n := len(q.Items); q.Op == wire.Generate && n > 0 && q.Items[n-1].Model() {
			what := "a message of the model"
			if last := q.Items[n-1]; last.What == wire.Text && last.Text == "" {
				what = "an empty message of the model"
			}
			return fmt.Sprintf("the last message of its request is %s, so the model is asked to go on with that and not to answer the prompt", what)
		}
	}
	return "the agent did not go on with the conversation in which the prompt stands"
}

// missingTools says why nothing can be said about an agent that has no tool, "" for any
// other.
func (c *capture) missingTools() string {
	if !c.lacksTools || c.sentCall() {
		return ""
	}
	return "the agent offers no tool that can be called"
}

// calledElsewhere says why nothing can be said about an agent that called other providers
// than that of the case, "" for any other.
func calledElsewhere(provider string, ev *evidence.Evidence) string {
	called := ev.Providers()
	if len(called) == 0 || slices.Contains(called, provider) {
		return ""
	}
	return fmt.Sprintf("the agent calls %s and not %s; lead it there with --env or a profile, or leave --provider %s out", strings.Join(called, ", "), provider, provider)
}

// sentCall reports whether a turn with a call was sent.
func (c *capture) sentCall() bool {
	for _, turn := range c.Case.Scenario.Turns {
		if _, sent := c.sentTurns[turn.Line]; !sent {
			continue
		}
		for _, block := range turn.Emit {
			if block.Role != "" {
				return true
			}
		}
	}
	return false
}
