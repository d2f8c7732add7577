package play

import (
	"fmt"
	"io/fs"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
)

// Recorded returns the evidence of an agent that plays p as it was recorded:
// the exchanges of the cassette in tapes, and processes that end as the
// scenario says. Nothing is run; the referee tests itself with it.
func Recorded(p scenario.Play, tapes fs.FS) (evidence.Evidence, error) {
	var passed []cassette.Interaction
	if !p.Silent() {
		tape, err := cassette.OpenFS(tapes, p.Cassette())
		if err != nil {
			return evidence.Evidence{}, err
		}
		for in, err := range tape.All() {
			if err != nil {
				return evidence.Evidence{}, err
			}
			passed = append(passed, in)
		}
	}
	ev, skipped := evidence.FromInteractions(p.Name(), evidence.SourceCassette, passed)
	if len(skipped) > 0 {
		return ev, fmt.Errorf("%s: request %d is not judged: %s", p.Cassette(), skipped[0].Exchange, skipped[0].Reason)
	}
	for _, step := range p.Steps() {
		ev.Process = append(ev.Process, ended(step))
	}
	for i := range ev.Exchanges {
		ev.Exchanges[i].Process = min(max(0, prompts(&ev.Exchanges[i])-1), len(ev.Process)-1)
	}
	return ev, nil
}

// ended is the process of a step that went as scripted.
func ended(step scenario.Step) evidence.Process {
	const session = "00000000-0000-7000-8000-000000000000"
	p := evidence.Process{Args: arguments(step, session, nil), Stdout: []byte(step.Says), Resumed: step.Resume}
	switch step.Exit {
	case specs.ExitError:
		p.ExitCode, p.Stderr = 69, []byte("rkat: the reply did not arrive in full\n")
	case specs.ExitUnsupported:
		p.ExitCode, p.Stderr = 77, fmt.Appendf(nil, "rkat: model %s: not supported\n", step.Model)
	default: // ExitOK says nothing
	}
	return p
}

// prompts counts the messages in which the user says something. Every step of
// a scenario brings one.
func prompts(x *evidence.Exchange) int {
	said := map[int]bool{}
	for _, it := range wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body).Items {
		if it.Role == "user" && it.What == wire.Text {
			said[it.Msg] = true
		}
	}
	return len(said)
}
