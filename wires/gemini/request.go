// Package gemini is the wire of Google's generateContent.
//
// [Wire] has its facts. The rest reads a request, checks it against the rules G-1 and following, and writes
// the reply byte for byte as the Developer API writes it. The rules and the wire
// format are in specs/wire-rules.md, sections 1.3, 2.3, 3.3 and 5.3.
package gemini

import (
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/seal"
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
	model      model
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
	"text": "text", "inlineData": "inlineData", "inline_data": "inlineData", "fileData": "fileData",
	"file_data":    "fileData",
	"functionCall": "functionCall", "function_call": "functionCall", "functionResponse": "functionResponse",
	"function_response": "functionResponse",
	"executableCode":    "executableCode", "executable_code": "executableCode",
	"codeExecutionResult":   "codeExecutionResult",
	"code_execution_result": "codeExecutionResult", "toolCall": "toolCall", "tool_call": "toolCall",
	"toolResponse": "toolResponse", "tool_response": "toolResponse",
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
			f := wire.Tool{Name: n.Given("name").Text(), Node: n,
				Path: fmt.Sprintf("tools[%d].functionDeclarations[%d]", i, j), IsClients: true}
			f.Schema, f.SchemaPath = n.Given("parameters"), f.Path+".parameters"
			if f.Schema == nil {
				f.Schema, f.SchemaPath = n.Given("parametersJsonSchema", "parameters_json_schema"),
					f.Path+".parametersJsonSchema"
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
	c := wire.Choice{Kind: map[string]string{"ANY": "any", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}[mode],
		Path: "toolConfig.functionCallingConfig"}
	for _, n := range elementsOf(config.Any("allowedFunctionNames", "allowed_function_names")) {
		c.Names = append(c.Names, n.Text())
	}
	return c
}

// maxDepth is how deep messages may nest.
const maxDepth = 100

// syntaxWords are what the API's parser says of a body that is not JSON.
var syntaxWords = map[tree.Problem]string{
	tree.ValueExpected:     "Expected a value.",
	tree.NameExpected:      "Expected an object key or }.",
	tree.ColonExpected:     "Expected : between key:value pair.",
	tree.MemberEndExpected: "Expected , or } after key:value pair.",
	tree.ItemEndExpected:   "Expected , or ] after array value.",
	tree.QuoteExpected:     "Closing quote expected in string.",
	tree.EndExpected:       "Parsing terminated before end of input.",
	tree.ControlCharacter:  "Invalid control character in string.",
	tree.BadEscape:         "Invalid escape sequence.",
	tree.BadNumber:         "Unable to parse number.",
	tree.BadWord:           "Unexpected token.",
}

// parseBody reads one JSON value. A fault is in the words of the API's parser, which
// show the place; "" when there is none.
func parseBody(body []byte) (root *tree.Node, fault string) {
	root, failure := tree.ParseLenient(body, maxDepth)
	if failure == nil {
		return root, ""
	}
	if failure.Problem == tree.TooDeep {
		return nil, "Message too deep. Max recursion depth reached for key ''"
	}
	words, at := syntaxWords[failure.Problem], failure.Offset
	if at >= len(body) {
		words = "Unexpected end of string. " + words
	}
	const context = 20
	from, to := max(0, at-context), min(len(body), at+context)
	return nil, fmt.Sprintf("Invalid JSON payload received. %s\n%s\n%*s", words, body[from:to], at-from+1, "^")
}

// elementsOf returns the elements of an array. Any other value counts as a list of
// one.
func elementsOf(n *tree.Node) []*tree.Node {
	switch {
	case n == nil || n.Is(tree.Null):
		return nil
	case n.Is(tree.Array):
		return n.Items()
	}
	return []*tree.Node{n}
}

// numberOf returns the value of a number, which may stand in a string.
func numberOf(n *tree.Node) (value float64, ok bool) {
	if !n.Is(tree.String) {
		return n.Number()
	}
	value, err := strconv.ParseFloat(n.Text(), 64)
	return value, err == nil
}

// canonical writes arguments for a digest. They are a protobuf Struct, a map of
// doubles and strings: of two members with one name the last is kept, and integers
// above 2^53 are rounded.
var canonical = tree.Canonical{AppendNumber: appendDouble, LastWins: true}

// appendDouble writes 1, 1.0 and 1e0 alike. What is beyond a float64 keeps its digits.
func appendDouble(out []byte, literal string) []byte {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return append(out, literal...)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendInt(out, int64(f), 10)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

// Provider is the script.Provider of Gemini.
type Provider struct{}

// Request is a request that was read once, for rules and script alike. It is for
// one goroutine.
type Request struct{ q *request }

// Parse reads a request to generate or to count tokens. It never fails: what is
// wrong with it, Check says. The Request keeps hold of r and body, which must not
// change any more.
func Parse(r *http.Request, body []byte) Request { return Request{readRequest(r, body)} }

// Document is the body, nil when it is not JSON.
func (r Request) Document() *tree.Node { return r.q.body }

// Turn is what a script needs to know of a generate request. Of what is wrong
// with one it knows only what leaves nothing to answer; the rest is Check's.
func (r Request) Turn() (script.Request, *script.Refusal) {
	q := r.q
	if credentialOf(q.Request) == "" {
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: unregistered}
	}
	if q.syntax != "" {
		return script.Request{}, script.Invalid("%s", q.syntax)
	}
	if len(q.contents) == 0 {
		return script.Request{}, script.Invalid("* GenerateContentRequest.contents: contents is not specified\n")
	}
	out := script.Request{
		Provider: "gemini", Model: q.route.model, Form: formOf(q.Request, q.method), Body: q.sent,
		Thinks:       !q.thinkingOff(),
		Shown:        q.thinkingConfig().Given("includeThoughts", "include_thoughts").True(),
		IssuesTokens: true, Account: accountOf(q.Request, q.route), Document: q.body,
	}
	own := make([]bool, len(q.contents))
	for i, c := range q.contents {
		own[i] = c.isModels()
		if !c.isModels() && len(c.partsWith("text")) > 0 {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, f := range q.functions {
		out.Tools = append(out.Tools, f.Name)
	}
	return out, nil
}

// thinkingOff reports whether thinking is turned off, which Gemini 3 does not
// let one do.
func (q *request) thinkingOff() bool {
	budget, ok := q.thinkingBudget()
	return ok && budget == 0 && !q.model.takes.DoesRefuse("zero budget") && !q.model.needsSignatures()
}

const (
	unary  = "generateContent"
	stream = "streamGenerateContent"
	count  = "countTokens"
)

// route is what a path asks for.
type route struct {
	version string // "v1beta"
	// prefix is what Vertex puts before the model, "projects/P/locations/L/",
	// possibly empty.
	prefix string
	vertex bool
	model  string
	method string
}

// routeOf reads the paths of the Developer API, /VERSION/models/MODEL:METHOD,
// and of Vertex, /VERSION/[projects/P/locations/L/]publishers/google/models/MODEL:METHOD.
func routeOf(path string) (route, bool) {
	version, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok || !strings.HasPrefix(version, "v1") {
		return route{}, false
	}
	r := route{version: version}
	const publisher = "publishers/google/"
	if at := strings.Index(rest, publisher); at == 0 || at > 0 && strings.HasPrefix(rest, "projects/") {
		r.vertex, r.prefix, rest = true, rest[:at], rest[at+len(publisher):]
	}
	called, ok := strings.CutPrefix(rest, "models/")
	if !ok {
		return route{}, false
	}
	r.model, r.method, _ = strings.Cut(called, ":")
	return r, r.model != "" && !strings.Contains(r.model, "/")
}

// resourceName is the resource name of the model in the provider's words.
func (r route) resourceName() string {
	if r.vertex {
		return r.prefix + "publishers/google/models/" + r.model
	}
	return "models/" + r.model
}

func formOf(r *http.Request, method string) script.Form {
	switch {
	case method != stream:
		return script.FormUnary
	case strings.Contains(r.URL.RawQuery, "alt=sse"):
		return script.FormSSE
	}
	return script.FormArray
}

// credentialOf is the key or the token that a request carries, "" without one.
func credentialOf(r *http.Request) string {
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return key
	}
	if r.URL.RawQuery != "" {
		if key := r.URL.Query().Get("key"); key != "" {
			return key
		}
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return bearer
}

// accountOf is whose request it is: the project where the path names one, since
// tokens of access expire, else that of the key.
func accountOf(r *http.Request, to route) string {
	if to.prefix != "" {
		return to.prefix
	}
	return seal.Account(credentialOf(r))
}
