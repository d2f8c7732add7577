package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/specs"
)

// Config says what a [Runner] runs. Subject is mandatory.
type Config struct {
	// Subject is the agent under test.
	Subject Subject
	// Cassettes holds the recordings by [Case.CassettePath]. Nil: the committed ones.
	Cassettes fs.FS
	// Seed is that of the nonces, ids and tokens where the simulator answers. "" is
	// the one of the committed cassettes.
	Seed string
	// CaseTimeout bounds one case. 0: [DefaultCaseTimeout].
	CaseTimeout time.Duration
	// Path is the PATH of the agent's processes. "": the harness's own.
	Path string
	// Live says how the providers are asked. Nil: they are not.
	Live *Live
	// Secrets are the user's own credentials. An agent that sends one ends the run.
	Secrets []string
	// Tools is the command that starts our tool server. Nil: agents get none.
	Tools []string
	// Alter, if not nil, changes the first request of each case that it can change, before
	// anything else sees it: with it the self-test of the referee runs a defective agent.
	Alter Alteration
	// Prices, if not nil, are the user's: findings about a cache say what the loss costs.
	Prices *specs.Prices
	// RefuseWebSockets makes agents go on over HTTP. Else the WebSockets of OpenAI's
	// Responses API are judged where the simulator answers: each message is an exchange.
	RefuseWebSockets bool
	// WorkDir is the folder of which the agent starts in a copy or, with InPlace, in which it
	// starts itself; then one case must run after the other. "": an empty folder.
	WorkDir string
	InPlace bool
	// Isolation is how far the agent's processes are kept apart, see
	// [isolate.Detect]. The zero value leaves the network open to them.
	Isolation isolate.Level
}

// DefaultCaseTimeout is how long a case may take.
const DefaultCaseTimeout = 2 * time.Minute

// Runner runs cases: it holds the agent, the proxy's certificate authority and
// the cassettes. It is safe for concurrent use. Close it when no case runs.
type Runner struct {
	Config
	authority *ca.Authority
	dir       string
	trustFile string // holds the certificate of the authority
	guard     *guard
	live      *liveSource // nil where no provider is asked
}

// NewRunner makes a runner with a certificate authority of its own.
func NewRunner(c Config) (*Runner, error) {
	if _, started := os.LookupEnv(runAsVariable); started {
		return nil,
			errors.New("runner: this process was started as the agent under test; its program must call harness.RunIfSubject first")
	}
	if c.Cassettes == nil {
		c.Cassettes = cassettes.FS
	}
	c.Seed = cmp.Or(c.Seed, committedSeed)
	c.CaseTimeout = cmp.Or(c.CaseTimeout, DefaultCaseTimeout)
	c.Path = cmp.Or(c.Path, os.Getenv("PATH"))
	secrets := slices.Clone(c.Secrets)
	if c.Live != nil {
		secrets = slices.AppendSeq(secrets, maps.Values(c.Live.Keys))
	}
	guard := newGuard(secrets)
	live, err := newLiveSource(c.Live, guard)
	if err != nil {
		return nil, err
	}
	hosts, err := proxy.Hosts(nil)
	if err != nil {
		return nil, err
	}
	authority, err := ca.New(hosts, time.Now())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "conform-run-")
	if err != nil {
		return nil, fmt.Errorf("%s: holds no folders for the run: %w; set TMPDIR to a folder that can be written",
			os.TempDir(), fileutil.Reason(err))
	}
	r := &Runner{Config: c, authority: authority, dir: dir, trustFile: filepath.Join(dir, "authority.pem"),
		guard: guard, live: live}
	if err := os.WriteFile(r.trustFile, authority.PEM(), 0o600); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: cannot be written: %w; set TMPDIR to a folder with room", r.trustFile,
			fileutil.Reason(err))
	}
	return r, nil
}

// Close removes what the runner and its cases left on disk. No case may be
// running.
func (r *Runner) Close() { _ = os.RemoveAll(r.dir) }

// Tripped is the guard that ended the run, nil while none has: no case runs any more
// after it.
func (r *Runner) Tripped() error { return r.guard.trippedErr() }

// Spent is what live cases have cost so far, nil where no provider is asked.
func (r *Runner) Spent() *Spent {
	if r.live == nil {
		return nil
	}
	total := r.live.account.totalSpent()
	return &total
}

// seedOf is the seed with a source.
func (r *Runner) seedOf(source evidence.Source) string {
	if source == evidence.SourceCassette {
		return committedSeed
	}
	return r.Seed
}

// closeTimeout bounds how long a case waits for requests that its processes left
// open.
const closeTimeout = 5 * time.Second

// runSteps runs the steps of p in a fresh room with upstream behind the proxy. kept
// gets the ordinal of each step before it starts and the proxy's notices. It returns
// the processes that ran; a step that does not end as scripted does not keep the next
// one from running.
func (r *Runner) runSteps(ctx context.Context, p Permutation, upstream http.Handler,
	kept *capture) ([]evidence.Process, error) {
	return r.inRoom(ctx, p, upstream, kept, func(ctx context.Context, room Room) ([]evidence.Process, error) {
		return r.runStepsInRoom(ctx, room, kept)
	})
}

// inRoom does something in a fresh room with upstream behind the proxy.
func (r *Runner) inRoom(ctx context.Context, p Permutation, upstream http.Handler, kept *capture,
	do func(context.Context, Room) ([]evidence.Process, error)) ([]evidence.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, r.CaseTimeout)
	defer cancel()
	ctx, kept.endCase = context.WithCancelCause(ctx)
	room, err := r.furnishRoom(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		kept.toolRuns, kept.hasToolLog = readToolLog(room.Tools.Log)
		kept.effects = room.clearRoom()
	}()
	listener, err := room.Sandbox.Listen()
	if err != nil {
		return nil, err
	}
	handler := r.guard.checkKeys(p.Name(), alterRequests(r.Alter, kept, upstream))
	ingress, err := proxy.New(proxy.Config{CA: r.authority, Listener: listener, Handler: handler,
		Ingress: []string{p.wayIn()}, Notice: kept.keepNotice,
		WebSocket: kept.admitWebSockets(r.RefuseWebSockets, handler)})
	if err != nil {
		return nil, err
	}
	if err := ingress.Start(); err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = ingress.Close(ctx) // cuts what is still open
	}()
	r.connectRoom(&room, ingress)
	if err := writePromptFiles(p.Case.Scenario, room.Work); err != nil {
		return nil, err
	}
	return do(ctx, room)
}

func (r *Runner) runStepsInRoom(ctx context.Context, room Room, kept *capture) (_ []evidence.Process, err error) {
	session, err := r.Subject.Open(ctx, room)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kept.Name(), err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return runScriptedSteps(ctx, session, room.Work, r.CaseTimeout, kept)
}

// runScriptedSteps runs the steps in order. work is the folder in which the agent starts, limit
// the time limit of ctx, for messages.
func runScriptedSteps(ctx context.Context, session Session, work string, limit time.Duration,
	kept *capture) ([]evidence.Process, error) {
	var processes []evidence.Process
	for i, step := range kept.Case.Steps(kept.seed) {
		kept.beginStep(i)
		scripted := kept.Case.Scenario.Steps[i]
		endsEarly := scripted.Interrupt || scripted.Kill
		switch {
		case scripted.Interrupt:
			step.Interrupt = kept.interrupt.armStep()
		case scripted.Kill:
			step.Kill = kept.interrupt.armStep()
		}
		if scripted.Image {
			step.Attached = append(step.Attached, filepath.Join(work, promptImage))
		}
		switch scripted.Attach {
		case specs.AttachDocument:
			step.Attached = append(step.Attached, filepath.Join(work, promptDocument))
		case specs.AttachAddress:
			step.Attached = append(step.Attached, imageAddress)
		}
		step.OutputSchema = filepath.Join(work, answerSchema)
		process, err := session.RunStep(ctx, step)
		if endsEarly && !kept.interrupt.disarmStep() {
			kept.note(fmt.Sprintf("step %d ended before it was interrupted", i))
		}
		if ended := context.Cause(ctx); errors.Is(ended, context.DeadlineExceeded) || errors.Is(ended, errCircles) {
			kept.noteLimit(i, ended, limit, process.Stderr)
			return append(processes, process), nil
		}
		if err != nil {
			return processes, fmt.Errorf("%s: step %d: %w", kept.Name(), i, err)
		}
		process.Resumed = step.Resume
		processes = append(processes, process)
	}
	return processes, nil
}
