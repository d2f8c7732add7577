package bench

import (
	"math/rand/v2"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// laterRequests alters the requests that continue an earlier one, from one of
// them on: the agent changes its prefix in mid-conversation.
func laterRequests(edit func(p *page, r *rand.Rand) string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		var later []int
		for _, k := range d.modelCalls() {
			if d.continuesReply(k) {
				later = append(later, k)
			}
		}
		if len(later) == 0 {
			return Place{}, false
		}
		first := later[r.IntN(len(later))]
		seed := r.Uint64()
		place, done := Place{}, false
		for _, k := range later {
			if k < first {
				continue
			}
			p := d.editableRequest(k)
			if path := edit(p, newRand(seed)); path != "" && d.commitPage(k, p) && !done {
				place, done = Place{Exchange: d.ev.Exchanges[k].Index, Path: path}, true
			}
		}
		return place, done
	}
}

// continuesReply holds for a request that sends back a reply of the recording and
// begins as the request of that reply did.
func (s *scene) continuesReply(k int) bool {
	for _, b := range s.blocks[k] {
		if b.from == unknownOrigin {
			continue
		}
		j := b.from.exchange
		if len(s.blocks[j]) == 0 || !isSameBlock(s.blocks[j][0], s.blocks[k][0]) {
			continue
		}
		return samePrefix(s.requests[j], s.requests[k])
	}
	return false
}

func samePrefix(a, b *node) bool {
	for _, key := range []string{"system", "tools", "instructions", "systemInstruction", "system_instruction"} {
		x, y := a.at(key), b.at(key)
		if (x == nil) != (y == nil) || x != nil && string(x.encodeJSON()) != string(y.encodeJSON()) {
			return false
		}
	}
	return true
}

// systemText is the node that holds the system prompt's text.
func (p *page) systemText() (n *node, path string) {
	switch p.provider {
	case evidence.Anthropic:
		if n = p.root.at("system"); n.isString() {
			return n, "system"
		}
		return p.root.at("system", 0, "text"), "system[0].text"
	case evidence.OpenAI:
		if n = p.root.at("instructions"); n.isString() {
			return n, "instructions"
		}
		if role := p.root.at("input", 0, "role").stringValue(); role == "system" || role == "developer" {
			if n = p.root.at("input", 0, "content"); n.isString() {
				return n, "input[0].content"
			}
		}
		return nil, ""
	}
	system, key := p.root.firstOf("systemInstruction", "system_instruction")
	return system.at("parts", 0, "text"), key
}

func editSystem(p *page, _ *rand.Rand) string {
	n, path := p.systemText()
	if !n.isString() {
		return ""
	}
	n.replaceWith(stringNode("You are somebody else now. " + n.stringValue()))
	return path
}

func clockInSystem(p *page, _ *rand.Rand) string {
	n, path := p.systemText()
	if !n.isString() {
		return ""
	}
	n.replaceWith(stringNode(n.stringValue() + "\nThe time is 2026-11-22T20:15:09Z."))
	return path
}

// toolList is the list of declared tools that the client runs itself.
func (p *page) toolList() (*node, string) {
	list := p.root.at("tools")
	if p.provider != evidence.Gemini {
		return list, "tools"
	}
	decls, key := list.at(0).firstOf("functionDeclarations", "function_declarations")
	return decls, "tools[0]." + key
}

func removeTool(p *page, _ *rand.Rand) string {
	list, path := p.toolList()
	if !list.isArray() || list.countMembers() < 2 {
		return ""
	}
	used := map[string]bool{}
	for _, b := range p.blocks {
		used[b.name] = true
	}
	for i, tool := range elementsOf(list) {
		if name := tool.at("name").stringValue(); name != "" && !used[name] && tool.at("defer_loading") == nil {
			list.removeAt(i)
			return path
		}
	}
	return ""
}

func addTool(p *page, _ *rand.Rand) string {
	list, path := p.toolList()
	if !list.isArray() || list.countMembers() == 0 {
		return ""
	}
	list.appendValue(p.newTool("launch_rocket"))
	return path
}

// newTool declares a tool in the provider's form.
func (p *page) newTool(name string) *node {
	const schema = `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]`
	switch p.provider {
	case evidence.Anthropic:
		return parseLiteral(`{"name":"` + name + `","description":"Made up.","input_schema":` + schema + `}}`)
	case evidence.OpenAI:
		return parseLiteral(`{"type":"function","name":"` + name + `","description":"Made up.","parameters":` + schema + `,"additionalProperties":false},"strict":false}`)
	}
	return parseLiteral(`{"name":"` + name + `","description":"Made up.","parameters":` + schema + `}}`)
}

func reorderTools(p *page, _ *rand.Rand) string {
	list, path := p.toolList()
	if !list.isArray() || list.countMembers() < 2 {
		return ""
	}
	list.swapElements(0, list.countMembers()-1)
	return path
}

func rewordTool(p *page, _ *rand.Rand) string {
	list, path := p.toolList()
	tool := list.at(0)
	if d := tool.at("description"); d.isString() {
		tool.setMember("description", stringNode(d.stringValue()+" Use it with care."))
		return path + "[0].description"
	}
	return ""
}
