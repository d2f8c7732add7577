package chat

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// reasoningRules are about reasoning that must come back, and reasoning that must not.
var reasoningRules = []rule.Rule[*request]{
	judged("SIG-008/reasoning-back",
		sureRule("C-48", "a message with calls brings its reasoning_content back while the model thinks", documented),
		reasoningComesBack),
	judged("ORD-015/parts", sureRule("C-44",
		"no message holds reasoning where the host does not know the member", reported), reasoningLeftOut),
}

func reasoningComesBack(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(reasoningBack) && !q.dialect.hasTrait(reasoningKept) || !q.isThinking() {
		return
	}
	returnsSome := slices.ContainsFunc(q.messages,
		func(m message) bool { return m.Get("reasoning_content").Is(tree.String) })
	for i, m := range q.messages {
		isKept := q.alwaysThinks() && m.role == "assistant"
		if len(m.calls) == 0 && !isKept {
			continue
		}
		if p.Observe(); m.Get("reasoning_content").Is(tree.String) {
			continue
		}
		if len(m.calls) == 0 {
			b := p.Report(m.path+".reasoning_content", "%s wants the reasoning_content of every message back", q.model)
			b.Rule, b.Consequence = "C-54", string(specs.Degraded)
			continue
		}
		form := "the message calls tools and lacks reasoning_content"
		if returnsSome {
			form += ", which others of the request have; where the model did not think it is an empty text (C-49)"
		}
		b := p.Report(m.path+".reasoning_content", form)
		b.Cause = "the message calls tools and lacks reasoning_content"
		if q.dialect.hasTrait(reasoningKept) {
			b.Rule = "C-53"
			b.Refuse(q.newRefusal("", "",
				"thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i))
			continue
		}
		b.Refuse(q.newRefusal("", "", "The `reasoning_content` in the thinking mode must be passed back to the API."))
	}
}

// keepsReasoning finds the rule for a request. Of the models behind OpenRouter only what is signed or encrypted is
// known to be of use to them, nothing to those of xAI (C-66), and all of it to DeepSeek's, which demand it (C-48).
func keepsReasoning(seen *rule.Seen) (id string, isSealed bool) {
	q := newRequest(seen.Root, dialectOf(cmp.Or(seen.URL, &url.URL{}).Hostname()).serving(seen.Root.Text("model")))
	if q.dialect.hasTrait(reasoningKept) && q.alwaysThinks() {
		return "C-54", false
	}
	if strings.HasPrefix(q.model, "x-ai/") {
		return "", false
	}
	return q.dialect.Keeps, q.dialect.hasTrait(inDetails) && !strings.HasPrefix(q.model, "deepseek/")
}

func reasoningLeftOut(q *request, p *rule.Pass) {
	drops := &q.dialect.Drops
	for i, m := range q.messages {
		if drops.Member == "" || m.role != "assistant" {
			continue
		}
		if p.Observe(); m.Has(drops.Member) {
			p.Report(m.path+"."+drops.Member, "the host refuses %s in a message", drops.Member).Refuse(
				q.newRefusal(drops.Code, drops.Param, "%s", strings.ReplaceAll(drops.Says, "{i}", strconv.Itoa(i))))
		}
	}
}
