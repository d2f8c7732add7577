// Package anthropic speaks the Anthropic Messages wire: what a request means
// and how a reply looks, byte for byte as api.anthropic.com writes it
// (reference §1.1, §2.1, §3.1).
package anthropic

import (
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
)

// Voice is the script.Voice of Anthropic.
type Voice struct{}

// Provider returns "anthropic".
func (Voice) Provider() string { return "anthropic" }

// Serves reports whether path is the Messages call.
func (Voice) Serves(path string) bool { return path == "/v1/messages" }

// Read understands a Messages request (rules ). What else it
// must be, Check says.
func (v Voice) Read(r *http.Request, body []byte) (script.Request, *script.Refusal) {
	c := readCall(r, body)
	switch {
	case r.Header.Get("Anthropic-Version") == "":
		return script.Request{}, script.Invalid("anthropic-version: header is required")
	case c.key() == "":
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "x-api-key header is required"}
	case c.root == nil:
		return script.Request{}, script.Invalid("the request body is not valid JSON: %v", c.bad)
	case c.name == "":
		return script.Request{}, script.Invalid("model: Field required")
	case len(c.said) == 0:
		return script.Request{}, script.Invalid("messages: at least one message is required")
	}
	out := script.Request{Provider: v.Provider(), Model: c.name, Body: body, Sealed: true, Parsed: c}
	if !c.root.get("stream").yes() {
		out.Form = script.FormUnary
	}
	for _, t := range c.turns {
		if t.role == "assistant" {
			out.Turns++
		}
	}
	out.Prompts = prompts(c)
	for i := range c.root.get("tools").list() {
		out.Tools = append(out.Tools, c.root.get("tools").items[i].get("name").str())
	}
	out.Thinks, out.Shown = c.shows()
	return out, nil
}

// prompts counts the messages in which the user says something: a text, not
// only results.
func prompts(c *call) int {
	n := 0
	for _, m := range c.said {
		if m.role == "user" && slices.ContainsFunc(m.blocks, func(b block) bool { return b.kind == "text" }) {
			n++
		}
	}
	return n
}

// shows reports whether the model thinks, and whether the text of its thoughts
// is shown: newer models withhold it unless asked for it (reference §6.1).
func (c *call) shows() (on, shown bool) {
	on = c.thinking() != ""
	display := c.root.given("thinking").get("display").str()
	shown = display == "summarized" || display == "" && (c.model == nil || !c.model.hides)
	return on, on && shown
}
