// Package anthropic speaks the Anthropic Messages wire: what a request means
// and how a reply looks, byte for byte as api.anthropic.com writes it
// (reference §1.1, §2.1, §3.1).
package anthropic

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
)

// Voice is the script.Voice of Anthropic.
type Voice struct{}

// Provider returns "anthropic".
func (Voice) Provider() string { return "anthropic" }

// Serves reports whether path is the Messages call.
func (Voice) Serves(path string) bool { return path == "/v1/messages" }

type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Thinking struct {
		Type    string `json:"type"`
		Display string `json:"display"`
	} `json:"thinking"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// prompts reports whether the user says something in the message: a text, not
// only results.
func (m message) prompts() bool {
	if m.Role != "user" {
		return false
	}
	var blocks []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.Content, &blocks) != nil {
		return true // a plain string
	}
	for _, b := range blocks {
		if b.Type == "text" {
			return true
		}
	}
	return false
}

// Read understands a Messages request (rules ).
func (v Voice) Read(r *http.Request, body []byte) (script.Request, *script.Refusal) {
	if r.Header.Get("anthropic-version") == "" {
		return script.Request{}, script.Invalid("anthropic-version: header is required")
	}
	if r.Header.Get("x-api-key") == "" && r.Header.Get("Authorization") == "" {
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "x-api-key header is required"}
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return script.Request{}, script.Invalid("the request body is not valid JSON: %v", err)
	}
	if in.Model == "" {
		return script.Request{}, script.Invalid("model: Field required")
	}
	if len(in.Messages) == 0 {
		return script.Request{}, script.Invalid("messages: at least one message is required")
	}
	out := script.Request{Provider: v.Provider(), Model: in.Model, Body: body, Sealed: true}
	if !in.Stream {
		out.Form = script.FormUnary
	}
	own := make([]bool, len(in.Messages))
	for i, m := range in.Messages {
		own[i] = m.Role == "assistant"
		if m.prompts() {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, t.Name)
	}
	out.Thinks, out.Shown = thinks(in.Model, in.Thinking.Type, in.Thinking.Display)
	return out, nil
}

// alwaysOn are the models that think without being asked, hides those that
// withhold the text unless asked for it (reference §6.1).
var (
	alwaysOn = []string{"claude-sonnet-5", "claude-opus-5", "claude-fable", "claude-mythos"}
	hides    = append([]string{"claude-opus-4-7", "claude-opus-4-8"}, alwaysOn...)
)

func thinks(model, kind, display string) (on, shown bool) {
	family := func(prefix string) bool { return strings.HasPrefix(model, prefix) }
	on = kind == "enabled" || kind == "adaptive" || kind == "" && slices.ContainsFunc(alwaysOn, family)
	shown = display == "summarized" || display == "" && !slices.ContainsFunc(hides, family)
	return on, on && shown
}
