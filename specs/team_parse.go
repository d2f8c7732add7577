package specs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires"
)

// Limits of a file of team rules. Expressions are RE2, which takes time in proportion to
// the text.
const (
	MaxTeamRulesBytes = 1 << 20
	maxTeamRules      = 500
	maxExpression     = 1000
)

// teamRuleEntry is a rule as it stands in the file.
type teamRuleEntry struct {
	ID          string         `yaml:"id" data:"required,is=team"`
	Title       string         `yaml:"title" data:"required"`
	Consequence Consequence    `yaml:"consequence" data:"is=consequence"`
	Provider    []string       `yaml:"provider" data:"is=provider,single"`
	Why         string         `yaml:"why" data:"filled"`
	Fix         string         `yaml:"fix" data:"filled"`
	Uses        string         `yaml:"uses" data:"filled"`
	Path        Path           `yaml:"path"`
	Header      string         `yaml:"header" data:"filled"`
	Present     bool           `yaml:"present" data:"one=true"`
	Absent      bool           `yaml:"absent" data:"one=true"`
	Equals      any            `yaml:"equals"`
	Matches     *regexp.Regexp `yaml:"matches" data:"is=expression"`
	Same        bool           `yaml:"same" data:"one=true"`
}

// ParseTeamRules reads a team's own rules: a YAML list. Everything that is wrong is
// reported at once, each with file, line, column and what to write instead.
func ParseTeamRules(name string, data []byte) ([]TeamRule, error) {
	catalogue, err := Set(CurrentSet)
	if err != nil {
		return nil, err
	}
	var entries []teamRuleEntry
	f := datafile.Read(name, data, &entries, datafile.Options{MaxBytes: MaxTeamRulesBytes, Rules: teamRules(catalogue)})
	if len(entries) > maxTeamRules {
		return nil, fmt.Errorf("%s: has %d rules, at most %d are read", name, len(entries), maxTeamRules)
	}
	var list []TeamRule
	isRead := f.OK()
	for i, e := range entries {
		p := teamRuleParser{File: f, at: f.Entry(i, e.ID), catalogue: catalogue, teamRuleEntry: e}
		p.rule = TeamRule{File: name, Line: f.Line(p.at),
			Requirement: Requirement{ID: e.ID, Title: e.Title, Text: e.Title, Status: Stable,
				Consequence: e.Consequence, Applies: Applies{Provider: e.Provider}, Why: e.Why, Fix: e.Fix}}
		if isRead {
			a := &Assertion{Header: http.CanonicalHeaderKey(p.Header), Path: p.Path, Present: p.Present,
				Absent: p.Absent, Matches: p.Matches, Same: p.Same}
			if p.Line(p.at+".equals") > 0 {
				text, err := json.Marshal(p.Equals)
				if err != nil {
					p.addFault("equals", "is not a JSON value: %v", err)
				}
				a.Equals = string(text)
			}
			hasPlace := a.Header != "" || a.Path != nil
			switch {
			case p.Uses != "" && (hasPlace || a.demandsAnything()):
				p.addFault("uses", "has uses and an assertion; make two rules")
			case p.Uses != "":
				p.resolveUses()
			case p.Consequence == "":
				p.addFault("", `key "consequence" is missing; refused and unsafe fail, degraded and wasteful warn`)
			case !hasPlace:
				p.addFault("", "asks nothing; give it path:, header: or uses:")
			default:
				p.rule.Assertion, p.rule.Requirement.Checks = a, []string{p.ID + "/request"}
				p.checkAssertion(a)
			}
		}
		for _, earlier := range list {
			p.compareWith(&earlier)
		}
		list = append(list, p.rule)
	}
	return list, f.Err()
}

// teamRules are the rules that the tags of a team's rule name.
func teamRules(catalogue []Requirement) map[string]datafile.Rule {
	return map[string]datafile.Rule{
		"provider":    rules["provider"],
		"consequence": rules["consequence"],
		"expression": func(_, text string) error {
			if len(text) > maxExpression {
				return fmt.Errorf("has %d bytes, at most %d are taken", len(text), maxExpression)
			}
			return nil
		},
		"team": func(_, text string) error {
			if own := findIn(catalogue, text); own != nil {
				return fmt.Errorf("is a requirement of conform; take one such as TEAM-001, and write uses: %s to restate it", own.ID)
			}
			if !isTeamID(text) {
				return fmt.Errorf("%q is not TEAM-001 to TEAM-999", text)
			}
			return nil
		},
	}
}

// findIn returns the requirement with an id, in any case of letters, nil where there is none.
func findIn(catalogue []Requirement, id string) *Requirement {
	i := slices.IndexFunc(catalogue, func(r Requirement) bool { return strings.EqualFold(r.ID, id) })
	if i < 0 {
		return nil
	}
	return &catalogue[i]
}

// teamRuleParser holds one entry to what a rule must be.
type teamRuleParser struct {
	*datafile.File
	teamRuleEntry
	at        string
	catalogue []Requirement
	rule      TeamRule
}

// addFault adds a fault of a key, "" for the whole rule.
func (p *teamRuleParser) addFault(key, format string, args ...any) {
	p.Add(strings.TrimSuffix(p.at+"."+key, "."), format, args...)
}

// resolveUses finds the checks of the catalogue. A rule may be sharper than what it
// restates, and not milder.
func (p *teamRuleParser) resolveUses() {
	requirement, aspect, hasAspect := strings.Cut(p.Uses, "/")
	base, r := findIn(p.catalogue, requirement), &p.rule.Requirement
	if base == nil {
		p.addFault("uses", "conform has no requirement %s; did you mean %s?", p.Uses,
			spelling.Rank(requirement, requirementIDs(p.catalogue))[0])
		return
	}
	for _, check := range base.Checks {
		if _, of, _ := strings.Cut(check, "/"); !hasAspect || of == aspect {
			p.rule.Uses = append(p.rule.Uses, check)
			r.Checks = append(r.Checks, r.ID+"/"+of)
		}
	}
	if p.rule.Uses == nil {
		p.addFault("uses", "%s has no check %s; did you mean %s?", base.ID, p.Uses,
			spelling.Rank(p.Uses, base.Checks)[0])
	}
	if r.Consequence == "" {
		r.Consequence, r.Where = base.Consequence, base.Where
	}
	if r.Consequence.Severity() < base.Consequence.Severity() && !r.Consequence.IsFailure() {
		p.addFault("consequence",
			"%s contradicts %s, which is %s: a rule cannot make ours milder; list what is known in a baseline instead",
			r.Consequence, base.ID, base.Consequence)
	}
	if r.Applies.Provider == nil {
		r.Applies.Provider = base.Applies.Provider
	}
	for _, name := range r.Applies.Provider {
		if !emptyOrContains(base.Applies.Provider, name) {
			p.addFault("provider", "matches nothing with %s: %s speaks of %s only", name, base.ID,
				strings.Join(base.Applies.Provider, ", "))
		}
	}
	r.Applies.Source, r.Judges = base.Applies.Source, base.Judges
	r.Why = cmp.Or(r.Why, base.Why)
	if r.Fix == "" {
		r.Fix, r.Fixes = base.Fix, base.Fixes
	}
}

// checkAssertion finds assertions that ask nothing or that no request can meet.
func (p *teamRuleParser) checkAssertion(a *Assertion) {
	applies := p.rule.Requirement.Applies.Provider
	switch {
	case a.Header != "" && a.Path != nil:
		p.addFault("header", "has path and header; make two rules")
	case !a.demandsAnything():
		p.addFault("", "asks nothing of %s; add present: true, absent: true, equals:, matches: or same: true",
			a.Selector())
	case a.Absent && (a.Present || a.Equals != "" || a.Matches != nil || a.Same):
		p.addFault("absent", "contradicts itself: what is absent cannot be present, equal or matched")
	case a.findContradiction(a) != "":
		p.addFault("matches", "contradicts itself: %s cannot be %s", a.Selector(), a.findContradiction(a))
	}
	for _, w := range wires.All() {
		if !a.Absent || !emptyOrContains(applies, w.Name) {
			continue
		}
		for header := range w.Required {
			if strings.EqualFold(a.Header, header) {
				p.addFault("absent", "contradicts PAR-011: %s takes no request without the header %s", w.Name,
					strings.ToLower(header))
			}
		}
		if len(a.Path) == 1 && slices.Contains(w.Body.Required, a.Path[0].Name) {
			p.addFault("absent", "contradicts HYG-001: %s takes no request without %s", w.Name, a.Path[0].Name)
		}
	}
}

// compareWith holds the rule to one that stands before it.
func (p *teamRuleParser) compareWith(earlier *TeamRule) {
	r := &p.rule
	if p.ID != "" && p.ID == earlier.Requirement.ID {
		p.addFault("id", "stands in line %d already; ids are unique", earlier.Line)
	}
	if r.Assertion == nil || earlier.Assertion == nil || !r.overlapsWith(earlier) {
		return
	}
	if what := r.Assertion.findContradiction(earlier.Assertion); what != "" {
		p.addFault("", "contradicts %s in line %d: %s cannot be %s", earlier.Requirement.ID, earlier.Line,
			r.Assertion.Selector(), what)
	}
}
