package gemini

import (
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Aspects lists the aspects of requirements that the rules judge.
func Aspects() []string { return rule.Aspects(rules) }

// Judge runs the rules that need nothing but the request, for the referee.
func Judge(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := &request{body: seen.Root, model: spec{Name: seen.Model, takes: seen.Takes}}
	q.route, _ = routeOf(seen.Path)
	if m := specs.ParseModel(seen.Model); m.Family == "gemini" && m.HasVersion() {
		q.model.Major, q.model.Minor = m.Major, m.Minor
	}
	q.readContents()
	return rule.Judge(rules, q, holds)
}
