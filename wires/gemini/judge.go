package gemini

import (
	"slices"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Aspects lists the aspects of requirements that the rules judge.
func Aspects() []string { return rule.Aspects(judgedRules) }

var judgedRules = slices.Concat(rules, refereeRules)

// Judge runs the rules that need nothing but the request, for the referee.
func Judge(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := &request{body: seen.Root, model: spec{Name: seen.Model, takes: seen.Takes}, plain: seen.Plain}
	q.route, _ = routeOf(seen.Path)
	if m := specs.ParseModel(seen.Model); m.Family == "gemini" && m.HasVersion() {
		q.model.Major, q.model.Minor = m.Major, m.Minor
	}
	q.readContents()
	return rule.Judge(judgedRules, q, holds)
}
