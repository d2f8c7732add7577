package chat

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// The origins of the tokens that replies hold.
const (
	originDetail = "chat/reasoning_details"
	originCall   = "chat/thought_signature"
)

// sealRules are about tokens that replies of the simulator held. The simulator alone judges by them.
var sealRules = []rule.Rule[*request]{
	judged("", sureRule("C-58", "the reasoning_details of a reply come back as they were issued", reported),
		detailsVerify),
	judged("",
		sureRule("C-60", "the signature of a call comes back as it was issued, with the call that it was issued for",
			reported), signaturesVerify),
}

// detailFacts are what the token of one of reasoning_details vouches for: the text of the thought.
func detailFacts(text string) seal.Facts {
	return seal.Facts{Origin: originDetail, Content: []byte(text)}
}

// callFacts are what the signature of a call vouches for. The arguments may be spelled in another way.
func callFacts(name, arguments string) seal.Facts {
	if args, err := tree.Parse(arguments); err == nil {
		arguments = string(tree.Canonical{}.Append(nil, args))
	}
	return seal.Facts{Origin: originCall, Content: []byte(name + "\x00" + arguments)}
}

func detailsVerify(q *request, p *rule.Pass) {
	for i, m := range q.messages {
		for _, d := range m.List("reasoning_details") {
			it := detailOf(d)
			if !it.HasToken || p.ForeignTokens || !q.dialect.hasTrait(inDetails) {
				continue
			}
			if _, err := p.Key.OpenEnvelope(detailFacts(it.Text), it.Token); err != nil {
				p.Refuse(q.newRefusal("", "", "messages.%d.content.0: Invalid `signature` in `thinking` block", i))
			}
		}
	}
}

// standsIn are texts that Gemini takes for the signature of a call of another model's.
const standsIn = "skip_thought_signature_validator context_engineering_is_the_way_to_go"

func signaturesVerify(q *request, p *rule.Pass) {
	for _, m := range q.messages {
		for _, c := range m.calls {
			token := signatureOf(c).Text()
			if token == "" || p.ForeignTokens || !q.dialect.hasTrait(signsCalls) || strings.Contains(standsIn, token) {
				continue
			}
			if _, err := p.Key.OpenEnvelope(callFacts(callOf(c).Name, callOf(c).Args), token); err != nil {
				p.Refuse(q.newRefusal("", "", "Corrupted thought signature."))
			}
		}
	}
}
