// Package gemini speaks the Gemini generateContent wire: what a request means,
// which are refused and how a reply looks, byte for byte as the Developer API
// writes it (reference §1.3, §2.3, §3.3, §5.3).
package gemini

import (
	"net/http"

	"github.com/meerkat-go/conformance/simulator/jsontree"
	"github.com/meerkat-go/conformance/simulator/script"
)

// Voice is the script.Voice of Gemini.
type Voice struct{}

// Provider returns "gemini".
func (Voice) Provider() string { return "gemini" }

// Serves reports whether path is a generate call of a model.
func (Voice) Serves(path string) bool {
	to, ok := routeOf(path)
	return ok && to.generates()
}

// Request is a request that was read once, for rules and script alike. It is for
// one goroutine.
type Request struct{ q *request }

// Parse reads a request to generate or to count tokens. It never fails: what is
// wrong with it, Check says. The Request keeps hold of r and body, which must not
// change any more.
func Parse(r *http.Request, body []byte) Request { return Request{readRequest(r, body)} }

// Document is the body, nil when it is not JSON.
func (r Request) Document() *jsontree.Node { return r.q.body }

// Read understands a generate request as Request.Turn does.
func (Voice) Read(r *http.Request, body []byte) (script.Request, *script.Refusal) {
	return Parse(r, body).Turn()
}

// Turn is what a script needs to know of a generate request. Of what is wrong
// with one it knows only what leaves nothing to answer; the rest is Check's.
func (r Request) Turn() (script.Request, *script.Refusal) {
	q := r.q
	if credential(q.Request) == "" {
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth}
	}
	if q.syntax != "" {
		return script.Request{}, script.Invalid("%s", q.syntax)
	}
	if len(q.contents) == 0 {
		return script.Request{}, script.Invalid("* GenerateContentRequest.contents: contents is not specified\n")
	}
	out := script.Request{
		Provider: Voice{}.Provider(), Model: q.route.model, Form: form(q.Request, q.method), Body: q.sent, Thinks: !q.thoughtless(),
		Shown:  q.thinking().Given("includeThoughts", "include_thoughts").True(),
		Sealed: true, Account: account(q.Request, q.route), Document: q.body,
	}
	own := make([]bool, len(q.contents))
	for i, c := range q.contents {
		own[i] = c.own()
		if c.says() {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, d := range q.declarations() {
		out.Tools = append(out.Tools, d.name())
	}
	return out, nil
}

// says reports whether the user says something in the content: a text, not only
// results.
func (c content) says() bool { return !c.own() && len(c.pick("text")) > 0 }

// thoughtless reports whether thinking is turned off, which Gemini 3 does not
// let one do.
func (q *request) thoughtless() bool {
	budget, ok := q.budget()
	return ok && budget == 0 && !q.model.Always && !q.model.signs()
}
