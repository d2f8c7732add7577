package openai

import "github.com/meerkat-go/conformance/wires/rule"

// Aspects lists the aspects of requirements that the rules judge.
func Aspects() []string { return rule.Aspects(meaningRules) }

// Judge runs the rules that need nothing but the request, for the referee.
func Judge(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := newRequest(seen.Root, "")
	q.takes = seen.Takes
	return rule.Judge(meaningRules, q, holds)
}
