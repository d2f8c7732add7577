// Package openai is the wire of OpenAI's Responses API.
//
// [Wire] has its facts. The rest reads a request, checks it against the rules O-1 and following, and writes
// the reply byte for byte as api.openai.com writes it. The rules and the wire
// format are in specs/wire-rules.md, sections 1.2, 2.2, 3.2 and 5.2.
package openai

import (
	"net/http"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Provider is the script.Provider of OpenAI.
type Provider struct{}

// Request is a request that was read once: rules, script and reply look at the
// same reading. It is for one goroutine.
type Request struct{ q *request }

// Parse reads a request to POST /v1/responses. It never fails: what is wrong with
// it, Check says. The Request keeps hold of body, which must not change any more.
func Parse(r *http.Request, body []byte) Request { return Request{readRequest(r, body)} }

// Document is the body, nil when it is not JSON.
func (q Request) Document() *tree.Node { return q.q.body }

// Turn is what a script needs to know of a request that Check has accepted. Of
// others it refuses those without a key, a model or an input (rules O-1, O-3,
// O-5).
func (q Request) Turn() (script.Request, *script.Refusal) {
	switch in := q.q; {
	case in.key == "":
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "You didn't provide an API key."}
	case in.err != nil:
		return script.Request{}, script.Invalid("We could not parse the JSON body of your request: %v", in.err)
	case in.body.Text("model") == "" && !in.body.Has("prompt"):
		return script.Request{}, script.Invalid("Missing required parameter: 'model'.")
	}
	switch input, body := q.q.body.Get("input"), q.q.body; {
	case !body.Has("input") && (body.Has("prompt") || body.Has("conversation") || body.Has("previous_response_id")):
	case !body.Has("input"):
		return script.Request{}, script.Invalid("Missing required parameter: 'input'.")
	case !input.Is(tree.String | tree.Array):
		return script.Request{}, script.Invalid("Invalid type for 'input': expected one of a string or array of objects, but got %s instead.", describeKind(input.Kind()))
	}
	return q.q.scriptRequest(), nil
}

func (q *request) scriptRequest() script.Request {
	in := q.body
	out := script.Request{
		Provider: "openai", Model: q.model.id, Account: q.account, Body: q.sent, Document: q.body, Parsed: q,
		Thinks: q.thinks(), Shown: in.Get("reasoning").Has("summary"), IssuesTokens: q.includesResult("reasoning.encrypted_content"),
	}
	own := make([]bool, len(q.items))
	for i := range q.items {
		own[i] = q.items[i].isModels()
		if q.items[i].Text("role") == "user" {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	if !in.True("stream") {
		out.Form = script.FormUnary
	}
	for _, t := range q.tools {
		out.Tools = append(out.Tools, t.name)
	}
	return out
}
