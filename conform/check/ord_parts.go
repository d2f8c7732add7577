package check

import (
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// partForm: a block holds what the provider takes in a block of its kind from
// who says it.
func partForm(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for i := range x.req.Items {
			if x.Provider == evidence.OpenAI {
				rawReasoning(x, r, &x.req.Items[i])
			}
		}
		for _, m := range x.req.Msgs {
			if x.Provider == evidence.OpenAI {
				openAIParts(x, r, m)
			}
		}
	})
}

// rawReasoning: the text of reasoning is not sent back, only its encrypted form (O-17).
// Compatible hosts have no other.
func rawReasoning(x *exchange, r *report, it *wire.Item) {
	if it.What != wire.Thinking || x.atOtherHost() || !isProvidersModel(x) {
		return
	}
	r.addObserved(1)
	if n := len(it.Node.Get("content").List()); n > 0 {
		r.addFinding(x, it.Under("content"), "O-17", "reasoning item %s carries %d texts of its content", it.ItemID, n)
	}
}

func openAIParts(x *exchange, r *report, m wire.Msg) {
	at := func(n *tree.Node, path string) wire.Place {
		return wire.Place{Event: -1, Off: n.Offset(), Path: m.Path + path}
	}
	assistant := m.Node.Get("role").Text() == "assistant"
	for j, p := range m.Node.Get("content").List() {
		kind := p.Get("type").Text()
		switch {
		case assistant:
			r.addObserved(1)
			if strings.HasPrefix(kind, "input_") {
				r.addFinding(x, at(p, ".content["+strconv.Itoa(j)+"]"), "O-16", "the assistant says %q, which only the client can", kind)
			}
		case m.Node.Get("role").Text() != "":
			r.addObserved(1)
			if kind == "output_text" || kind == "refusal" {
				r.addFinding(x, at(p, ".content["+strconv.Itoa(j)+"]"), "O-16", "%s says %q, which only the assistant can", m.Node.Get("role").Text(), kind)
			}
		}
	}
}
