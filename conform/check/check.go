// Package check holds the referee's checks: pure functions from evidence to
// findings. A check reads bytes with the decoders of conform/wire and shares
// none with any agent, so that a bug on both sides cannot cancel out.
package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// Check judges one aspect of one requirement.
type Check struct {
	// ID is "AREA-NNN/aspect", e.g. "SIG-001/signature-bytes".
	ID string
	// Requirement is the AREA-NNN it belongs to.
	Requirement string
	// Run judges ev without changing it. It is deterministic.
	Run func(ev *evidence.Evidence) Result

	run rule
}

// Result is what a Check saw. Observed counts the places where the rule could
// have been broken: a result with Observed 0 proves nothing (DESIGN §6).
type Result struct {
	Observed int
	Findings []Finding
}

// Finding is one breach: where it is, which rule it breaks, how to mend it.
type Finding struct {
	Check    string `json:"check"`
	Exchange int    `json:"exchange"`
	// Event is the ordinal of the stream event, Offset the byte offset in the
	// body; both -1 where they do not apply.
	Event  int   `json:"event"`
	Offset int64 `json:"offset"`
	// Path points into the request or reply, e.g. messages[3].content[0].signature.
	Path string `json:"path,omitempty"`
	// Emitted says where the reply stands that the finding compares with.
	Emitted *Emission `json:"emitted,omitempty"`
	// Rule cites the provider rule or the requirement's source, e.g. "A-37".
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Emission is the place in an earlier reply where the provider emitted what a
// request should have sent back.
type Emission struct {
	Exchange int `json:"exchange"`
	// Event and Offset are as in Finding.
	Event  int   `json:"event"`
	Offset int64 `json:"offset"`
}

// rule is the body of a check: it looks at decoded evidence and reports.
type rule func(*scene, *report)

// All returns every check in order of id. The slice is the caller's.
func All() []Check {
	var all []Check
	for _, area := range []map[string]rule{pairingRules, replayRules, formRules, anthropicRules, openAIRules, geminiRules,
		originRules, modelRules, resumeRules, framingRules, grammarRules, endingRules, cassetteRules} {
		for id, run := range area {
			all = append(all, newCheck(id, run))
		}
	}
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func newCheck(id string, run rule) Check {
	requirement, _, _ := strings.Cut(id, "/")
	c := Check{ID: id, Requirement: requirement, run: run}
	c.Run = func(ev *evidence.Evidence) Result { return c.judge(look(ev)) }
	return c
}

// ForRequirement returns the checks of one requirement in order of id.
func ForRequirement(id string) []Check {
	return slices.DeleteFunc(All(), func(c Check) bool { return c.Requirement != id })
}

func (c Check) judge(s *scene) Result {
	r := report{check: c.ID, fix: fixOf(c.Requirement)}
	c.run(s, &r)
	return r.Result
}

// fixOf takes the advice from the catalogue, so that it is written down once.
func fixOf(requirement string) string {
	r, err := specs.FindRequirement(requirement)
	if err != nil {
		return ""
	}
	return r.Fix
}

// Replays lists which request sends back which earlier reply, as the ordinals
// of the two exchanges: the links that the checks build on.
func Replays(ev *evidence.Evidence) (pairs [][2]int) {
	for _, l := range look(ev).links {
		pairs = append(pairs, [2]int{l.from.Index, l.to.Index})
	}
	return pairs
}
