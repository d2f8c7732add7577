package harness

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Case is one scenario with one provider. It is plain data and read-only.
type Case struct {
	Scenario *specs.Scenario
	Target   specs.Target
}

// AllCases returns every embedded scenario with every provider it names, those that have
// a cassette first. Live ones are not among them. The slice is the caller's.
func AllCases() ([]Case, error) {
	recorded, err := specs.Scenarios()
	if err != nil {
		return nil, err
	}
	simulated, err := specs.Simulated()
	return casesOf(append(recorded, simulated...)), err
}

// casesOf returns each scenario with each provider it names, in order.
func casesOf(scenarios []*specs.Scenario) []Case {
	var cases []Case
	for _, s := range scenarios {
		for _, t := range s.Targets {
			cases = append(cases, Case{Scenario: s, Target: t})
		}
	}
	return cases
}

// Name is the stable name of the case, e.g. "thinking-tool-loop/anthropic". A prompt of
// the preflight may leave the provider to the agent, and then names none.
func (c Case) Name() string {
	if c.Target.Provider == "" {
		return c.Scenario.Name
	}
	return c.Scenario.Name + "/" + c.Target.Provider
}

// HasCassette reports whether a recording of the case is committed. Package client, which is recorded where rkat
// does not speak the wire, sends again what was refused.
func (c Case) HasCassette() bool {
	isRefused := func(t specs.Turn) bool { return t.Refuse != nil && t.Refuse.IsAboutContent() }
	w := wires.Find(c.Target.Provider)
	return c.HasTraffic() && !c.Scenario.IsSimulated && !c.Scenario.Live &&
		!(w.Scripts.ByClient && slices.ContainsFunc(c.Scenario.Turns, isRefused))
}

// isSimulated reports whether the case is played by the simulator alone.
func (c Case) isSimulated() bool {
	return c.Scenario.IsSimulated || c.HasTraffic() && !c.HasCassette() && !c.Scenario.Live
}

// HasTraffic reports whether the agent is expected to send requests. A case
// without traffic has no cassette.
func (c Case) HasTraffic() bool { return len(c.Scenario.Turns) > 0 || c.Scenario.Live }

// covers reports whether the scenario was written to show the requirement.
func (c Case) covers(requirement string) bool {
	return slices.Contains(c.Scenario.Requirements, requirement)
}

// suiteFolders names the folder of each requirement area that has cassettes.
var suiteFolders = map[string]string{
	"ORD": "ordering", "SIG": "signature", "MOD": "allowlist", "RES": "resume", "STR": "streaming",
	"ERR": "recovery", "BUD": "budget",
}

// CassettePath is the path of the recording of the case below the cassettes:
// provider, the suite of the scenario's first requirement, name.
func (c Case) CassettePath() string {
	area, _, _ := strings.Cut(c.Scenario.Requirements[0], "-")
	return path.Join(c.Target.Provider, suiteFolders[area], c.Scenario.Name+".yaml")
}

// Step is one run of the agent under test.
type Step struct {
	// Resume continues the session of the previous step in a new process.
	Resume bool
	// NewKey resumes with another API key, where the agent can be given one.
	NewKey bool
	// Turn gives the prompt to the process of the previous step.
	Turn   bool
	Prompt string // may be empty when Resume is set
	System string
	Model  string
	Effort string // empty: the agent's default
	Exit   specs.Exit
	// Says is what the process must write to its standard output. Empty means
	// that anything is accepted.
	Says string
	// Fork resumes a copy of the session.
	Fork bool
	// Compact resumes the session to summarise it; there is no prompt.
	Compact bool
	// Attached are paths of files, and addresses, that go with the prompt. They are set in a
	// room, and nil before.
	Attached []string
	// Interrupt is closed when the prompt is to be called off, Kill when the process is to
	// be killed. They are nil for a prompt that runs to its end, and in steps that no
	// [Runner] runs.
	Interrupt, Kill <-chan struct{}
	// ExtraTools are the roles of the tools that the scenario calls and that few scenarios
	// do. rkat offers them in such scenarios only.
	ExtraTools []string
	// Needs are the abilities that the scenario needs.
	Needs []specs.Ability
	// OutputSchema is the path of the schema that the answer must fulfil, where the
	// scenario needs that. It is set in a room, and "" before.
	OutputSchema string
	// MaxTurns is how many replies of the model a process may ask for; 0: any number.
	MaxTurns int
	// Calls are the roles of the tools that a real model must call in the step.
	Calls []string
}

// committedSeed is the seed of the committed cassettes: of the nonces on both sides of
// a case, in what the agent is asked and in what the provider answers, and of every
// id, token and pseudonym.
const committedSeed = "committed cassettes"

// Steps returns what to run, in order, with the nonces of seed filled in.
func (c Case) Steps(seed string) []Step {
	steps := make([]Step, len(c.Scenario.Steps))
	for i, s := range c.Scenario.Steps {
		steps[i] = Step{
			Resume: s.Resume, Turn: s.Turn, Prompt: specs.Fresh(s.Prompt, seed), Exit: s.Exit,
			Says:  specs.Fresh(s.Says, seed),
			Calls: s.Calls, Needs: c.Scenario.Needs(), ExtraTools: extraTools(c.Scenario), Fork: s.Fork,
			Compact: s.Compact,
			NewKey:  s.NewKey, MaxTurns: c.Scenario.Limits.Turns,
			System: specs.Fresh(c.Scenario.System, seed), Model: cmp.Or(s.Switch[c.Target.Provider], c.Target.Model),
			Effort: c.Target.Effort,
		}
		if s.DefaultEffort {
			steps[i].Effort = ""
		}
	}
	return steps
}

// extraTools are the roles of the tools that rkat does not always offer, as far as the
// scenario calls them.
func extraTools(s *specs.Scenario) (roles []string) {
	for _, role := range []string{"image", "slow", "large", "awkward"} {
		if s.CallsRole(role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// Ability is what the step needs beyond one prompt, "" for the first step.
func (s Step) Ability() specs.Ability {
	switch {
	case s.Kill != nil:
		return specs.AbilityKill
	case s.Interrupt != nil:
		return specs.AbilityInterrupt
	case s.Fork:
		return specs.AbilityFork
	case s.Compact:
		return specs.AbilityCompact
	case s.Turn:
		return specs.AbilityTurns
	case s.Resume:
		return specs.AbilityResume
	}
	return ""
}

// exitDeviation says what is wrong with the end of a step's process or with the
// number of requests it sent, "" when both are as scripted.
func (s Step) exitDeviation(remark string, code, requests int) string {
	why := s.endDeviation(remark, code, requests)
	isTimeLimit := strings.HasPrefix(remark, isolate.Result{TimedOut: true}.Remark())
	if why != "" && requests == 0 && !isTimeLimit && s.Exit != specs.ExitUnsupported &&
		!strings.Contains(why, "no request") {
		why += ", and " + s.silence()
	}
	return why
}

func (s Step) endDeviation(remark string, code, requests int) string {
	switch {
	case remark != "":
		return remark
	case s.Exit == specs.ExitOK && code < 0:
		return "was ended by a signal from outside, the scenario expects success"
	case s.Exit == specs.ExitOK && code != 0:
		return fmt.Sprintf("exited %d, the scenario expects success", code)
	case s.Exit != specs.ExitOK && s.Exit != specs.ExitAny && code == 0:
		return "exited 0, the scenario expects a failure"
	case s.Exit == specs.ExitUnsupported && requests > 0:
		return fmt.Sprintf("sent %d requests, the scenario expects none", requests)
	case s.Exit != specs.ExitUnsupported && requests == 0:
		return s.silence()
	}
	return ""
}

// silence says that nothing arrived. A session that is continued has found its way before.
func (s Step) silence() string {
	if s.Resume {
		return "sent no request"
	}
	return "sent no request; if it calls a model, it may not use HTTPS_PROXY or the base URL"
}

// outputDeviation says what is missing in what the process wrote to its standard
// output, "" when the expected words are there.
func (s Step) outputDeviation(stdout []byte) string {
	if bytes.Contains(stdout, []byte(s.Says)) {
		return ""
	}
	return fmt.Sprintf("does not say %q, which the provider answered", s.Says)
}

// What goes with prompts: files in the folder in which the agent starts, and the address of an image on a host that
// does not exist, because nothing here fetches it.
const (
	promptImage    = "red.png"
	promptDocument = "heron.pdf"
	answerSchema   = "answer.schema.json" // that answers must fulfil
	imageAddress   = "https://pictures.example/heron.png"
)

//go:embed files
var promptFiles embed.FS

// writePromptFiles writes the files that the scenario needs: a red square, a PDF with one empty page, the schema of an
// answer with one word.
func writePromptFiles(s *specs.Scenario, dir string) error {
	for name, isNeeded := range map[string]bool{
		promptImage: slices.ContainsFunc(s.Steps, func(step specs.Step) bool { return step.Image }),
		promptDocument: slices.ContainsFunc(s.Steps,
			func(step specs.Step) bool { return step.Attach == specs.AttachDocument }),
		answerSchema: slices.Contains(s.Needs(), specs.AbilityOutputSchema),
	} {
		if !isNeeded {
			continue
		}
		data, err := promptFiles.ReadFile("files/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
