package openai

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

var toolRules = []rule.Rule[*request]{
	judged("PAR-008/schema", sureRule("O-20",
		"a function's schema is of an object, and has known types and an array's items", reported),
		schemas(rule.SchemaSound)),
	judged("TSC-001/root", sureRule("O-20", "the root of a function's schema makes no choice", reported),
		schemas(rule.RootChoosesNothing)),
	judged("TSC-004/references", sureRule("O-20", "a function's schema has what it refers to", reported),
		schemas(rule.ReferencesResolve)),
	judged("PAR-008/unique", strictRule(liveRule("O-18", "each function has a name of its own; the words are inferred",
		inferred, rule.Low, nil)), namesUnique),
	judged("PAR-008/strict", sureRule("O-19", "strict schemas are closed and require every key", recorded),
		strictSchemas(rule.LooseObject)),
	judged("TSC-006/strict-keywords", sureRule("O-19", "strict schemas have only keywords that can be enforced",
		recorded), strictSchemas(rule.UnenforceableKeyword)),
	judged("NSP-005/named", liveRule("O-32",
		"a call names the namespace of its tool where the tool is in no default one", reported, rule.Medium, nil),
		callsNameNamespace),
	judged("PAR-005/has-tools", liveRule("O-29", "tool_choice requires a tool only of a request with tools", inferred,
		rule.Medium, nil), choiceHasTools),
	judged("PAR-005/named-tool", liveRule("O-29", "tool_choice names a tool of the request", inferred, rule.Medium,
		nil), choiceNamesTool),
}

// offered lists the tools that the client runs, those in namespaces too.
func offered(at string, tools []*tree.Node, isAdded bool) (list []wire.Tool) {
	for i, n := range tools {
		here, name := fmt.Sprintf("%s[%d]", at, i), n.Text("name")
		switch n.Text("type") {
		case "function", "custom":
			list = append(list, wire.Tool{
				Name: name, Node: n, Path: here, Schema: n.Get("parameters"), SchemaPath: here + ".parameters",
				IsClients: true, IsStrict: n.True("strict"), IsAdded: isAdded,
			})
		case "namespace":
			for _, t := range offered(here+".tools", n.List("tools"), isAdded) {
				t.Name = name + "." + t.Name
				list = append(list, t)
			}
		}
	}
	return list
}

// addedBy lists the tools that an item of the input brings.
func addedBy(typ, path string, n *tree.Node) []wire.Tool {
	if typ != "additional_tools" && typ != "tool_search_output" {
		return nil
	}
	return offered(path+".tools", n.List("tools"), true)
}

// choiceOf reads tool_choice.
func choiceOf(root *tree.Node) wire.Choice {
	n := root.Get("tool_choice")
	c := wire.Choice{Kind: n.Text() + n.Text("type"), Path: "tool_choice"}
	named := []*tree.Node{n}
	switch c.Kind {
	case "required":
		c.Kind = "any"
	case "function", "custom":
		c.Kind = "tool"
	case "allowed_tools":
		c.Kind, named = map[bool]string{true: "any", false: "auto"}[n.Text("mode") == "required"], n.List("tools")
	}
	for _, t := range named {
		if kind, name := t.Text("type"), t.Text("name"); (kind == "function" || kind == "custom") &&
			(name != "" || c.Kind == "tool") {
			c.Names = append(c.Names, name)
		}
	}
	return c
}

// schemas holds the schema of each tool to what find looks for.
func schemas(find func(schema *tree.Node) (path, ours, words string)) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) { p.JudgeSchemas(q.offers, inFunction(find)) }
}

// inFunction puts what find looks for into the API's words.
func inFunction(find func(schema *tree.Node) (path, ours, words string)) func(*wire.Tool) rule.SchemaFault {
	return func(t *wire.Tool) (f rule.SchemaFault) {
		words := ""
		if f.Path, f.Text, words = find(t.Schema); words != "" {
			f.Refusal = invalid("invalid_function_parameters", t.SchemaPath, "Invalid schema for function '%s': %s",
				t.Node.Text("name"), words)
		}
		return f
	}
}

// namesUnique leaves out the tools of items, which may repeat others: recorded.
func namesUnique(q *request, p *rule.Pass) {
	p.JudgeUnique(slices.DeleteFunc(slices.Clone(q.offers), func(t wire.Tool) bool { return t.IsAdded }),
		func(t *wire.Tool) *rule.Refusal {
			return invalid("invalid_value", "tools", "Duplicate tool name '%s' in 'tools'. Tool names must be unique.",
				t.Node.Text("name"))
		})
	for _, b := range p.Breaches { // the model cannot tell the two apart
		b.Consequence = "degraded"
	}
}

// toolName is what a tool may be called, behind the name of its namespace.
var toolName = regexp.MustCompile(`^([a-zA-Z0-9_-]+\.)?[a-zA-Z0-9_-]{1,128}$`)

// toolsNamed reports what the schema refuses.
func toolsNamed(q *request, p *rule.Pass) {
	for _, t := range q.offers {
		own := t.Node.Text("name")
		if own == "" {
			continue
		}
		if p.Observe(); !toolName.MatchString(t.Name) || strings.Contains(own, ".") {
			p.Report(t.Path, "the provider does not take the tool name %.140q", t.Name)
		}
	}
	name := q.body.Get("text", "format").Text("name")
	if name != "" && strings.ContainsFunc(name, members.IsStrangeInID) {
		p.Report("text.format.name", "the provider does not take the name %.140q of an answer's form", name)
	}
}

// strictSchemas holds the schema of the answer and those of the tools that are strict to what find
// looks for.
func strictSchemas(find func(schema *tree.Node) (path, ours, words string)) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) {
		if format := q.body.Get("text", "format"); format.True("strict") {
			p.Observe()
			if path, ours, words := find(format.Get("schema")); ours != "" {
				p.Report("text.format.schema"+path, "the schema of the answer: %s", ours).
					Refuse(invalid("invalid_json_schema", "text.format.schema",
						"Invalid schema for response_format '%s': %s", format.Text("name"), words))
			}
		}
		p.JudgeSchemas(slices.DeleteFunc(slices.Clone(q.offers), func(t wire.Tool) bool { return !t.IsStrict }),
			inFunction(find))
	}
}

// offersMore reports whether tools may come from elsewhere than the list of the request.
func (q *request) offersMore() bool {
	return q.body.Has("previous_response_id") || q.body.Has("conversation") || q.body.Get("prompt") != nil ||
		slices.ContainsFunc(q.items, func(i item) bool {
			return i.typ == "additional_tools" || i.typ == "tool_search_output" || i.typ == "mcp_list_tools"
		})
}

func choiceHasTools(q *request, p *rule.Pass) {
	choice, hasNone := choiceOf(q.body), len(q.body.List("tools")) == 0
	var refusal *rule.Refusal
	if q.body.Text("tool_choice") == "required" && len(q.tools) == 0 && hasNone && !q.body.Has("prompt") {
		refusal = invalid("", "tool_choice", "Tool choice 'required' must be specified with 'tools' parameter.")
	}
	if q.offersMore() || choice.Kind != "any" && choice.Kind != "tool" && choice.Names == nil {
		p.Refuse(refusal)
		return
	}
	if p.Observe(); hasNone {
		p.Report("tool_choice", "a choice among tools is made, and there are none").Refuse(refusal)
	}
}

// choiceNamesTool is about functions and custom tools: hosted tools have no names.
func choiceNamesTool(q *request, p *rule.Pass) {
	isKnown := !q.offersMore() && slices.ContainsFunc(q.offers, func(t wire.Tool) bool { return !t.IsAdded })
	for _, name := range choiceOf(q.body).Names {
		if isKnown {
			p.Observe()
		}
		if slices.ContainsFunc(q.tools, func(t clientTool) bool { return t.name == name }) {
			continue
		}
		var refusal *rule.Refusal
		if name != "" { // else the schema refuses it
			refusal = invalid("", "tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name)
		}
		if !isKnown {
			p.Refuse(refusal)
			continue
		}
		p.Report("tool_choice", "the choice names the tool %.140q, which is not declared", name).Refuse(refusal)
	}
}
