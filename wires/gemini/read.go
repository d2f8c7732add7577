// Package gemini is the wire of Google's generateContent.
//
// [Wire] has its facts. The rest reads a request, checks it against the rules G-1 and following, and writes
// the reply byte for byte as the Developer API writes it. The rules and the wire
// format are in specs/wire-rules.md, sections 1.3, 2.3, 3.3 and 5.3.
package gemini

import (
	"net/http"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

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
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth}
	}
	if q.syntax != "" {
		return script.Request{}, script.Invalid("%s", q.syntax)
	}
	if len(q.contents) == 0 {
		return script.Request{}, script.Invalid("* GenerateContentRequest.contents: contents is not specified\n")
	}
	out := script.Request{
		Provider: "gemini", Model: q.route.model, Form: formOf(q.Request, q.method), Body: q.sent, Thinks: !q.thinkingOff(),
		Shown:        q.thinkingConfig().Given("includeThoughts", "include_thoughts").True(),
		IssuesTokens: true, Account: accountOf(q.Request, q.route), Document: q.body,
	}
	own := make([]bool, len(q.contents))
	for i, c := range q.contents {
		own[i] = c.isModels()
		if c.hasUserText() {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, f := range q.functions {
		out.Tools = append(out.Tools, f.Name)
	}
	return out, nil
}

// hasUserText reports whether the user says something in the content: a text, not only
// results.
func (c content) hasUserText() bool { return !c.isModels() && len(c.partsWith("text")) > 0 }

// thinkingOff reports whether thinking is turned off, which Gemini 3 does not
// let one do.
func (q *request) thinkingOff() bool {
	budget, ok := q.thinkingBudget()
	return ok && budget == 0 && !q.model.takes.DoesRefuse("zero budget") && !q.model.needsSignatures()
}
