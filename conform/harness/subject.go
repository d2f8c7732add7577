// Package harness runs an agent through the scenarios of package specs and
// judges what it sent. It is what `conform run` and the Ginkgo suites share: both
// get the same verdicts, because both call this package.
//
// Start with these types:
//
//   - [Subject] is the agent under test. [InProcess] and [Executable] run rkat;
//     any other agent implements the interface.
//   - [Case] is one scenario with one provider, [CaseRun] is what running it
//     brought home: the evidence, and where the run deviated from the scenario.
//   - [Runner] runs one case at a time for a caller that decides when; [Run] runs
//     every case that a filter selects, in parallel, and judges all of them.
//
// A program that runs the whole set against its own agent:
//
//	found, err := harness.Run(ctx, harness.Options{
//		Subject: mySubject,
//		Sources: []evidence.Source{evidence.SourceSimulator},
//		Filter:  "SIG && anthropic",
//	})
//	report.NewRun(report.Run{Set: report.NewSet("mine", found.Requirements), Expected: found.Expected}, found.Results)
//
// The agent runs behind the intercepting proxy with made-up keys and folders of
// its own, so it needs neither a key nor a network. Replies come from a committed
// cassette or from the strict simulator. Results are plain data. An error of the
// harness itself is never blamed on the agent: it is reported as such.
//
// The package imports the proxy and the simulator, but nothing of the agent and
// no test framework.
package harness

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Subject is an agent under test. Implementations are safe for concurrent use.
type Subject interface {
	// About says what the agent is and what the harness can do with it.
	About() About
	// Open prepares the agent for one case. No request is sent yet. The error is one
	// of the harness: nothing can be said about the agent.
	Open(ctx context.Context, room Room) (Session, error)
}

// Session is an agent in one case. Its methods are called one after the other.
type Session interface {
	// RunStep runs one step. An error means that the agent could not be run at all; an
	// agent that fails returns a process with its exit code.
	RunStep(ctx context.Context, step Step) (evidence.Process, error)
	// Close ends what is still running. No step runs any more.
	Close() error
}

// UnsupportedError is returned by RunStep when the agent says that it does not support
// what the case asks for. The case is then not applicable.
type UnsupportedError struct{ Reason string }

// Error returns the reason.
func (e *UnsupportedError) Error() string { return e.Reason }

// About describes an agent. It is plain data and read-only.
type About struct {
	report.Subject
	// Abilities are what can be done with the agent beyond one prompt.
	Abilities []specs.Ability
	// Providers are those that it can be run with. Nil: all.
	Providers []string
	// Ingress are the ways in that work. Nil: all.
	Ingress []string
	// Unsupported gives reasons by patterns of case names, see [path.Match]; a
	// pattern without a slash is of scenario names. Such cases are not run.
	Unsupported map[string]string
	// Tools are the agent's own tools by role of the scenarios, for where it is not
	// given ours.
	Tools map[string]string
	// Side matches the system prompt or last prompt of requests that are not part of the
	// main conversation, see [evidence.Evidence].
	Side []*regexp.Regexp
	// PromisesExit says that the agent exits 0 only after an answer, see [evidence.Evidence].
	PromisesExit bool
	// HoldsAll says that each case must show every requirement that it was written
	// to show. Of other agents, what is not seen is counted and nothing more.
	HoldsAll bool
}

// Can reports whether the agent has an ability.
func (a About) Can(ability specs.Ability) bool { return slices.Contains(a.Abilities, ability) }

// Level is how far the agent can be controlled: the highest of L1 tools, L2 resume, L3
// turns and L4 interrupt up to which it has every ability.
func (a About) Level() string {
	level := 0
	for _, ability := range []specs.Ability{specs.AbilityTools, specs.AbilityResume, specs.AbilityTurns,
		specs.AbilityInterrupt} {
		if !a.Can(ability) {
			break
		}
		level++
	}
	return fmt.Sprintf("L%d", level)
}

// Room is what an agent gets for one case: folders that hold nothing of another case
// or of the user, and the addresses to use. It is read-only.
type Room struct {
	Case    Case
	Ingress string // proxy.MITM or proxy.BaseURL
	// Home, Work and Temp are folders; the agent starts in Work.
	Home, Work, Temp string
	// Env is the whole environment of the agent: PATH of the user, the folders, the
	// proxy or the base URLs, the authority to trust, made-up keys.
	Env []string
	// ProxyURL is the value of HTTPS_PROXY, "" unless Ingress is proxy.MITM.
	ProxyURL string
	// BaseURL are the addresses that stand for the providers, by provider; nil unless
	// Ingress is proxy.BaseURL.
	BaseURL map[string]string
	// CAFile holds the certificate of the authority that signs for the providers.
	CAFile string
	// Tools is our tool server.
	Tools ToolServer
	// Sandbox starts the processes of the agent.
	Sandbox *isolate.Sandbox
	// Model, Effort and System are what the case asks for, possibly "".
	Model, Effort, System string
	// MaxTurns is how many replies a process may ask for; 0: any number.
	MaxTurns int
}

// Environment returns the whole environment of an agent in a room. The room in which an agent
// is started before any case, to learn what it is, has no case. Nil: that of the room.
type Environment func(Room) ([]string, error)

// In returns the environment in a room.
func (e Environment) In(room Room) ([]string, error) {
	if e == nil {
		return room.Env, nil
	}
	return e(room)
}

// FirstRoom returns a room in which an agent is started before any case, to learn what it is: with one
// folder, no way to a provider and no keys but made-up ones. What is returned last closes the room.
func (e Environment) FirstRoom(level isolate.Level, path string) (room Room, closeRoom func(), err error) {
	dir, err := os.MkdirTemp("", "conform-first-")
	if err != nil {
		return Room{}, nil, err
	}
	room = Room{Home: dir, Work: dir, Temp: dir, Ingress: proxy.BaseURL}
	if room.Sandbox, err = isolate.New(isolate.Config{Level: level, Dir: dir}); err != nil {
		removeFolder(dir)
		return Room{}, nil, err
	}
	closeRoom = func() { room.Sandbox.Close(); removeFolder(dir) }
	room.Env = room.environment(path)
	if room.Env, err = e.In(room); err != nil {
		closeRoom()
	}
	return room, closeRoom, err
}

// RecordedEvidence returns the evidence of an agent that does everything as it
// was recorded: the exchanges of the cassette of c in recordings, and processes
// that end as the scenario says. Nothing is run. The referee tests itself with
// it.
func RecordedEvidence(c Case, recordings fs.FS) (evidence.Evidence, error) {
	var interactions []cassette.Interaction
	if c.HasTraffic() {
		recording, err := cassette.OpenFS(recordings, c.CassettePath())
		if err != nil {
			return evidence.Evidence{}, err
		}
		for in, err := range recording.All() {
			if err != nil {
				return evidence.Evidence{}, err
			}
			interactions = append(interactions, in)
		}
	}
	ev, skipped := evidence.FromInteractions(c.Name(), evidence.SourceCassette, interactions)
	if len(skipped) > 0 {
		return ev, fmt.Errorf("%s: request %d is not judged: %s", c.CassettePath(), skipped[0].Exchange,
			skipped[0].Reason)
	}
	ev.Limits = c.Scenario.Limits
	for _, step := range c.Steps(committedSeed) {
		p := expectedProcess(step)
		if w := wires.Find(c.Target.Provider); w != nil && w.Scripts.ByClient {
			p.Args = clientArguments(step)
		}
		ev.Process = append(ev.Process, p)
	}
	for i := range ev.Exchanges {
		// Every step of a scenario brings one message in which the user says something.
		x := &ev.Exchanges[i]
		messages := map[int]bool{}
		for _, it := range x.ReadRequest().Items {
			if it.Role == "user" && it.What == wire.Text {
				messages[it.Msg] = true
			}
		}
		x.Process = min(max(0, len(messages)-1), len(ev.Process)-1)
	}
	return ev, nil
}

// expectedProcess is the process of a step that went as scripted.
func expectedProcess(step Step) evidence.Process {
	const session = "00000000-0000-7000-8000-000000000000"
	p := evidence.Process{Args: rkatArguments(step, session, ""), Stdout: []byte(step.Says), Resumed: step.Resume}
	switch step.Exit {
	case specs.ExitError:
		p.ExitCode, p.Stderr = 69, []byte("rkat: the reply did not arrive in full\n")
	case specs.ExitUnsupported:
		p.ExitCode, p.Stderr = 77, fmt.Appendf(nil, "rkat: model %s: not supported\n", step.Model)
	default: // ExitOK has nothing to say
	}
	return p
}

// admitWebSockets decides on the WebSockets of the case. Where they are admitted, entry
// answers each of their messages. Only the simulator speaks them: a live run could not
// count the cost of a message before it is sent.
func (c *capture) admitWebSockets(refuse bool, entry http.Handler) func(*http.Request) bool {
	if refuse || c.steps == nil || c.Source != evidence.SourceSimulator {
		return nil
	}
	c.steps.entry = entry
	return func(*http.Request) bool { return true }
}
