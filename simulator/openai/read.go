// Package openai speaks the OpenAI Responses wire: what a request means, which
// rules it must keep, and how a reply looks, byte for byte as api.openai.com
// writes it (reference §1.2, §2.2, §3.2, §5.2).
package openai

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/simulator/seal"
)

// Voice is the script.Voice of OpenAI.
type Voice struct{}

// Provider returns "openai".
func (Voice) Provider() string { return "openai" }

// Serves reports whether path is the Responses call.
func (Voice) Serves(path string) bool { return path == "/v1/responses" }

// Read understands a Responses request that Check has accepted. Of others it
// refuses those without a key, a model or an input (rules O-1, O-3, O-5).
func (v Voice) Read(r *http.Request, body []byte) (script.Request, *script.Refusal) {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "You didn't provide an API key."}
	}
	in, err := parse(body)
	if err != nil {
		return script.Request{}, script.Invalid("We could not parse the JSON body of your request: %v", err)
	}
	if in.str("model") == "" {
		return script.Request{}, script.Invalid("Missing required parameter: 'model'.")
	}
	input := in.get("input")
	switch {
	case input.kind == 0:
		return script.Request{}, script.Invalid("Missing required parameter: 'input'.")
	case input.kind&(text|array) == 0:
		return script.Request{}, script.Invalid("Invalid type for 'input': expected one of a string or array of objects, but got %s instead.", input.kind.got())
	}
	out := v.meaning(in, seal.Account(key))
	out.Body, out.Parsed = body, in
	return out, nil
}

func (v Voice) meaning(in *value, account string) script.Request {
	q := interpret(in, account, seal.Key{}) // what is sealed makes no difference here
	out := script.Request{
		Provider: v.Provider(), Model: q.model.id, Account: account,
		Thinks: q.thinks(), Shown: in.get("reasoning").has("summary"), Sealed: q.includes(),
	}
	own := make([]bool, len(q.items))
	for i := range q.items {
		own[i] = q.items[i].own()
		if q.items[i].str("role") == "user" {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	if !in.is("stream", false) {
		out.Form = script.FormUnary
	}
	for i := range in.items("tools") {
		out.Tools = append(out.Tools, in.items("tools")[i].str("name"))
	}
	return out
}
