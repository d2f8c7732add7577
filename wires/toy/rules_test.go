package toy

import (
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var rules = []rule.Rule[*tree.Node]{
	{
		Info: rule.Info{ID: "TOY-1", Demand: "somebody says something", Source: "invented", Confidence: rule.High,
			Least: rule.Live},
		Aspect: "PAR-006/required", Hosts: rule.AnyHost, Run: somebodySpeaks,
	},
	{
		Info: rule.Info{ID: "TOY-2", Demand: "each call has a result", Source: "invented", Confidence: rule.High,
			Least: rule.Live},
		Aspect: "ORD-001/answered", Hosts: rule.AnyHost, Run: callsAreAnswered,
	},
}

func somebodySpeaks(body *tree.Node, p *rule.Pass) {
	if p.Observe(); len(body.List("turns")) == 0 {
		p.Report("turns", "nobody says anything").Refuse(&rule.Refusal{Status: 400, Type: "silence",
			Message: "Say something."})
	}
}

func callsAreAnswered(body *tree.Node, p *rule.Pass) {
	turns := body.List("turns")
	for i, turn := range turns {
		for n, call := range turn.List("calls") {
			id := call.Text("id")
			answers := func(later *tree.Node) bool { return later.Text("call") == id }
			if p.Observe(); !slices.ContainsFunc(turns[i:], answers) {
				p.Report(fmt.Sprintf("turns[%d].calls[%d]", i, n), "call %s has no result", id).
					Refuse(&rule.Refusal{Status: 400, Message: "What came of " + id + "?"})
			}
		}
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
		Words: []rule.Words{
			{Rule: "TOY-1", Quote: "Say something.", Reads: []string{"say something"}},
			{Rule: "TOY-2", Reads: []string{"what came of"}},
		},
	}
}
