// Package anthropic is the wire of Anthropic's Messages API.
//
// [Wire] has its facts. The rest reads a request, checks it against the rules A-1 and following, and writes
// the reply byte for byte as api.anthropic.com writes it. The rules and the wire
// format are in specs/wire-rules.md, sections 1.1, 2.1, 3.1 and 5.1.
package anthropic

import (
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

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
	out := script.Request{Provider: "anthropic", Model: c.name, Body: c.body, IssuesTokens: true, Document: c.root, Parsed: c}
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
	shown = display == "summarized" || display == "" && (c.model == nil || !c.model.hides)
	return on, on && shown
}
