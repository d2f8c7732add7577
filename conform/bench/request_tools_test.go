package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

func onTools(edit func(tool *node) bool) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		list, path := p.toolList()
		for i, tool := range elementsOf(list) {
			if tool.isObject() && edit(tool) {
				return fmt.Sprintf("%s[%d]", path, i)
			}
		}
		return ""
	})
}

func setIn(object, key, value string) func(*node) bool {
	return func(tool *node) bool {
		if !tool.at(object).isObject() {
			return false
		}
		tool.at(object).setMember(key, parseLiteral(value))
		return true
	}
}

// withTools sets members in requests that declare tools of the client.
func withTools(members string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		if list, _ := p.toolList(); list.countMembers() == 0 || list.at(0).at("name") == nil {
			return ""
		}
		return setMembers(p.root, members)
	})
}

func withoutTools(members string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		if p.root.at("tools") != nil || p.root.at("mcp_servers") != nil || p.root.at("cachedContent") != nil {
			return ""
		}
		return setMembers(p.root, members)
	})
}

func namedTool(d *draft, r *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		list, _ := p.toolList()
		name := list.at(0).at("name")
		if !name.isString() || list.at(0).at("input_schema") == nil {
			return ""
		}
		return setMembers(p.root, `{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"tool_choice":{"type":"tool","name":`+string(name.raw)+`}}`)
	})(d, r)
}

func newToolNamed(name string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string { return p.pushTool(p.newTool(name)) })
}

func newToolWith(tool string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string { return p.pushTool(parseLiteral(tool)) })
}

func (p *page) pushTool(tool *node) string {
	list, path := p.toolList()
	if !list.isArray() || hasToolNamed(list, tool.at("name").stringValue()) {
		return ""
	}
	list.appendValue(tool)
	return fmt.Sprintf("%s[%d]", path, list.countMembers()-1)
}

func hasToolNamed(list *node, name string) bool {
	return slices.ContainsFunc(elementsOf(list), func(t *node) bool { return t.at("name").stringValue() == name })
}

func doubleTool(_ *draft, _ int, p *page, _ *rand.Rand) string {
	list, path := p.toolList()
	if list.at(0).at("name") == nil {
		return ""
	}
	list.appendValue(list.at(0).deepCopy())
	return fmt.Sprintf("%s[%d]", path, list.countMembers()-1)
}

func strictTools(n int) func(*draft, int, *page, *rand.Rand) string {
	return func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		path := ""
		for i := range n {
			path = p.pushTool(parseLiteral(fmt.Sprintf(`{"name":"strict_%d","strict":true,"description":"x","input_schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}`, i)))
		}
		return path
	}
}

func recursiveTool(_ *draft, _ int, p *page, _ *rand.Rand) string {
	return p.pushTool(parseLiteral(`{"name":"loop","strict":true,"input_schema":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"additionalProperties":false,"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"additionalProperties":false}}}}`))
}

func dropToolsOfHistory(_ *draft, _ int, p *page, _ *rand.Rand) string {
	for _, b := range p.blocks {
		if b.kind == callBlock && p.root.at("tools") != nil {
			p.root.removeKey("tool_choice")
			p.root.removeKey("tools")
			return "tools"
		}
	}
	return ""
}

func openAIToolForm(tool *node) bool {
	schema := tool.at("input_schema")
	if schema == nil {
		return false
	}
	tool.replaceWith(parseLiteral(`{"type":"function","function":{"name":` + string(stringNode(tool.at("name").stringValue()).raw) + `,"parameters":` + string(schema.encodeJSON()) + `}}`))
	return true
}

func chatToolForm(tool *node) bool {
	if tool.at("type").stringValue() != "function" || tool.at("parameters") == nil {
		return false
	}
	tool.replaceWith(parseLiteral(`{"type":"function","function":{"name":` + string(stringNode(tool.at("name").stringValue()).raw) + `,"parameters":` + string(tool.at("parameters").encodeJSON()) + `}}`))
	return true
}
