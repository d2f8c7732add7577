// Package anthropic is the wire of Anthropic's Messages API.
//
// [Wire] has its facts. The rest reads a request, checks it against the rules A-1 and following, and writes
// the reply byte for byte as api.anthropic.com writes it. The rules and the wire
// format are in specs/wire-rules.md, sections 1.1, 2.1, 3.1 and 5.1.
package anthropic

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// call is a request, read once for all rules. Whatever the body holds, the
// methods find nothing where nothing is.
type call struct {
	header http.Header
	body   []byte
	size   int        // of the body, in bytes
	root   *tree.Node // nil when the body is not JSON
	bad    error      // why
	betas  []string
	// betasUnknown is set where a recording may have dropped the header that names them.
	betasUnknown bool
	// versionUnknown is set where a recording does not show whether the version was there.
	versionUnknown bool
	url            *url.URL // of a recorded request
	paused         bool     // a recording shows that the provider paused the last turn
	counts         bool     // asks for a count of tokens
	name           string
	model          *model // nil when it is not served
	takes          specs.Capability
	tools          []wire.Tool
	said           []message
	turns          []turn
	flaws          []flaw
	looked         bool      // inspected has run
	tokens         *verifier // that has run over all thinking, nil before
}

// message is one message of the request as it stands there.
type message struct {
	role   string
	blocks []block
	*tree.Node
}

// block is a content block and where it stands. A text that stands for a whole
// content is its only block, of kind "text" and without a node.
type block struct {
	message, index int
	kind, text     string
	*tree.Node
}

// turn is what one side says until the other answers: messages of one role in a
// row are one turn. System messages stand apart from turns.
type turn struct {
	role    string
	message int // the index of the first message
	last    int // the index of the last message
	blocks  []block
}

// readCall reads a request. It never fails: rules say what is wrong with it.
func readCall(r *http.Request, body []byte) *call {
	c := parseCall(r.Header, body)
	c.counts = strings.HasSuffix(r.URL.Path, "/count_tokens")
	return c
}

func parseCall(h http.Header, body []byte) *call {
	root, err := tree.ParseStrict(body, tree.MaxDepth)
	c := newCall(h, root)
	c.body, c.size, c.bad = body, len(body), err
	return c
}

// newCall reads a request whose body was parsed.
func newCall(h http.Header, root *tree.Node) *call {
	c := &call{header: h, root: root, betas: betasOf(h)}
	c.name = c.root.Text("model")
	c.model, c.takes = modelOf(c.name), specs.FindCapability("anthropic", c.name)
	for i, m := range c.root.List("messages") {
		c.said = append(c.said, messageOf(i, m))
	}
	c.turns, c.tools = turnsOf(c.said), toolsOf(root)
	return c
}

func betasOf(h http.Header) []string {
	var names []string
	for _, line := range h.Values("Anthropic-Beta") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

func messageOf(i int, m *tree.Node) message {
	out := message{role: m.Text("role"), Node: m}
	content := m.Get("content")
	if content.Is(tree.String) {
		out.blocks = []block{{message: i, kind: "text", text: content.Text()}}
		return out
	}
	list := content.List()
	for j := range list {
		b := block{message: i, index: j, kind: list[j].Text("type"), Node: list[j]}
		b.text = b.Text("text")
		out.blocks = append(out.blocks, b)
	}
	return out
}

func turnsOf(said []message) []turn {
	var turns []turn
	for i, m := range said {
		if m.role == "system" {
			continue
		}
		if n := len(turns); n == 0 || turns[n-1].role != m.role {
			turns = append(turns, turn{role: m.role, message: i})
		}
		t := &turns[len(turns)-1]
		t.last = i
		t.blocks = append(t.blocks, m.blocks...)
	}
	return turns
}

func (c *call) hasBeta(name string) bool { return slices.Contains(c.betas, name) }

// apiKey is the credential, from either header that may carry it.
func (c *call) apiKey() string {
	if key := c.header.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(c.header.Get("Authorization"), "Bearer ")
}

// thinkingForm is the form of thinking in force, "" when the model does not think.
func (c *call) thinkingForm() string {
	switch kind := c.root.Given("thinking").Text("type"); {
	case kind == thinkDisabled:
		return ""
	case kind == "" && c.model.hasTrait(canThink):
		return thinkAdaptive
	default:
		return kind
	}
}

// forcesTool reports whether the request forces a tool.
func (c *call) forcesTool() bool {
	kind := c.root.Given("tool_choice").Text("type")
	return kind == "any" || kind == "tool"
}

// latestAssistantTurn is the index in turns of the last one of the assistant, -1 if there is
// none.
func (c *call) latestAssistantTurn() int {
	for i, t := range slices.Backward(c.turns) {
		if t.role == "assistant" {
			return i
		}
	}
	return -1
}

// lastMessage is the last message, nil if there is none.
func (c *call) lastMessage() *message {
	if len(c.said) == 0 {
		return nil
	}
	return &c.said[len(c.said)-1]
}

// blocksOf yields the blocks of some kinds, in order.
func (c *call) blocksOf(kinds ...string) iter.Seq[block] {
	return func(yield func(block) bool) {
		for _, m := range c.said {
			for _, b := range m.blocks {
				if slices.Contains(kinds, b.kind) && !yield(b) {
					return
				}
			}
		}
	}
}

// place is the path of the block in the body.
func (b block) place() string {
	if b.Node == nil {
		return fmt.Sprintf("messages[%d].content", b.message)
	}
	return fmt.Sprintf("messages[%d].content[%d]", b.message, b.index)
}

// toolID is the id of a call, or of the call that a result answers.
func (b block) toolID() string {
	if b.kind == "tool_result" {
		return b.Text("tool_use_id")
	}
	return b.Text("id")
}

// label names the kind of the block for people.
func (b block) label() string { return strings.ReplaceAll(b.kind, "_", " ") }

// isThinking reports whether the block is thinking, in clear or not.
func (b block) isThinking() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }

// Provider is the script.Provider of Anthropic.
type Provider struct{}

// Request is a request that was read once: rules, script and reply look at the
// same reading. It is for one goroutine.
type Request struct{ call *call }

// Parse reads a request for messages or for their count. It never fails: what is
// wrong with it, Check says. The Request keeps hold of r and body, which must not
// change any more.
func Parse(r *http.Request, body []byte) Request { return Request{readCall(r, body)} }

// Check returns the first demand of the API that the request breaks, in the API's own order: key, headers, size,
// JSON, schema, model, parameters, messages, limits, seals (reference §5.1); nil if the request is accepted. It
// serves messages and count_tokens.
func (q Request) Check(env rule.Env) *rule.Refusal { return rule.First(rules, q.call, env) }

// Document is the body, nil when it is not JSON.
func (q Request) Document() *tree.Node { return q.call.root }

// Turn is what a script needs to know of the request (rules ).
// What else it must be, Check says.
func (q Request) Turn() (script.Request, *script.Refusal) {
	c := q.call
	switch {
	case c.header.Get("Anthropic-Version") == "":
		return script.Request{}, script.Invalid("anthropic-version: header is required")
	case c.apiKey() == "":
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "x-api-key header is required"}
	case c.root == nil:
		return script.Request{}, script.Invalid("the request body is not valid JSON: %v", c.bad)
	case c.name == "":
		return script.Request{}, script.Invalid("model: Field required")
	case len(c.said) == 0:
		return script.Request{}, script.Invalid("messages: at least one message is required")
	}
	out := script.Request{Provider: "anthropic", Model: c.name, Body: c.body, IssuesTokens: true,
		Document: c.root, Parsed: c}
	if !c.root.True("stream") {
		out.Form = script.FormUnary
	}
	for _, t := range c.turns {
		if t.role == "assistant" {
			out.Turns++
		}
	}
	out.Prompts = countPrompts(c)
	out.Continues = c.lastMessage().role == "assistant"
	out.Tools = CallableTools(c.root)
	out.Thinks, out.Shown = c.showsThinking()
	return out, nil
}

// countPrompts counts the messages in which the user says something: a text, not
// only results.
func countPrompts(c *call) int {
	n := 0
	for _, m := range c.said {
		if m.role == "user" && slices.ContainsFunc(m.blocks, func(b block) bool { return b.kind == "text" }) {
			n++
		}
	}
	return n
}

// showsThinking reports whether the model thinks, and whether the text of its thoughts
// is shown: newer models withhold it unless asked for it (reference §6.1).
func (c *call) showsThinking() (on, shown bool) {
	on = c.thinkingForm() != ""
	display := c.root.Given("thinking").Text("display")
	shown = display == "summarized" || display == "" && !c.model.hasTrait(canHide)
	return on, on && shown
}

// imageTokens is what a picture or a document of unknown length counts for.
const imageTokens = 1600

// CountTokens answers a request to count tokens that Check has accepted. The
// count is an estimate, the same for the same body.
func (q Request) CountTokens() []byte {
	return script.JSON(script.Object{"input_tokens", inputTokens(q.call.root)})
}

// tokensOf estimates what a value counts for: everything that the model reads,
// pictures at a flat rate.
func tokensOf(v *tree.Node) int {
	switch {
	case v == nil:
		return 0
	case v.Is(tree.String):
		return script.Tokens(v.Text())
	case v.Text("type") == "base64":
		return imageTokens
	}
	n := 0
	for i := range v.Items() {
		if i < len(v.Names()) {
			if v.Names()[i] == "signature" || v.Names()[i] == "cache_control" {
				continue
			}
			n++
		}
		n += tokensOf(v.Items()[i])
	}
	return n
}

// inputTokens is what the prompt counts for.
func inputTokens(root *tree.Node) int { return measurePrompt(root).total }
