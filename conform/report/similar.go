package report

import (
	"cmp"
	"regexp"
)

// similarFindings tells which findings of several cases, or recordings, are alike, so that
// the terminal shows them once. The other forms of a report list all of them.
type similarFindings struct {
	first map[findingKind]string   // the first case that shows it
	also  map[findingKind][]string // the others, in order
}

// findingKind is what similar findings have in common.
type findingKind struct {
	verdict                 Verdict
	outcome                 string
	check, rule, path, form string
}

// variable matches what differs between two findings of one kind: quoted text, numbers,
// ids and what was shortened.
var variable = regexp.MustCompile(`"[^"]*"|[^\s\[\]]*[0-9…][^\s\[\]]*`)

func kindOf(f Finding) findingKind {
	return findingKind{f.Verdict, f.outcomeText(), f.Check, f.Rule,
		variable.ReplaceAllString(f.Path, "#"), variable.ReplaceAllString(cmp.Or(f.Form, f.Message), "#")}
}

func newSimilarFindings() *similarFindings {
	return &similarFindings{first: map[findingKind]string{}, also: map[findingKind][]string{}}
}

// addCase notes the findings of a case.
func (s *similarFindings) addCase(where string, findings []Finding) {
	for _, f := range findings {
		kind := kindOf(f)
		switch n := len(s.also[kind]); {
		case s.first[kind] == "":
			s.first[kind] = where
		case s.first[kind] != where && (n == 0 || s.also[kind][n-1] != where):
			s.also[kind] = append(s.also[kind], where)
		}
	}
}

// isShownIn reports whether a finding of a case is shown there in full.
func (s *similarFindings) isShownIn(where string, f Finding) bool {
	return s.first[kindOf(f)] == where
}

// otherCases returns the other cases that have a finding like f.
func (s *similarFindings) otherCases(f Finding) []string { return s.also[kindOf(f)] }
