package toy

import (
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var rules = []rule.Rule[*tree.Node]{{
	Info:   rule.Info{ID: "TOY-1", Demand: "somebody says something", Source: "invented", Confidence: rule.High, Least: rule.Live},
	Aspect: "PAR-006/required", Hosts: rule.AnyHost, Run: somebodySpeaks,
}}

func somebodySpeaks(body *tree.Node, p *rule.Pass) {
	if p.Observe(); len(body.Get("turns").List()) == 0 {
		p.Report("turns", "nobody says anything").Refuse(&rule.Refusal{Status: 400, Type: "silence", Message: "Say something."})
	}
}

// Book is what the referee reads.
func Book() *rule.Book {
	return &rule.Book{
		Rules: rule.Infos(rules), Aspects: rule.Aspects(rules),
		Judge: func(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
			return rule.Judge(rules, seen.Root, holds)
		},
		Members: func() *members.Description { return &members.Description{} },
		Words:   []rule.Words{{Rule: "TOY-1", Quote: "Say something.", Reads: []string{"say something"}}},
	}
}
