package gemini

import (
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// request is a request as rules see it, parsed once.
type request struct {
	route
	*http.Request
	sent []byte // the body as it came
	// syntax is why the body is not JSON, in the API's words; "" when it is.
	syntax     string
	violations []violation
	model      spec
	served     bool
	body       *tree.Node // of the generate request
	contents   []content
	config     *tree.Node // generationConfig, may be nil
	toolConfig *tree.Node
	tools      []*tree.Node
	functions  []wire.Tool // that the request offers
	// plain holds the contents whose recorded reply had no response of the provider's own
	// tools: a response there is the client's, and misplaced.
	plain map[int]bool
}

// content is one entry of contents.
type content struct {
	role  string
	at    int // in contents
	parts []part
}

// part is one part of a content.
type part struct {
	*tree.Node
	content, at int
	// data is the camel case name of the field that is set, "" for none.
	data      string
	value     *tree.Node // of that field
	signature string
	signed    bool // there is a signature, whatever is in it
	thought   bool
}

// dataNames are the fields of which a part has one, in both spellings.
var dataNames = map[string]string{
	"text": "text", "inlineData": "inlineData", "inline_data": "inlineData", "fileData": "fileData", "file_data": "fileData",
	"functionCall": "functionCall", "function_call": "functionCall", "functionResponse": "functionResponse", "function_response": "functionResponse",
	"executableCode": "executableCode", "executable_code": "executableCode", "codeExecutionResult": "codeExecutionResult",
	"code_execution_result": "codeExecutionResult", "toolCall": "toolCall", "tool_call": "toolCall", "toolResponse": "toolResponse", "tool_response": "toolResponse",
	script.FuturePart: script.FuturePart,
}

// readRequest parses a request. A body that is not JSON gives one without
// contents.
func readRequest(r *http.Request, body []byte) *request {
	to, _ := routeOf(r.URL.Path)
	q := &request{route: to, Request: r, sent: body}
	q.model, q.served = findModel(to.model)
	root := tree.NewObject(nil)
	if len(body) > 0 {
		root, q.syntax = parseBody(body)
	}
	q.body = root
	if !root.Is(tree.Object) {
		if q.syntax == "" {
			q.syntax = `Invalid JSON payload received. Unknown name "": Root element must be a message.`
		}
		q.body = tree.NewObject(nil)
	}
	q.violations = q.transcode()
	if inner := q.body.Given("generateContentRequest", "generate_content_request"); q.method == count && inner != nil {
		q.body = inner
	}
	q.readContents()
	return q
}

func (q *request) readContents() {
	q.config = q.body.Given("generationConfig", "generation_config")
	q.toolConfig = q.body.Given("toolConfig", "tool_config")
	q.tools = elementsOf(q.body.Given("tools"))
	q.functions = functionsIn(q.tools)
	list := elementsOf(q.body.Given("contents"))
	q.contents = make([]content, len(list))
	for i := range list {
		q.contents[i] = readContent(list[i], i)
	}
}

func readContent(n *tree.Node, at int) content {
	c := content{role: n.Given("role").Text(), at: at}
	list := elementsOf(n.Given("parts"))
	c.parts = make([]part, len(list))
	for i := range list {
		c.parts[i] = readPart(list[i], i)
		c.parts[i].content = at
	}
	return c
}

func readPart(n *tree.Node, at int) part {
	p := part{Node: n, at: at, thought: n.Given("thought").True()}
	for i, name := range n.Names() {
		if data := dataNames[name]; data != "" && !n.Items()[i].Is(tree.Null) && p.data == "" {
			p.data, p.value = data, n.Items()[i]
		}
	}
	if s := n.Given("thoughtSignature", "thought_signature"); s != nil {
		p.signature, p.signed = s.Text(), true
	}
	return p
}

// isModels reports whether the model said it. Who calls it the assistant means the model.
func (c content) isModels() bool { return c.role == "model" || c.role == "assistant" }

// partsWith returns the parts that hold data.
func (c content) partsWith(data string) []part {
	var found []part
	for _, p := range c.parts {
		if p.data == data {
			found = append(found, p)
		}
	}
	return found
}

// partsWith yields the parts of all contents that hold data.
func (q *request) partsWith(data string) iter.Seq[part] {
	return func(yield func(part) bool) {
		for _, c := range q.contents {
			for _, p := range c.partsWith(data) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// isPrompt reports whether the user says something: anything but results.
func (c content) isPrompt() bool {
	if c.isModels() {
		return false
	}
	for _, p := range c.parts {
		if p.data != "functionResponse" && p.data != "" {
			return true
		}
	}
	return false
}

// place is the path of the part in the body.
func (p part) place() string { return fmt.Sprintf("contents[%d].parts[%d]", p.content, p.at) }

// label names a call or a response for people.
func (p part) label() string { return strings.TrimSpace(p.name() + " " + p.id()) }

func (p part) name() string { return p.value.Given("name").Text() }
func (p part) id() string   { return p.value.Given("id").Text() }

// currentTurn is the index of the first content of the current turn: the one after
// which only the model and results of its calls follow (rule G-17).
func (q *request) currentTurn() int {
	for i := len(q.contents) - 1; i >= 0; i-- {
		if q.contents[i].isPrompt() {
			return i
		}
	}
	return 0
}

// functionsIn lists the functions that a request offers.
func functionsIn(tools []*tree.Node) (list []wire.Tool) {
	for i, tool := range tools {
		for j, n := range elementsOf(tool.Given("functionDeclarations", "function_declarations")) {
			f := wire.Tool{Name: n.Given("name").Text(), Node: n, Path: fmt.Sprintf("tools[%d].functionDeclarations[%d]", i, j), IsClients: true}
			f.Schema, f.SchemaPath = n.Given("parameters"), f.Path+".parameters"
			if f.Schema == nil {
				f.Schema, f.SchemaPath = n.Given("parametersJsonSchema", "parameters_json_schema"), f.Path+".parametersJsonSchema"
			}
			list = append(list, f)
		}
	}
	return list
}

// choiceOf reads the functionCallingConfig of a request.
func choiceOf(body *tree.Node) wire.Choice {
	config := body.Any("toolConfig", "tool_config").Any("functionCallingConfig", "function_calling_config")
	mode := strings.ToUpper(config.Text("mode"))
	c := wire.Choice{Kind: map[string]string{"ANY": "any", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}[mode], Path: "toolConfig.functionCallingConfig"}
	for _, n := range elementsOf(config.Any("allowedFunctionNames", "allowed_function_names")) {
		c.Names = append(c.Names, n.Text())
	}
	return c
}
