package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
)

// Policy says what turns a report red beside failures. The zero value adds nothing.
type Policy struct {
	// Strict makes failures of warnings.
	Strict bool `json:"strict"`
	// FailOn is Warn where warnings make the exit code that of a failure, else Fail.
	FailOn Verdict `json:"fail_on"`
	// Require lists the requirements that must be seen, by id.
	Require []string `json:"require,omitempty"`
	// MustSee lists requirements without which a report is not testable: the team's own.
	MustSee []string `json:"-"`
}

// ParseRequired turns ids and areas into ids of the catalogue. The error names the
// nearest known name of an unknown one.
func ParseRequired(names []string, catalogue []specs.Requirement) (ids []string, err error) {
	for _, name := range names {
		found := false
		for _, r := range catalogue {
			if r.Status != specs.Withdrawn && (strings.EqualFold(r.ID, name) || strings.EqualFold(r.Area(), name)) {
				ids, found = append(ids, r.ID), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is neither a requirement nor an area that has one; did you mean %s?", name, nearestName(name, catalogue))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func nearestName(name string, catalogue []specs.Requirement) string {
	var known []string
	for _, r := range catalogue {
		known = append(known, r.ID, r.Area())
	}
	return spelling.Rank(name, known)[0]
}

// apply raises warnings to failures where the policy is strict.
func (p Policy) apply(results []Result) {
	for i := range results {
		r := &results[i]
		if !p.Strict || r.Verdict != Warn && len(r.Findings) == 0 {
			continue
		}
		r.Findings = slices.Clone(r.Findings)
		for k := range r.Findings {
			if f := &r.Findings[k]; f.Verdict == Warn {
				f.Verdict = decide.Breach(f.Consequence, f.Answer, true)
			}
		}
		r.judgeAgain(decide.Facts{Strict: true})
	}
}

// Coverage says how much of a set was seen.
type Coverage struct {
	Seen  int `json:"seen"`
	Total int `json:"total"`
	// Unseen are the requirements of which nothing was seen.
	Unseen []string `json:"unseen"`
	// Missing are those of them that the policy requires.
	Missing []string `json:"missing,omitempty"`
}

// String is the sentence of the summary.
func (c Coverage) String() string {
	return fmt.Sprintf("%d of %d requirements seen, %d not seen", c.Seen, c.Total, len(c.Unseen))
}

// Calls counts the calls to the model.
type Calls struct {
	Made     int `json:"made"`
	Accepted int `json:"accepted"`
	// Thinking counts the calls of a run that ask the model to think, Plain those that do not
	// although their model thinks only when it is asked.
	Thinking int `json:"thinking,omitempty"`
	Plain    int `json:"without_thinking,omitempty"`
}

// Add sums up two counts.
func (c Calls) Add(d Calls) Calls {
	return Calls{c.Made + d.Made, c.Accepted + d.Accepted, c.Thinking + d.Thinking, c.Plain + d.Plain}
}

// withdrawPasses makes not testable what passed although no call was accepted: the
// agent was never answered, so it had no occasion to go wrong.
func withdrawPasses(results []Result, reason string) {
	for i := range results {
		results[i].judgeAgain(decide.Facts{Unproven: reason})
	}
}
