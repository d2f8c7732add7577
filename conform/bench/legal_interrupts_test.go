package bench

import (
	"math/rand/v2"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// interruptReply cuts a streamed answer of plain text off because the user broke
// in; what had arrived is kept in the history or not.
func interruptReply(kept bool) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		k, p, ok := d.withPrompt("Stop. Do something else.")
		if !ok || !isStreamed(d.ev.Exchanges[k].Response.Body) || len(d.modelCalls()) < 1 {
			return Place{}, false
		}
		body, partial := cutInText(d.provider, d.ev.Exchanges[k].Response.Body)
		if partial == "" || partial != strings.TrimSpace(partial) {
			return Place{}, false
		}
		d.setReply(k, 200, body)
		d.ev.Exchanges[k].Response.End = "client_abort"
		n := p.turnList().countMembers()
		if kept {
			p.turnList().members[n-2].value = p.newTurn("assistant", partial)
		} else {
			p.turnList().removeAt(n - 2)
		}
		d.insertExchange(len(d.ev.Exchanges), d.exchangeLike(k, p.root, "Very well.", "intr"))
		return Place{Exchange: k}, true
	}
}

// cutInText ends a stream after some of its text.
func cutInText(provider string, body []byte) ([]byte, string) {
	var out []byte
	text := ""
	for _, e := range splitEvents(body) {
		for _, doc := range splitDocuments(e) {
			switch provider {
			case evidence.Anthropic:
				text += doc.at("delta", "text").stringValue()
			case evidence.OpenAI:
				if doc.at("type").stringValue() == "response.output_text.delta" {
					text += doc.at("delta").stringValue()
				}
			default:
				if doc.at("candidates", 0, "finishReason") != nil {
					return nil, ""
				}
				text += doc.at("candidates", 0, "content", "parts", 0, "text").stringValue()
			}
		}
		out = append(out, e...)
		if text != "" && text == strings.TrimSpace(text) {
			return out, text
		}
		if endsStream(provider, e) {
			return nil, ""
		}
	}
	return nil, ""
}

func interruptedResult(p *page, b *block, _ *rand.Rand) bool {
	return setResult(p, b, "[Request interrupted by user; side effects unknown]")
}
