package report

import (
	"cmp"
	"regexp"

	"github.com/meerkat-go/conformance/specs"
)

// similarFindings tells which findings of several cases, or recordings, are one habit of
// an agent, so that the terminal shows it once. The other forms of a report list all of
// them.
type similarFindings struct {
	first map[habit]string   // the case that shows it
	also  map[habit][]string // the others, in order
}

// habit is what similar findings have in common.
type habit struct {
	verdict                 Verdict
	consequence             specs.Consequence
	check, rule, path, form string
}

// variable matches what differs between two findings of one habit: quoted text, numbers,
// ids and what was shortened.
var variable = regexp.MustCompile(`"[^"]*"|[^\s\[\]]*[0-9…][^\s\[\]]*`)

func habitOf(f Finding) habit {
	return habit{f.Verdict, f.Consequence, f.Check, f.Rule,
		variable.ReplaceAllString(f.Path, "#"), variable.ReplaceAllString(cmp.Or(f.Form, f.Message), "#")}
}

func newSimilarFindings() *similarFindings {
	return &similarFindings{first: map[habit]string{}, also: map[habit][]string{}}
}

// add notes the findings of a case.
func (s *similarFindings) add(where string, findings []Finding) {
	for _, f := range findings {
		h := habitOf(f)
		switch n := len(s.also[h]); {
		case s.first[h] == "":
			s.first[h] = where
		case s.first[h] != where && (n == 0 || s.also[h][n-1] != where):
			s.also[h] = append(s.also[h], where)
		}
	}
}

// isShownIn reports whether a finding of a case is shown there in full.
func (s *similarFindings) isShownIn(where string, f Finding) bool {
	return s.first[habitOf(f)] == where
}

// others returns the other cases that have a finding like f.
func (s *similarFindings) others(f Finding) []string { return s.also[habitOf(f)] }
