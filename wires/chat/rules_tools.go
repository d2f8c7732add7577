package chat

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// toolRules are about the tools of a request and the choice among them.
var toolRules = []rule.Rule[*request]{
	judged("PAR-008/names", sureRule("C-28", "a function's name has letters, digits, _ and - only, at most 64",
		documented), namesFit),
	judged("PAR-007/range", sureRule("C-29", "a list of tools has a tool", reported), toolsGiven),
	judged("PAR-005/has-tools", sureRule("C-31", "tool_choice and parallel_tool_calls stand beside tools only",
		documented), choiceHasTools),
	judged("PAR-005/named-tool", sureRule("C-31", "tool_choice has a form of the API", documented), choiceIsKnown),
	judged("PAR-005/named-tool", likelyRule("C-31", "tool_choice names a tool of the request", documented),
		choiceNamesTool),
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func namesFit(q *request, p *rule.Pass) {
	if !q.checksFunctions() && !q.dialect.hasTrait(reasoningBack) {
		return
	}
	look := func(name *tree.Node, path string) {
		p.Observe()
		switch text := name.Text(); {
		case text == "" || toolName.MatchString(text):
		case len(text) > 64:
			p.Report(path, "the provider does not take the tool name %.140q, which has %d characters", text,
				len(text)).Refuse(q.tooLong(path, name, 64))
		default:
			p.Report(path, "the provider does not take the tool name %.140q",
				text).Refuse(q.newRefusal("invalid_value", path,
				"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", path))
		}
	}
	for _, t := range q.offers {
		kind := t.Node.Text("type")
		look(t.Node.Get(kind, "name"), t.Path+"."+kind+".name")
	}
	for _, m := range q.messages {
		for j, call := range m.calls {
			if q.checksFunctions() && call.Has("function") {
				look(call.Get("function", "name"), fmt.Sprintf("%s.tool_calls[%d].function.name", m.path, j))
			}
		}
	}
}

// checksFunctions reports whether the host looks at the names and schemas of functions as OpenAI does. Azure does so for
// OpenAI's models.
func (q *request) checksFunctions() bool { return q.dialect.hasTrait(wholeSchemas) || q.isOpenAIs() }

func toolsGiven(q *request, p *rule.Pass) {
	tools := q.body.Get("tools")
	if !q.dialect.hasTrait(officialMembers) && !q.dialect.hasTrait(reasoningBack) || !tools.Is(tree.Array) {
		return
	}
	if p.Observe(); len(tools.List()) == 0 {
		p.Report("tools", "the list of tools is empty; leave it out").Refuse(q.newRefusal("empty_array", "tools",
			"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."))
	}
}

func choiceHasTools(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(officialMembers) {
		return
	}
	hasNone := len(q.body.List("tools")) == 0
	if q.choice.Kind == "any" || q.choice.Kind == "tool" {
		if p.Observe(); hasNone {
			p.Report("tool_choice", "a choice among tools is made, and there are none").
				Refuse(q.newRefusal("", "tool_choice",
					"Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."))
		}
	}
	if !q.body.Get("parallel_tool_calls").Null() {
		if p.Observe(); hasNone {
			b := p.Report("parallel_tool_calls", "parallel_tool_calls is set, and there are no tools").
				Refuse(q.newRefusal("", "parallel_tool_calls",
					"Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."))
			b.Rule = "C-32"
		}
	}
}

func choiceIsKnown(q *request, p *rule.Pass) {
	choice := q.body.Get("tool_choice")
	if !q.dialect.hasTrait(officialMembers) || !choice.Is(tree.String|tree.Object) {
		return // what is neither is a fault of the members
	}
	p.Observe()
	known := []string{"none", "auto", "required", "function", "custom", "allowed_tools"}
	if !slices.Contains(known, choice.Text()+choice.Text("type")) {
		p.Report("tool_choice", "the API does not know the choice %.60s",
			choice.Raw()).Refuse(q.newRefusal("", "tool_choice",
			"'$.tool_choice' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."))
	} else if choice.Text("type") == "function" && !choice.Has("function") {
		p.Report("tool_choice.function", "the choice names no function; the name stands in tool_choice.function.name").
			Refuse(q.newRefusal("missing_required_parameter", "tool_choice.function",
				"Missing required parameter: 'tool_choice.function'."))
	}
}

func choiceNamesTool(q *request, p *rule.Pass) {
	for _, name := range q.choice.Names {
		if len(q.offers) == 0 || name == "" {
			return
		}
		if p.Observe(); !slices.ContainsFunc(q.offers, func(t wire.Tool) bool { return t.Name == name }) {
			p.Report("tool_choice", "the choice names the tool %.140q, which is not declared", name).
				Refuse(q.newRefusal("", "tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name))
		}
	}
}
