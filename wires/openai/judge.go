package openai

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/rule"
)

var judgedRules = slices.Concat(meaningRules, refereeRules)

// Aspects lists the aspects of requirements that the rules judge.
func Aspects() []string { return rule.Aspects(judgedRules) }

// Judge runs the rules that need nothing but the request, for the referee.
func Judge(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := newRequest(seen.Root, "")
	q.takes, q.kept = seen.Takes, seen.Kept
	return rule.Judge(judgedRules, q, holds)
}
