package specs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Areas are the first parts of requirement ids, in the order reports show them.
var Areas = []string{"ORD", "SIG", "MOD", "RES", "STR", "TOOL", "ERR", "PAR", "TSC", "MED", "REC", "CMP", "NSP", "SRV", "BET", "CAC", "WSK",
	"BUD", "OPS", "MCP", "CAS", "RED", "HYG", TeamArea}

var (
	providers = []string{"anthropic", "openai", "gemini"}
	sources   = []string{"cassette", "simulator", "live", "recording"}
	kebab     = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	idForm    = regexp.MustCompile(`^([A-Z]+)-[0-9]{3}$`)
)

// areaOf returns the area of an id of the form AREA-NNN with a known area.
func areaOf(id string) (string, bool) {
	m := idForm.FindStringSubmatch(id)
	if m == nil || !slices.Contains(Areas, m[1]) {
		return "", false
	}
	return m[1], true
}

// findFaults lists what is wrong with r as an entry of the file named stem.yaml.
func (r Requirement) findFaults(stem string) []string {
	var f faults
	area, ok := areaOf(r.ID)
	f.addUnless(ok, "id is not AREA-NNN with one of the areas %s", strings.Join(Areas, ", "))
	f.addUnless(area != TeamArea, "area %s is for the rules of teams", TeamArea)
	f.addUnless(!ok || strings.EqualFold(area, stem), "stands in %s.yaml; move it to %s.yaml", stem, strings.ToLower(area))
	f.requireText("title", r.Title)
	f.requireText("text", r.Text)
	f.requireText("why", r.Why)
	f.requireText("fix", r.Fix)
	f.oneOf("consequence", string(r.Consequence), consequenceNames()...)
	f.oneOf("status", string(r.Status), string(Draft), string(Provisional), string(Stable), string(Withdrawn))
	f.addUnless(r.Judges == "" || r.JudgesSource(), "judges %q is unknown; use %s, or leave it out for the subject", r.Judges, sourceOfReplies)
	f.addUnless(isDate("2006-01", r.Added), "added %q is not a month written yyyy-mm", r.Added)
	f.requireRange(r.Since, r.Until)
	r.whereFaults(&f)
	r.sourceFaults(&f)
	r.exampleFaults(&f)
	f.requireSubset("applies.provider", r.Applies.Provider, providers)
	f.requireSubset("applies.source", r.Applies.Source, sources)
	if r.Status != Withdrawn {
		f.addUnless(len(r.Checks) > 0, "has no check; name at least one")
		f.addUnless(len(r.Mutants) > 0, "has no mutant; a check that nothing must trip proves nothing")
	}
	for _, c := range r.Checks {
		aspect, ok := strings.CutPrefix(c, r.ID+"/")
		f.addUnless(ok && kebab.MatchString(aspect), "check %q is not %s/aspect in lower case with dashes", c, r.ID)
	}
	for i, m := range r.Mutants {
		f.addUnless(kebab.MatchString(m), "mutant %q is not lower case with dashes", m)
		f.addUnless(!slices.Contains(r.Mutants[:i], m), "mutant %q stands twice", m)
	}
	return f
}

func isDate(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil
}

// faults collects sentences about one entry.
type faults []string

func (f *faults) addUnless(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (f *faults) requireText(name, value string) {
	f.addUnless(strings.TrimSpace(value) != "", "%s is empty; write it", name)
}

func (f *faults) oneOf(name, value string, known ...string) {
	f.addUnless(slices.Contains(known, value), "%s %q is unknown; use %s%s", name, value, strings.Join(known, ", "), spelling.Hint(value, known))
}

func (f *faults) requireSubset(name string, values, known []string) {
	for i, v := range values {
		f.oneOf(name, v, known...)
		f.addUnless(!slices.Contains(values[:i], v), "%s %q stands twice", name, v)
	}
}
