package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// toolDeclaration is one tool that a request offers the model.
type toolDeclaration struct {
	name string
	node *tree.Node
	path string
	// schema describes the arguments, in the words of dialect.
	schema     *tree.Node
	schemaPath string
	dialect    dialect
	// client is set for a tool that the client runs; others are the provider's.
	client, strict bool
}

func (d toolDeclaration) place() wire.Place {
	return wire.Place{Event: -1, Off: d.node.Offset(), Path: d.path}
}

// declaredTools lists the tools of a request, those in namespaces too.
func (x *exchange) declaredTools() []toolDeclaration { return x.tools }

func (x *exchange) readTools() (list []toolDeclaration) {
	tools := x.req.Tools.List()
	if x.req.Tools.Is(tree.Object) {
		tools = []*tree.Node{x.req.Tools}
	}
	for i, n := range tools {
		path := "tools[" + strconv.Itoa(i) + "]"
		switch x.Provider {
		case evidence.Anthropic:
			list = append(list, anthropicTool(n, path))
		case evidence.OpenAI:
			list = append(list, openAITools(n, path)...)
		default:
			list = append(list, geminiTools(n, path)...)
		}
	}
	return list
}

func anthropicTool(n *tree.Node, path string) toolDeclaration {
	kind := n.Get("type").Text()
	return toolDeclaration{name: n.Get("name").Text(), node: n, path: path, schema: n.Get("input_schema"), schemaPath: path + ".input_schema",
		dialect: anthropicSchema, client: kind == "" || kind == "custom", strict: n.Get("strict").True()}
}

func openAITools(n *tree.Node, path string) (list []toolDeclaration) {
	switch n.Get("type").Text() {
	case "function", "custom":
		return []toolDeclaration{{name: n.Get("name").Text(), node: n, path: path, schema: n.Get("parameters"), schemaPath: path + ".parameters",
			dialect: openAISchema, client: true, strict: n.Get("strict").True()}}
	case "namespace":
		for j, inner := range n.Get("tools").List() {
			list = append(list, openAITools(inner, path+".tools["+strconv.Itoa(j)+"]")...)
		}
		for i := range list {
			list[i].name = n.Get("name").Text() + "." + list[i].name
		}
	}
	return list
}

func geminiTools(n *tree.Node, path string) (list []toolDeclaration) {
	for j, f := range n.Any("functionDeclarations", "function_declarations").List() {
		d := toolDeclaration{name: f.Get("name").Text(), node: f, path: path + ".functionDeclarations[" + strconv.Itoa(j) + "]", client: true}
		d.schema, d.schemaPath, d.dialect = f.Get("parameters"), d.path+".parameters", geminiSchema
		if d.schema.Null() {
			d.schema, d.schemaPath, d.dialect = f.Any("parametersJsonSchema", "parameters_json_schema"), d.path+".parametersJsonSchema", jsonSchema
		}
		list = append(list, d)
	}
	return list
}

// eachTool calls f for every tool of every request that the policies hold for, and for
// those that stand among the input of OpenAI.
func (s *Trace) eachTool(f func(x *exchange, d toolDeclaration)) {
	s.eachPolicyRequest("", func(x *exchange) {
		for _, d := range append(x.declaredTools(), x.addedTools()...) {
			f(x, d)
		}
	})
}

// addedTools lists the tools that the client adds behind the start of a conversation.
func (x *exchange) addedTools() (list []toolDeclaration) {
	for i := range x.req.Items {
		it := &x.req.Items[i]
		if it.Type != "additional_tools" && it.Type != "tool_search_output" {
			continue
		}
		for j, n := range it.Node.Get("tools").List() {
			list = append(list, openAITools(n, it.Place.Path+".tools["+strconv.Itoa(j)+"]")...)
		}
	}
	return list
}

var toolNameForms = map[string]*regexp.Regexp{
	evidence.Anthropic: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
	evidence.OpenAI:    regexp.MustCompile(`^([a-zA-Z0-9_-]+\.)?[a-zA-Z0-9_-]{1,128}$`), // behind its namespace
	evidence.Gemini:    regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`),
}

// toolNames: each provider takes its own form of names (A-21, O-18, G-11).
func toolNames(s *Trace, r *report) {
	s.eachTool(func(x *exchange, d toolDeclaration) {
		if !d.client || d.node.Get("name").Text() == "" {
			return // of which PAR-006 speaks
		}
		r.addObserved(1)
		inNamespace := d.name != d.node.Get("name").Text()
		if !toolNameForms[x.Provider].MatchString(d.name) || x.Provider == evidence.OpenAI && !inNamespace && strings.Contains(d.name, ".") {
			r.addFinding(x, d.place(), byProvider(x, "A-21", "O-18", "G-11"), "the provider does not take the tool name %q", cutText(d.name, 140))
		}
	})
	s.eachPolicyRequest(evidence.OpenAI, func(x *exchange) {
		if name, at := x.member("text", "format", "name"); name.Text() != "" && !itemIDForm.MatchString(name.Text()) {
			r.addFinding(x, at, "O-18", "the provider does not take the name %q of an answer's form", cutText(name.Text(), 140))
		}
	})
}

// toolNamesUnique: a name stands for one tool (A-21, G-11). OpenAI takes two, and the
// model cannot tell them apart.
func toolNamesUnique(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		first := map[string]string{}
		for _, d := range x.declaredTools() {
			if d.name == "" {
				continue
			}
			r.addObserved(1)
			if at, again := first[d.name]; again {
				f := r.addFinding(x, d.place(), byProvider(x, "A-21", "O-18", "G-11"), "the tool name %q is already used at %s", cutText(d.name, 140), at)
				if x.Provider == evidence.OpenAI {
					f.Consequence = "degraded"
				}
				continue
			}
			first[d.name] = d.path
		}
	})
}

// toolChoice returns the choice of a request: its kind (auto, none, any, tool), the names
// it names, and where it stands; "" without a choice.
func (x *exchange) toolChoice() (kind string, names []string, at wire.Place) {
	if x.Provider == evidence.Gemini {
		config, at := x.member("toolConfig", "functionCallingConfig")
		for _, n := range config.Any("allowedFunctionNames", "allowed_function_names").List() {
			names = append(names, n.Text())
		}
		return map[string]string{"ANY": "any", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}[strings.ToUpper(config.Get("mode").Text())], names, at
	}
	choice, at := x.member("tool_choice")
	kind = choice.Text() + choice.Get("type").Text()
	switch {
	case x.Provider == evidence.Anthropic:
		if kind == "tool" {
			names = []string{choice.Get("name").Text()}
		}
	case kind == "required":
		kind = "any"
	case kind == "function" || kind == "custom":
		kind, names = "tool", []string{choice.Get("name").Text()}
	case kind == "allowed_tools":
		kind = map[bool]string{true: "any", false: "auto"}[choice.Get("mode").Text() == "required"]
		for _, n := range choice.Get("tools").List() {
			if t := n.Get("type").Text(); (t == "function" || t == "custom") && n.Get("name").Text() != "" {
				names = append(names, n.Get("name").Text())
			}
		}
	}
	return kind, names, at
}

// forcedTool returns the name of the tool that the model must call because no other is
// allowed, "" for none.
func (x *exchange) forcedTool() string {
	kind, names, _ := x.toolChoice()
	if kind == "any" && names == nil {
		for _, d := range x.declaredTools() {
			names = append(names, d.name)
		}
	}
	if kind != "any" && kind != "tool" || len(names) != 1 {
		return ""
	}
	return names[0]
}

// choiceHasTools: a choice among tools needs tools (A-23, O-29, G-27). Gemini's mode AUTO
// may stand beside the provider's own tools.
func choiceHasTools(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		kind, names, at := x.toolChoice()
		config, _ := x.member("toolConfig", "functionCallingConfig")
		if x.req.Stateful || x.offersOtherTools() || kind == "" && config.Null() {
			return
		}
		if x.Provider == evidence.OpenAI && kind != "any" && kind != "tool" && names == nil {
			return
		}
		r.addObserved(1)
		hasTools := x.req.Tools.Is(tree.Object) || len(x.req.Tools.List()) > 0
		if mode := strings.ToUpper(config.Get("mode").Text()); x.Provider == evidence.Gemini && (!hasTools || mode != "" && mode != "AUTO") {
			hasTools = len(x.declaredTools()) > 0
		}
		if !hasTools {
			r.addFinding(x, at, byProvider(x, "A-23", "O-29", "G-27"), "a choice among tools is made, and there are none")
		}
	})
}

// offersOtherTools reports whether tools come from elsewhere than the request's list.
func (x *exchange) offersOtherTools() bool {
	return x.req.Doc.Get("mcp_servers") != nil || x.req.Doc.Get("prompt") != nil ||
		slices.ContainsFunc(x.req.Items, func(it wire.Item) bool {
			return it.Type == "additional_tools" || it.Type == "tool_search_output" || it.Type == "tool_addition" || it.Type == "mcp_list_tools"
		})
}

// choiceNamesTool: what is chosen is one of the tools (A-23, O-29, G-27).
func choiceNamesTool(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		_, names, at := x.toolChoice()
		declared := x.declaredTools()
		if x.req.Stateful || x.offersOtherTools() || len(declared) == 0 {
			return
		}
		for _, name := range names {
			r.addObserved(1)
			named := func(d toolDeclaration) bool { return d.name == name || strings.HasSuffix(d.name, "."+name) }
			if !slices.ContainsFunc(declared, named) {
				r.addFinding(x, at, byProvider(x, "A-23", "O-29", "G-27"), "the choice names the tool %q, which is not declared", cutText(name, 140))
			}
		}
	})
}
