package gemini

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

const calledFunctions = "Model generated function call(s)."

// Header is what the API sends with a reply (reference §1.3). What is the same
// each time is shared among replies: set a header anew, never within its values.
func (v Provider) Header(r script.Reply) http.Header {
	h := maps.Clone(headers)
	h["Server-Timing"] = []string{"gfet4t7; dur=" + strconv.Itoa(400+r.Roll("timing", 0, 2000))}
	if r.Request.Form == script.FormSSE {
		h.Set("Content-Type", "text/event-stream")
		h.Set("Content-Disposition", "attachment")
	}
	return h
}

// headers are those that are the same each time.
var headers = http.Header{
	"Content-Type":           {"application/json; charset=UTF-8"},
	"Server":                 {"scaffolding on HTTPServer2"},
	"Vary":                   {"Origin", "X-Origin", "Referer"},
	"X-Content-Type-Options": {"nosniff"},
	"X-Frame-Options":        {"SAMEORIGIN"},
	"X-Gemini-Service-Tier":  {"standard"},
	"X-Xss-Protection":       {"0"},
}

// emitted is one part of a chunk and what has been generated when it is sent.
type emitted struct {
	object  script.Object
	output  int // candidate tokens so far
	thought int
}

// hasText reports whether the part is a text or a call of the reply itself.
func (e emitted) hasText() bool {
	return len(e.object) == 2 && e.object[0] == "text" || e.object[0] == "functionCall"
}

// reply collects the parts of one reply.
type reply struct {
	script.Reply
	words   int // of a text part
	parts   []emitted
	output  int
	thought int
	signed  bool // a token is out
	model   model
	prompt
}

// Frames returns the chunks of r in the request's form.
func (v Provider) Frames(r script.Reply) [][]byte {
	c := &reply{Reply: r, words: 5, prompt: promptOf(r)}
	c.model, _ = findModel(r.Request.Model)
	if r.Request.Form == script.FormUnary {
		c.words = math.MaxInt32
	}
	for n, b := range r.Blocks {
		switch b.Kind {
		case specs.KindThinking, specs.KindRedacted:
			c.thought += 16
			for _, text := range b.Parts {
				c.thought += script.Tokens(text)
				c.addPart(script.Object{"text", text, "thought", true})
			}
		case specs.KindText:
			for _, piece := range script.Words(b.Text, c.words) {
				c.output += script.Tokens(piece)
				c.addPart(script.Object{"text", piece})
			}
		case specs.KindSignedText:
			c.output += script.Tokens(b.Text)
			c.signed = true
			c.addPart(script.Object{"text", b.Text, "thoughtSignature", c.textSignature()})
		case specs.KindCall:
			c.output += script.Tokens(b.Name + string(b.Args))
			if isCall(b) {
				c.addPart(c.addCall(n, b))
			}
		case specs.KindCode:
			c.addCode(n, b)
		case specs.KindSearch:
			c.addSearch(n, b)
		}
	}
	if c.greased(specs.GreaseBlock) {
		c.addPart(script.Object{script.FuturePart, script.Object{"note", "new"}})
	}
	if r.Request.Form == script.FormUnary {
		return [][]byte{prettyJSON(c.document())}
	}
	return sseFrame(c.allChunks(), r.Request.Form)
}

// allChunks are the response objects of a stream: one for each part, then the one
// that ends it (reference §3.3).
func (c *reply) allChunks() [][]byte {
	if c.Stop == specs.StopBlocked {
		return [][]byte{c.blockedDocument()}
	}
	var chunks [][]byte
	if c.greased(specs.GreaseStop) {
		chunks = append(chunks, c.writeChunk(script.Array{script.Object{"text", ""}}, 0, 0, "finishReason", "STOP"))
	}
	parts, last := c.parts, c.lastChunk()
	if n := len(parts) - 1; n >= 0 && !c.model.needsSignatures() && parts[n].hasText() {
		parts, last = parts[:n], parts[n].object // up to Gemini 2.5 what is said last ends the reply
	}
	for _, p := range parts {
		chunks = append(chunks, c.writeChunk(script.Array{p.object}, p.output, p.thought))
	}
	chunks = append(chunks, c.writeChunk(script.Array{last}, c.output, c.thought, c.finishReason()...))
	if c.greased(specs.GreaseUsage) {
		chunks = append(chunks, script.JSON(c.frame(nil, c.output, c.thought)))
	}
	return chunks
}

// lastChunk is the final part: it carries the signature of a turn of text, and
// nothing when a call has carried it.
func (c *reply) lastChunk() script.Object {
	o := script.Object{"text", ""}
	if c.signed || c.countCalls() || !c.model.needsSignatures() {
		return o
	}
	return append(o, "thoughtSignature", c.textSignature())
}

// greased reports whether the turn asks for g.
func (c *reply) greased(g specs.Grease) bool { return slices.Contains(c.Turn.Grease, g) }

// finishReason is why the model stopped, and what it had looked up.
func (c *reply) finishReason() script.Object { return append(c.addFinish(), c.grounding()...) }

func (c *reply) addFinish() script.Object {
	switch {
	case c.Stop == specs.StopMaxTokens:
		return script.Object{"finishReason", "MAX_TOKENS"}
	case c.Stop == specs.StopRefusal:
		return script.Object{"finishReason", "SAFETY"}
	case c.Stop == specs.StopFilter:
		return script.Object{"finishReason", "PROHIBITED_CONTENT"}
	case c.Stop == specs.StopTool && slices.ContainsFunc(c.Blocks, func(b script.Block) bool { return b.Partial }):
		return script.Object{"finishReason", "MALFORMED_FUNCTION_CALL", "finishMessage", "Malformed function call"}
	case c.countCalls():
		return script.Object{"finishReason", "STOP", "finishMessage", calledFunctions}
	}
	return script.Object{"finishReason", "STOP"}
}

func (c *reply) countCalls() bool {
	return slices.ContainsFunc(c.Blocks, isCall)
}

// isCall reports whether the block is a call that is sent: one that was cut is
// not, since a call is one part and comes whole or not at all.
func isCall(b script.Block) bool { return b.Kind == specs.KindCall && !b.Partial }

func (c *reply) addPart(o script.Object) {
	c.parts = append(c.parts, emitted{object: o, output: c.output, thought: c.thought})
}

// addCall is a whole call in one part. The first of a turn is signed, the others
// never are.
func (c *reply) addCall(n int, b script.Block) script.Object {
	f := script.Object{"name", b.Name, "args", json.RawMessage(b.Arguments())}
	if issuesIDs(c.Request.Model) {
		f = append(f, "id", c.ID("", n, script.Base36, 8))
	}
	o := script.Object{"functionCall", f}
	if c.signed || !c.model.needsSignatures() && !c.Request.Thinks {
		return o
	}
	c.signed = true
	return append(o, "thoughtSignature", c.callSignature(b))
}

// issuesIDs reports whether the model gives calls an id: those after 3.0 do
// (reference §3.3).
func issuesIDs(model string) bool {
	return !strings.HasPrefix(model, "gemini-3-") && !strings.HasPrefix(model, "gemini-2")
}

// textSignature is the one of a text. Where in the reply that stands is the
// client's business (rule G-22).
func (c *reply) textSignature() string {
	s := c.newClaims("text")
	return s.signToken(c.Key, c.thought)
}

// callSignature is bound to the call, which is the first of its reply.
func (c *reply) callSignature(b script.Block) string {
	s := c.newClaims("call")
	args, _ := parseBody(b.Arguments())
	s.payload = payloadOf(b.Name, args)
	for _, other := range c.Blocks {
		if isCall(other) {
			s.total++
		}
	}
	return s.signToken(c.Key, c.thought)
}

func (c *reply) newClaims(kind string) claims {
	return claims{reply: c.responseID(), account: c.Request.Account, family: c.model.family(), kind: kind}
}

// responseID looks like base64url of some bytes.
func (c *reply) responseID() string { return c.ID("", 0, script.Alnum+"-_", 23) }

// writeChunk is one response object. Usage is a running total.
func (c *reply) writeChunk(parts script.Array, output, thought int, ending ...any) []byte {
	candidate := script.Object{"content", script.Object{"parts", parts, "role", "model"}}
	candidate = append(candidate, ending[:min(2, len(ending))]...)
	candidate = append(candidate, "index", 0)
	candidate = append(candidate, ending[min(2, len(ending)):]...)
	return script.JSON(c.frame(script.Array{candidate}, output, thought))
}

// frame is a response object around candidates, which may be missing.
func (c *reply) frame(candidates script.Array, output, thought int) script.Object {
	o := script.Object{}
	if candidates != nil {
		o = script.Object{"candidates", candidates}
	}
	return append(o, "usageMetadata", c.usage(output, thought), "modelVersion", c.Request.Model, "responseId",
		c.responseID())
}

// document is the reply as one object. The signature of a turn of text stands
// on its last text.
func (c *reply) document() []byte {
	if c.Stop == specs.StopBlocked {
		return c.blockedDocument()
	}
	parts := script.Array{}
	for _, p := range c.parts {
		parts = append(parts, p.object)
	}
	switch end := len(c.Blocks) - 1; {
	case c.signed || c.countCalls() || len(parts) > 0 && !c.model.needsSignatures():
	case end >= 0 && c.Blocks[end].Kind == specs.KindText:
		parts[len(parts)-1] = append(c.parts[len(parts)-1].object, "thoughtSignature", c.textSignature())
	default:
		parts = append(parts, c.lastChunk())
	}
	return c.writeChunk(parts, c.output, c.thought, c.finishReason()...)
}

const (
	// imageTokens is what an inline image counts for.
	imageTokens = 258
	// leastCached is the shortest prompt of which a part comes from the cache.
	leastCached = 1024
)

// prompt is what a request counts for, in tokens.
type prompt struct {
	input  int // all of it
	cached int // the part that an earlier request of the conversation had
}

// promptOf knows the request as Read left it; of another it counts the body.
func promptOf(r script.Reply) prompt {
	if r.Request.Document == nil {
		return prompt{input: r.InputTokens()}
	}
	return measurePrompt(r.Request.Document)
}

// measurePrompt counts what the model reads, in its order.
func measurePrompt(body *tree.Node) prompt {
	var p prompt
	for _, name := range [][2]string{{"systemInstruction", "system_instruction"}, {"tools"}} {
		if n := body.Given(name[:]...); n != nil {
			p.input += countTokens(n)
		}
	}
	before, own, contents := 0, false, elementsOf(body.Given("contents"))
	for i := range contents {
		said := contents[i].Given("role").Text() == "model"
		if said && !own {
			before = p.input
		}
		own = said
		p.input += countTokens(contents[i])
	}
	if before >= leastCached {
		p.cached = before
	}
	return p
}

// usage is the running total. What is nothing is left out.
func (c *reply) usage(output, thought int) script.Object {
	u := script.Object{"promptTokenCount", c.input}
	if output > 0 {
		u = append(u, "candidatesTokenCount", output)
	}
	u = append(u, "totalTokenCount", c.input+output+thought)
	if c.cached > 0 {
		u = append(u, "cachedContentTokenCount", c.cached)
	}
	u = append(u, "promptTokensDetails", textDetails(c.input))
	if c.cached > 0 {
		u = append(u, "cacheTokensDetails", textDetails(c.cached))
	}
	if thought > 0 {
		u = append(u, "thoughtsTokenCount", thought)
	}
	return append(u, "serviceTier", "standard")
}

// textDetails are so many tokens of text, by kind of content.
func textDetails(n int) script.Array {
	return script.Array{script.Object{"modality", "TEXT", "tokenCount", n}}
}

// CountTokens is the body of a countTokens reply to a request that Check accepts:
// as many as the usage of a reply to it would say.
func (r Request) CountTokens() []byte {
	tokens := measurePrompt(r.q.body).input
	return prettyJSON(script.JSON(script.Object{"totalTokens", tokens, "promptTokensDetails", textDetails(tokens)}))
}

// countTokens estimates how many tokens a value counts for: its texts, and not
// the bytes of its images.
func countTokens(n *tree.Node) int {
	switch {
	case n.Is(tree.String):
		return script.Tokens(n.Text())
	case n.Is(tree.Number | tree.Bool):
		return script.Tokens(n.Raw())
	}
	sum := 0
	for i := range n.Items() {
		switch {
		case n.Is(tree.Object) && (n.Names()[i] == "inlineData" || n.Names()[i] == "inline_data"):
			sum += imageTokens
		case n.Is(tree.Object) && (n.Names()[i] == "thoughtSignature" || n.Names()[i] == "thought_signature"):
		default:
			sum += countTokens(n.Items()[i])
		}
	}
	return sum
}

// sseFrame puts chunks on the wire: events that end in CRLF CRLF, or a JSON array
// that grows (reference §1.4, §3.3).
func sseFrame(chunks [][]byte, form script.Form) [][]byte {
	var frames [][]byte
	for i, c := range chunks {
		switch {
		case form == script.FormSSE:
			frames = append(frames, joinFrames("data: ", withSpaces(c), "\r\n\r\n"))
		case i == 0:
			frames = append(frames, joinFrames("[", prettyJSON(c), ""))
		default:
			frames = append(frames, joinFrames(",\r\n", prettyJSON(c), ""))
		}
	}
	if form == script.FormArray {
		last := len(frames) - 1
		frames[last] = append(frames[last], "\n]"...)
	}
	return frames
}

func joinFrames(before string, body []byte, after string) []byte {
	return append(append([]byte(before), body...), after...)
}

// withSpaces writes JSON as the stream has it: a space after each colon between
// name and value, none after a comma, and < and > as escapes.
func withSpaces(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+len(doc)/8)
	quoted, escaped := false, false
	for _, c := range doc {
		switch {
		case quoted && c == '<':
			out = append(out, `\u003c`...)
			continue
		case quoted && c == '>':
			out = append(out, `\u003e`...)
			continue
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		out = append(out, c)
		if c == ':' && !quoted {
			out = append(out, ' ')
		}
		if c == '"' && !escaped {
			quoted = !quoted
		}
		escaped = quoted && c == '\\' && !escaped
	}
	return out
}

// prettyJSON writes JSON as unary replies have it: two spaces an indent.
func prettyJSON(doc []byte) []byte {
	return script.Compose(func(out []byte) []byte { return appendPretty(out, doc) })
}

// appendPretty does what json.Indent does, to JSON that is known to be valid.
func appendPretty(out, doc []byte) []byte {
	depth, opened := 0, false
	for at := 0; at < len(doc); {
		c := doc[at]
		at++
		switch c {
		case ' ', '\n', '\t', '\r':
			continue
		case '}', ']':
			if depth--; !opened {
				out = appendLine(out, depth)
			}
			out, opened = append(out, c), false
			continue
		}
		if opened {
			out, opened = appendLine(out, depth), false
		}
		switch out = append(out, c); c {
		case '{', '[':
			depth, opened = depth+1, true
		case ',':
			out = appendLine(out, depth)
		case ':':
			out = append(out, ' ')
		case '"':
			end := at + closingFrame(doc[at:])
			out, at = append(out, doc[at:end]...), end
		}
	}
	return out
}

// closingFrame is the length of a string behind its first quotation mark.
func closingFrame(s []byte) int {
	for i := 0; ; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

func appendLine(out []byte, depth int) []byte {
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}

// addCode adds what the provider ran and what came out of it (reference §3.3). The
// signature on it is one of its own: that of the turn follows.
func (c *reply) addCode(n int, b script.Block) {
	run := script.Object{"language", "PYTHON", "code", b.Code.Source}
	result := script.Object{"outcome", "OUTCOME_OK", "output", b.Code.Output}
	if issuesIDs(c.Request.Model) {
		id := c.ID("", n, script.Base36, 8)
		run, result = append(run, "id", id), append(result, "id", id)
	}
	c.output += script.Tokens(b.Code.Source)
	c.addPart(script.Object{"executableCode", run, "thoughtSignature", c.textSignature()})
	c.addPart(script.Object{"codeExecutionResult", result})
}

// addSearch adds the provider's call and its response, for a request that wants to
// see them (reference §3.3). Both are signed apart.
func (c *reply) addSearch(n int, b script.Block) {
	shown := c.Request.Document.Given("toolConfig", "tool_config").Given("includeServerSideToolInvocations",
		"include_server_side_tool_invocations")
	if !c.model.needsSignatures() || !shown.True() {
		return
	}
	const kind = "GOOGLE_SEARCH_WEB"
	id := c.ID("", n, script.Base36, 8)
	suggestions := script.Object{"search_suggestions", "<div class=\"container\">" + b.Search.Query + "</div>"}
	c.output += script.Tokens(b.Search.Query)
	c.addPart(script.Object{"toolCall",
		script.Object{"toolType", kind, "args", script.Object{"queries", script.Array{b.Search.Query}}, "id", id},
		"thoughtSignature", c.textSignature()})
	c.addPart(script.Object{"toolResponse", script.Object{"toolType", kind, "response", suggestions, "id", id},
		"thoughtSignature", c.textSignature()})
}

// grounding is what a candidate says of the searches behind it, nil without any.
func (c *reply) grounding() script.Object {
	queries, chunks := script.Array{}, script.Array{}
	for _, b := range c.Blocks {
		if b.Kind != specs.KindSearch {
			continue
		}
		queries = append(queries, b.Search.Query)
		for _, f := range b.Search.Results {
			chunks = append(chunks, script.Object{"web", script.Object{"uri", f.URL, "title", f.Title}})
		}
	}
	if len(queries) == 0 {
		return nil
	}
	return script.Object{"groundingMetadata", script.Object{"groundingChunks", chunks, "webSearchQueries", queries}}
}

// blockedDocument is the only chunk for a prompt that is not answered.
func (c *reply) blockedDocument() []byte {
	return script.JSON(append(script.Object{"promptFeedback", script.Object{"blockReason", "PROHIBITED_CONTENT"}},
		c.frame(nil, 0, 0)...))
}
