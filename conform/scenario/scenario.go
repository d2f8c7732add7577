// Package scenario compiles the player's side of a scenario: what to run, step
// by step, and how each step must end. Who runs it is not its business.
package scenario

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// Play is one scenario with one provider.
type Play struct {
	Scenario *specs.Scenario
	Target   specs.Target
}

// Plays returns every scenario with every provider it names, in order.
func Plays(all []*specs.Scenario) []Play {
	var plays []Play
	for _, s := range all {
		for _, t := range s.Targets {
			plays = append(plays, Play{Scenario: s, Target: t})
		}
	}
	return plays
}

// Name is the play's stable name, e.g. "thinking-tool-loop/anthropic".
func (p Play) Name() string { return p.Scenario.Name + "/" + p.Target.Provider }

// Silent reports whether the play must not cause any traffic.
func (p Play) Silent() bool { return len(p.Scenario.Turns) == 0 }

// suites names the suite of each requirement area that has one.
var suites = map[string]string{
	"ORD": "ordering", "SIG": "signature", "MOD": "allowlist", "RES": "resume", "STR": "streaming",
}

// Suite is the suite a requirement is judged in, empty if none.
func Suite(requirement string) string {
	area, _, _ := strings.Cut(requirement, "-")
	return suites[area]
}

// Cassette is the path of the play's recording below the cassettes: provider,
// the suite of the scenario's first requirement, name.
func (p Play) Cassette() string {
	return path.Join(p.Target.Provider, Suite(p.Scenario.Requirements[0]), p.Scenario.Name+".yaml")
}

// Step is one run of the agent under test.
type Step struct {
	// Resume continues the session of the step before it in a new process.
	Resume bool
	Prompt string // may be empty when Resume is set
	System string
	Model  string
	Effort string // empty: the agent's default
	Exit   specs.Exit
	// Says is what the process must write to its standard output; "" is
	// anything.
	Says string
}

// Seed is that of the nonces on both sides of a play: in what the agent is asked
// and in what the provider answers.
const Seed = "committed cassettes"

// Steps returns what to run, in order, nonces in their places.
func (p Play) Steps() []Step {
	steps := make([]Step, len(p.Scenario.Steps))
	for i, s := range p.Scenario.Steps {
		steps[i] = Step{
			Resume: s.Resume, Prompt: specs.Fresh(s.Prompt, Seed), Exit: s.Exit, Says: specs.Fresh(s.Says, Seed),
			System: specs.Fresh(p.Scenario.System, Seed), Model: p.Target.Model, Effort: p.Target.Effort,
		}
	}
	return steps
}

// Ended says what is wrong with the way a step ended: the exit code of its
// process and the number of requests it sent. Empty means as scripted.
func (s Step) Ended(code, requests int) string {
	switch {
	case s.Exit == specs.ExitOK && code != 0:
		return fmt.Sprintf("exited %d, the scenario expects success", code)
	case s.Exit != specs.ExitOK && code == 0:
		return "exited 0, the scenario expects a failure"
	case s.Exit == specs.ExitUnsupported && requests > 0:
		return fmt.Sprintf("sent %d requests, the scenario expects none", requests)
	case s.Exit != specs.ExitUnsupported && requests == 0:
		return "sent no request"
	}
	return ""
}

// Said says what is missing in what the process wrote to its standard output.
// Empty means that the answer came through.
func (s Step) Said(stdout []byte) string {
	if bytes.Contains(stdout, []byte(s.Says)) {
		return ""
	}
	return fmt.Sprintf("does not say %q, which the provider answered", s.Says)
}
