package bench

import (
	"math/rand/v2"
	"strings"
)

func isStatelessRoot(root *node) bool { return root.at("store") != nil && !root.at("store").isTrue() }

func dropItemIDs(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if !isStatelessRoot(p.root) {
		return ""
	}
	return removeIDs(p, func(item *node) bool {
		switch item.at("type").stringValue() {
		case "reasoning":
			return item.at("encrypted_content").isString()
		case "message", "", "function_call", "function_call_output":
			return true
		}
		return false
	})
}

func dropCallItemIDs(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if !isStatelessRoot(p.root) {
		return ""
	}
	return removeIDs(p, func(item *node) bool { return item.at("type").stringValue() == "function_call" })
}

func removeIDs(p *page, fits func(item *node) bool) string {
	changed := ""
	for _, item := range elementsOf(p.turnList()) {
		if fits(item) && item.removeKey("id") {
			changed = "input"
		}
	}
	return changed
}

// itemReferences names stored items instead of repeating them.
func itemReferences(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if isStatelessRoot(p.root) {
		return ""
	}
	changed := ""
	for _, b := range p.blocks {
		if b.from == unknownOrigin || b.itemID == "" || b.pos > 0 {
			continue
		}
		item := p.turnList().at(b.turn)
		if item.at("id").stringValue() == b.itemID && item.at("content").countMembers() < 2 {
			item.replaceWith(parseLiteral(`{"type":"item_reference","id":` + quoteJSON(b.itemID) + `}`))
			changed = pathString([]any{"input", b.turn})
		}
	}
	return changed
}

// previousResponse names the reply before instead of repeating it and all that
// stands before it.
func previousResponse(d *draft, r *rand.Rand) (Place, bool) {
	for _, k := range d.modelCalls() {
		if isStatelessRoot(d.requests[k]) {
			return Place{}, false
		}
	}
	converted := 0
	place, ok := onEveryPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		if p.root.at("previous_response_id") != nil || p.root.at("conversation") != nil {
			return ""
		}
		last, newest := -1, -1
		for _, b := range p.blocks {
			if b.from != unknownOrigin && b.from.exchange >= newest {
				last, newest = b.turn, b.from.exchange
			}
		}
		if last < 0 || last+1 >= p.turnList().countMembers() {
			return ""
		}
		for _, b := range p.blocks {
			if b.turn > last && b.role == "assistant" {
				return ""
			}
		}
		id := storedID(d.ev.Exchanges[newest].Response.Body)
		if id == "" {
			return ""
		}
		p.turnList().members = p.turnList().members[last+1:]
		p.root.setMember("previous_response_id", stringNode(id))
		converted++
		return "previous_response_id"
	})(d, r)
	return place, ok && converted == len(d.accepted)-1
}

// storedID is the id of an OpenAI response, "" when it shows none.
func storedID(body []byte) string {
	for _, doc := range splitDocuments(body) {
		for _, n := range []*node{doc, doc.at("response")} {
			if id := n.at("id").stringValue(); strings.HasPrefix(id, "resp_") {
				return id
			}
		}
	}
	return ""
}

func dropFromItems(key string) func(*draft, int, *page, *rand.Rand) string {
	return func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		changed := ""
		for _, item := range elementsOf(p.turnList()) {
			if item.removeKey(key) {
				changed = "input"
			}
		}
		return changed
	}
}

func dropLogprobs(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, item := range elementsOf(p.turnList()) {
		for _, part := range elementsOf(item.at("content")) {
			if part.at("type").stringValue() == "output_text" && (part.removeKey("logprobs") || part.at("annotations") == nil) {
				part.setMember("annotations", parseLiteral("[]"))
				changed = "input"
			}
		}
	}
	return changed
}

// easyMessages writes what the model said as plain messages without ids.
func easyMessages(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if !isStatelessRoot(p.root) {
		return ""
	}
	changed := ""
	for _, item := range elementsOf(p.turnList()) {
		if item.at("role").stringValue() != "assistant" || item.at("content").countMembers() != 1 || item.at("phase") != nil {
			continue
		}
		if part := item.at("content", 0); part.at("type").stringValue() == "output_text" && part.at("annotations").countMembers() == 0 {
			item.replaceWith(parseLiteral(`{"role":"assistant","content":` + string(part.at("text").raw) + `}`))
			changed = "input"
		}
	}
	return changed
}

func dropMessageType(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, item := range elementsOf(p.turnList()) {
		if item.at("type").stringValue() == "message" && item.at("id") == nil && item.removeKey("type") {
			changed = "input"
		}
	}
	return changed
}
