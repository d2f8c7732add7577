package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Providers returns the wires that tools are judged for, in the order of results.
func Providers() []string { return wires.Names() }

// tool is one tool that a client runs, as it was given.
type tool struct {
	name, path string
	// node holds name and description; schema describes the arguments and may be nil.
	node, schema *tree.Node
	schemaPath   string
	// isOther is set for a schema in the member of a wire for schemas that are not JSON Schema.
	isOther bool
}

// Tools judges a list of tools for the providers named, all without a name. The list is
// what an MCP server answers to tools/list, the tools of a request to any of the three
// providers or to Chat Completions, or such a request; it is judged as if each tool were
// sent as it is, in the members of the provider. Tools that a provider runs itself are
// left out with a note. Errors say that no tool can be read.
func Tools(list []byte, providers ...string) (Result, error) {
	doc, err := parse(list)
	if err != nil {
		return Result{}, err
	}
	tools, notes, err := readTools(doc)
	if err != nil {
		return Result{}, err
	}
	if len(tools) == 0 {
		return Result{}, errors.New(strings.Join(append([]string{"holds no tool that a client runs"}, notes...), "; "))
	}
	if len(providers) == 0 {
		providers = Providers()
	}
	result := Result{Findings: []Finding{}, Providers: providers, Tools: len(tools), Notes: notes}
	for _, provider := range providers {
		w := wires.Find(provider)
		if w == nil {
			return Result{}, fmt.Errorf("provider %q is unknown; use %s", provider, wires.List(Providers()))
		}
		found, err := judge(w, Target{}, requestWith(w, tools, false))
		if err != nil {
			return Result{}, err
		}
		if w.Tools.OtherSchema != "" {
			note, err := noteOnSchemas(w, tools, found)
			if err != nil {
				return Result{}, err
			}
			result.Notes = append(result.Notes, note...)
		}
		result.Findings = append(result.Findings, mergeCauses(placeInTools(w, found, tools))...)
	}
	return result, nil
}

// noteOnSchemas says which tools a wire takes only with a schema in the member for JSON Schema.
func noteOnSchemas(w *wires.Wire, tools []tool, known []Finding) ([]string, error) {
	found, err := judge(w, Target{}, requestWith(w, tools, true))
	if err != nil {
		return nil, err
	}
	refused := func(findings []Finding) (indices []int) {
		for _, f := range findings {
			if i, _, ok := splitPath(w, f); ok && f.Verdict == report.Fail && !slices.Contains(indices, i) {
				indices = append(indices, i)
			}
		}
		return indices
	}
	already, asOther := refused(known), refused(found)
	slices.Sort(asOther)
	var names []string
	for _, i := range asOther {
		if !slices.Contains(already, i) {
			names = append(names, tools[i].name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if more := len(names) - 5; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return []string{fmt.Sprintf("%s takes these as %s only, not as %s: %s", w.Name, w.Tools.Schema, w.Tools.OtherSchema,
		shown)}, nil
}

var errNoList = errors.New("holds no list of tools; give the answer to tools/list, a list of tools or a request")

// readTools finds the tools in a document. Paths lead into the document. Requests to OpenAI
// can hold tools among their input as well.
func readTools(doc *tree.Node) (tools []tool, notes []string, err error) {
	for i, item := range doc.List("input") {
		if kind := item.Text("type"); kind != "additional_tools" && kind != "tool_search_output" {
			continue
		}
		more, note, err := readList(item.Get("tools"), "input["+strconv.Itoa(i)+"].tools")
		if err != nil {
			return nil, nil, err
		}
		tools, notes = append(tools, more...), append(notes, note...)
	}
	if len(tools)+len(notes) > 0 && doc.Get("tools") == nil {
		return tools, notes, nil
	}
	list, path := doc, ""
	for _, member := range []string{"result", "tools"} {
		if list.Is(tree.Object) && list.Get(member) != nil {
			list, path = list.Get(member), strings.TrimPrefix(path+"."+member, ".")
		}
	}
	more, note, err := readList(list, path)
	return append(tools, more...), append(notes, note...), err
}

// readList reads a list of tools, or one tool.
func readList(list *tree.Node, path string) (tools []tool, notes []string, err error) {
	elems := list.List()
	switch {
	case list.Is(tree.Object):
		elems = []*tree.Node{list}
	case !list.Is(tree.Array):
		return nil, nil, errNoList
	}
	for i, n := range elems {
		at := path
		if list.Is(tree.Array) {
			at = path + "[" + strconv.Itoa(i) + "]"
		}
		found, note, err := readTool(n, at)
		if err != nil && list.Is(tree.Object) {
			err = errNoList
		}
		if err != nil {
			return nil, nil, err
		}
		tools = append(tools, found...)
		if note != "" {
			notes = append(notes, note)
		}
	}
	return tools, notes, nil
}

// readTool reads one element of a list, which may hold several tools.
func readTool(n *tree.Node, path string) (tools []tool, note string, err error) {
	declarations, function := n.Any("functionDeclarations", "function_declarations"), n.Get("function")
	named := func(schema string) tool {
		return tool{name: n.Text("name"), path: path, node: n, schema: n.Get(schema), schemaPath: path + "." + schema}
	}
	switch kind := n.Text("type"); {
	case !n.Is(tree.Object):
		return nil, "", fmt.Errorf("%s: is not an object", orList(path))
	case declarations != nil:
		for j, d := range declarations.List() {
			tools = append(tools, readDeclaration(d, path+".functionDeclarations["+strconv.Itoa(j)+"]"))
		}
	case function.Is(tree.Object):
		return readTool(function, path+".function")
	case n.Get("inputSchema") != nil:
		tools = append(tools, named("inputSchema"))
	case n.Get("input_schema") != nil:
		tools = append(tools, named("input_schema"))
	case kind == "function" || kind == "" && n.Get("parameters") != nil:
		tools = append(tools, named("parameters"))
	case kind == "namespace":
		for j, inner := range n.List("tools") {
			more, _, err := readTool(inner, path+".tools["+strconv.Itoa(j)+"]")
			if err != nil {
				return nil, "", err
			}
			tools = append(tools, more...)
		}
	case kind != "" || isProviderTool(n):
		return nil, fmt.Sprintf("%s is not judged: %s is run by its provider, or has no schema", orList(path),
			strconv.Quote(cmp.Or(kind, n.Names()[0]))), nil
	case n.Get("name") != nil:
		tools = append(tools, named("inputSchema"))
	default:
		return nil, "",
			fmt.Errorf("%s: is not a tool; it has neither name, inputSchema, input_schema, parameters nor functionDeclarations", orList(path))
	}
	return tools, "", nil
}

func readDeclaration(d *tree.Node, path string) tool {
	t := tool{name: d.Text("name"), path: path, node: d}
	if t.schema, t.schemaPath = d.Get("parameters"), path+".parameters"; t.schema != nil {
		t.isOther = true
		return t
	}
	t.schema, t.schemaPath = d.Any("parametersJsonSchema", "parameters_json_schema"), path+".parametersJsonSchema"
	return t
}

func orList(path string) string {
	if path == "" {
		return "the list"
	}
	return path
}

// isProviderTool reports whether n switches a tool of Gemini's on, such as googleSearch.
func isProviderTool(n *tree.Node) bool {
	return len(n.Names()) == 1 && n.Items()[0].Is(tree.Object) && n.Get("name") == nil
}

// requestWith is a request that offers the tools, each in the members of the wire with its schema as it is.
// asOther puts each schema into the member of the wire for schemas that are not JSON Schema.
func requestWith(w *wires.Wire, tools []tool, asOther bool) []byte {
	list := make([]map[string]json.RawMessage, len(tools))
	for i, t := range tools {
		entry := map[string]json.RawMessage{}
		for _, member := range append([]string{"name"}, w.Tools.Members...) {
			if v := t.node.Get(member); v != nil {
				entry[member] = json.RawMessage(v.Raw())
			}
		}
		if t.schema != nil {
			member := w.Tools.Schema
			if w.Tools.OtherSchema != "" && (t.isOther || asOther) {
				member = w.Tools.OtherSchema
			}
			entry[member] = json.RawMessage(t.schema.Raw())
		}
		if w.Tools.Inside != "" {
			whole, _ := json.Marshal(entry) // raw members that were parsed
			entry = map[string]json.RawMessage{w.Tools.Inside: whole}
		}
		if w.Tools.Type != "" {
			entry["type"], _ = json.Marshal(w.Tools.Type)
		}
		list[i] = entry
	}
	declared, _ := json.Marshal(list) // raw members that were parsed
	return []byte(strings.ReplaceAll(w.Tools.Request, "{tools}", string(declared)))
}

// placeInTools orders findings by tool and turns paths of the request into paths of what
// was given.
func placeInTools(w *wires.Wire, found []Finding, tools []tool) []Finding {
	order := func(f Finding) int {
		index, _, ok := splitPath(w, f)
		if !ok {
			return -1
		}
		return index
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return order(a) - order(b) })
	for i := range found {
		f := &found[i]
		at, rest, ok := splitPath(w, *f)
		if !ok || at >= len(tools) {
			continue
		}
		t, sent := tools[at], f.Path
		f.Tool, f.Path = t.name, t.path+rest
		for _, member := range []string{w.Tools.Schema, w.Tools.OtherSchema} {
			if inner, isSchema := strings.CutPrefix(rest, "."+member); isSchema && member != "" {
				f.Path = t.schemaPath + inner
				break
			}
		}
		f.Message = strings.ReplaceAll(f.Message, sent, f.Path)
	}
	return found
}

// splitPath returns the ordinal of the tool that the path of a finding leads to in the
// request, and what follows it.
func splitPath(w *wires.Wire, f Finding) (index int, rest string, ok bool) {
	inside, ok := strings.CutPrefix(f.Path, w.Tools.List+"[")
	number, rest, closed := strings.Cut(inside, "]")
	index, err := strconv.Atoi(number)
	if w.Tools.Inside != "" {
		rest = strings.TrimPrefix(rest, "."+w.Tools.Inside)
	}
	return index, rest, ok && closed && err == nil
}
