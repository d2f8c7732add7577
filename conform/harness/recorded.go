package harness

import (
	"fmt"
	"io/fs"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

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
		return ev, fmt.Errorf("%s: request %d is not judged: %s", c.CassettePath(), skipped[0].Exchange, skipped[0].Reason)
	}
	ev.Limits = c.Scenario.Limits
	for _, step := range c.Steps(committedSeed) {
		ev.Process = append(ev.Process, expectedProcess(step))
	}
	for i := range ev.Exchanges {
		ev.Exchanges[i].Process = min(max(0, countPrompts(&ev.Exchanges[i])-1), len(ev.Process)-1)
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

// countPrompts counts the messages in which the user says something. Every step
// of a scenario brings one.
func countPrompts(x *evidence.Exchange) int {
	messages := map[int]bool{}
	for _, it := range x.ReadRequest().Items {
		if it.Role == "user" && it.What == wire.Text {
			messages[it.Msg] = true
		}
	}
	return len(messages)
}
