package specs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

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

var teamRuleKeys = []string{"id", "title", "consequence", "provider", "why", "fix", "uses", "path", "header", "present", "absent", "equals", "matches", "same"}

// ParseTeamRules reads a team's own rules: a YAML list. Everything that is wrong is
// reported at once, each with file, line and what to write instead.
func ParseTeamRules(name string, data []byte) ([]TeamRule, error) {
	list, err := teamRuleNodes(name, data)
	if err != nil {
		return nil, err
	}
	catalogue, err := Set(CurrentSet)
	if err != nil {
		return nil, err
	}
	var rules []TeamRule
	var faults []error
	for _, node := range list {
		p := teamRuleParser{catalogue: catalogue, lines: map[string]int{}, rule: TeamRule{File: name, Line: node.Line}}
		p.parseRule(node)
		for _, earlier := range rules {
			p.compareWith(&earlier)
		}
		faults = append(faults, p.faults...)
		rules = append(rules, p.rule)
	}
	return rules, errors.Join(faults...)
}

func teamRuleNodes(name string, data []byte) ([]*yaml.Node, error) {
	if len(data) > MaxTeamRulesBytes {
		return nil, fmt.Errorf("%s: has %d bytes, at most %d are read", name, len(data), MaxTeamRulesBytes)
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s:1: holds no rule; begin each with \"- id: TEAM-001\"", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	case !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF):
		return nil, fmt.Errorf("%s: holds more than one YAML document; keep one list", name)
	}
	root := doc.Content[0]
	switch {
	case root.Kind != yaml.SequenceNode || len(root.Content) == 0:
		return nil, fmt.Errorf("%s:%d: is not a list of rules; begin each with \"- id: TEAM-001\"", name, root.Line)
	case len(root.Content) > maxTeamRules:
		return nil, fmt.Errorf("%s: has %d rules, at most %d are read", name, len(root.Content), maxTeamRules)
	}
	return root.Content, nil
}

// teamRuleParser reads one rule and gathers what is wrong with it.
type teamRuleParser struct {
	catalogue []Requirement
	rule      TeamRule
	assertion Assertion
	lines     map[string]int // of the keys
	uses      string
	faults    []error
}

// addFault adds a fault in the line of a key.
func (p *teamRuleParser) addFault(key, format string, args ...any) {
	where := fmt.Sprintf("%s:%d", p.rule.File, cmp.Or(p.lines[key], p.rule.Line))
	if id := p.rule.Requirement.ID; id != "" {
		where += ": " + id
	}
	p.faults = append(p.faults, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func (p *teamRuleParser) parseRule(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		p.addFault("", "is not a rule; write id:, title:, consequence: and what it asks")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 { // other faults name the id
		if node.Content[i].Value == "id" {
			p.rule.Requirement.ID = node.Content[i+1].Value
		}
	}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		line := p.lines[key.Value]
		p.lines[key.Value] = key.Line
		switch {
		case !slices.Contains(teamRuleKeys, key.Value):
			p.addFault(key.Value, "unknown key %q; %s", key.Value, spelling.Advice(key.Value, teamRuleKeys))
		case line > 0:
			p.addFault(key.Value, "%s stands in line %d already", key.Value, line)
		case value.Kind == yaml.AliasNode:
			p.addFault(key.Value, "%s is an alias; write the value", key.Value)
		default:
			values[key.Value] = value
		}
	}
	for _, key := range teamRuleKeys {
		if value := values[key]; value != nil {
			p.readKey(key, value)
		}
	}
	p.finishRule()
}

// readKey reads the value of one key.
func (p *teamRuleParser) readKey(key string, value *yaml.Node) {
	r, a := &p.rule.Requirement, &p.assertion
	switch key {
	case "id":
		p.readText(key, value, &r.ID)
	case "title":
		p.readText(key, value, &r.Title)
	case "why":
		p.readText(key, value, &r.Why)
	case "fix":
		p.readText(key, value, &r.Fix)
	case "uses":
		p.readText(key, value, &p.uses)
	case "consequence":
		p.readText(key, value, (*string)(&r.Consequence))
	case "header":
		p.readText(key, value, &a.Header)
		a.Header = http.CanonicalHeaderKey(a.Header)
	case "provider":
		p.readProviders(value)
	case "present":
		p.readSwitch(key, value, &a.Present)
	case "absent":
		p.readSwitch(key, value, &a.Absent)
	case "same":
		p.readSwitch(key, value, &a.Same)
	case "path":
		p.readPath(value)
	case "matches":
		p.readExpression(value)
	case "equals":
		p.readEquals(value)
	}
}

func (p *teamRuleParser) readText(key string, value *yaml.Node, into *string) {
	if value.Kind != yaml.ScalarNode || strings.TrimSpace(value.Value) == "" {
		p.addFault(key, "%s is not a text", key)
		return
	}
	*into = value.Value
}

// readSwitch reads true. There is no false: a key that is left out says nothing.
func (p *teamRuleParser) readSwitch(key string, value *yaml.Node, into *bool) {
	if value.Value != "true" {
		p.addFault(key, "%s: %q is not true; leave the key out instead", key, value.Value)
		return
	}
	*into = true
}

func (p *teamRuleParser) readProviders(value *yaml.Node) {
	list := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		list = value.Content
	}
	for _, v := range list {
		if wires.Find(v.Value) == nil {
			p.addFault("provider", "provider %q is unknown; %s", v.Value, spelling.Advice(v.Value, wires.Names()))
			continue
		}
		p.rule.Requirement.Applies.Provider = append(p.rule.Requirement.Applies.Provider, v.Value)
	}
}

func (p *teamRuleParser) readPath(value *yaml.Node) {
	path, err := ParsePath(value.Value)
	if err != nil {
		p.addFault("path", "path %v", err)
	}
	p.assertion.Path = path
}

func (p *teamRuleParser) readExpression(value *yaml.Node) {
	if len(value.Value) > maxExpression {
		p.addFault("matches", "matches has %d bytes, at most %d are taken", len(value.Value), maxExpression)
		return
	}
	re, err := regexp.Compile(value.Value)
	if err != nil {
		p.addFault("matches", "matches %q is not a regular expression of RE2: %s", value.Value, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	p.assertion.Matches = re
}

func (p *teamRuleParser) readEquals(value *yaml.Node) {
	var v any
	if err := value.Decode(&v); err != nil {
		p.addFault("equals", "equals cannot be read: %v", err)
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		p.addFault("equals", "equals is not a JSON value: %v", err)
		return
	}
	p.assertion.Equals = string(text)
}

// finishRule holds the rule as a whole to what a rule must be.
func (p *teamRuleParser) finishRule() {
	r := &p.rule.Requirement
	p.checkID(r.ID)
	if r.Title == "" {
		p.addFault("title", "has no title; write what every request must keep to")
	}
	if !slices.Contains(Consequences, r.Consequence) && (r.Consequence != "" || p.uses == "") {
		p.addFault("consequence", "consequence %q is unknown; refused and unsafe fail, degraded and wasteful warn", r.Consequence)
	}
	r.Text, r.Status = r.Title, Stable
	hasAssertion := p.assertion.Header != "" || p.lines["path"] > 0 || p.uses != "" && p.assertion.demandsAnything()
	switch {
	case p.uses != "" && hasAssertion:
		p.addFault("uses", "has uses and an assertion; make two rules")
	case p.uses != "":
		p.resolveUses()
	case !hasAssertion:
		p.addFault("", "asks nothing; give it path:, header: or uses:")
	default:
		p.finishAssertion()
	}
}

func (p *teamRuleParser) checkID(id string) {
	switch own := slices.IndexFunc(p.catalogue, func(r Requirement) bool { return strings.EqualFold(r.ID, id) }); {
	case id == "":
		p.addFault("id", "has no id; use TEAM-001 to TEAM-999")
	case own >= 0:
		p.addFault("id", "the id is a requirement of conform; take one such as TEAM-001, and write uses: %s to restate it", p.catalogue[own].ID)
	case !isTeamID(id):
		p.addFault("id", "id %q is not TEAM-001 to TEAM-999", id)
	}
}

// resolveUses finds the checks of the catalogue. A rule may be sharper than what it
// restates, and not milder.
func (p *teamRuleParser) resolveUses() {
	requirement, aspect, hasAspect := strings.Cut(p.uses, "/")
	i := slices.IndexFunc(p.catalogue, func(r Requirement) bool { return strings.EqualFold(r.ID, requirement) })
	if i < 0 {
		p.addFault("uses", "uses %s: conform has no such requirement; did you mean %s?", p.uses, spelling.Rank(requirement, requirementIDs(p.catalogue))[0])
		return
	}
	base, r := p.catalogue[i], &p.rule.Requirement
	for _, check := range base.Checks {
		if _, of, _ := strings.Cut(check, "/"); !hasAspect || of == aspect {
			p.rule.Uses = append(p.rule.Uses, check)
			r.Checks = append(r.Checks, r.ID+"/"+of)
		}
	}
	if p.rule.Uses == nil {
		p.addFault("uses", "uses %s: %s has no such check; did you mean %s?", p.uses, base.ID, spelling.Rank(p.uses, base.Checks)[0])
	}
	if r.Consequence == "" {
		r.Consequence, r.Where = base.Consequence, base.Where
	}
	if milderConsequence(r.Consequence, base.Consequence) != base.Consequence && !r.Consequence.IsFailure() {
		p.addFault("consequence", "is %s and contradicts %s, which is %s: a rule cannot make ours milder; list what is known in a baseline instead", r.Consequence, base.ID, base.Consequence)
	}
	if len(base.Applies.Provider) > 0 {
		p.narrowProviders(base)
	}
	r.Applies.Source, r.Judges = base.Applies.Source, base.Judges
	r.Why, r.Fix = cmp.Or(r.Why, base.Why), cmp.Or(r.Fix, base.Fix)
}

func (p *teamRuleParser) narrowProviders(base Requirement) {
	r := &p.rule.Requirement
	if r.Applies.Provider == nil {
		r.Applies.Provider = base.Applies.Provider
		return
	}
	for _, name := range r.Applies.Provider {
		if !slices.Contains(base.Applies.Provider, name) {
			p.addFault("provider", "matches nothing with %s: %s speaks of %s only", name, base.ID, strings.Join(base.Applies.Provider, ", "))
		}
	}
}

func (p *teamRuleParser) finishAssertion() {
	a, r := &p.assertion, &p.rule.Requirement
	r.Checks = []string{r.ID + "/request"}
	switch {
	case a.Header != "" && p.lines["path"] > 0:
		p.addFault("header", "has path and header; make two rules")
	case !a.demandsAnything():
		p.addFault("", "asks nothing of %s; add present: true, absent: true, equals:, matches: or same: true", a.Selector())
	case a.Absent && (a.Present || a.Equals != "" || a.Matches != nil || a.Same):
		p.addFault("absent", "contradicts itself: what is absent cannot be present, equal or matched")
	case a.findContradiction(a) != "":
		p.addFault("matches", "contradicts itself: %s cannot be %s", a.Selector(), a.findContradiction(a))
	}
	for _, w := range wires.All() {
		if !a.Absent || !emptyOrContains(r.Applies.Provider, w.Name) {
			continue
		}
		for header := range w.Required {
			if strings.EqualFold(a.Header, header) {
				p.addFault("absent", "contradicts PAR-011: %s takes no request without the header %s", w.Name, strings.ToLower(header))
			}
		}
		if len(a.Path) == 1 && slices.Contains(w.Body.Required, a.Path[0].Name) {
			p.addFault("absent", "contradicts HYG-001: %s takes no request without %s", w.Name, a.Path[0].Name)
		}
	}
	p.rule.Assertion = a
}

// compareWith holds the rule to one that stands before it.
func (p *teamRuleParser) compareWith(earlier *TeamRule) {
	r := &p.rule
	if id := r.Requirement.ID; id != "" && id == earlier.Requirement.ID {
		p.addFault("id", "the id stands in line %d already; ids are unique", earlier.Line)
	}
	if r.Assertion == nil || earlier.Assertion == nil || !r.overlapsWith(earlier) {
		return
	}
	if what := r.Assertion.findContradiction(earlier.Assertion); what != "" {
		p.addFault("", "contradicts %s in line %d: %s cannot be %s", earlier.Requirement.ID, earlier.Line, r.Assertion.Selector(), what)
	}
}
