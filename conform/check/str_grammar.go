package check

import (
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// grammarRules judge the order of events inside a stream, each provider by its
// own grammar (reference §3).
var grammarRules = map[string]rule{
	"STR-003/grammar": func(s *Trace, r *report) { s.eachStreamOf(wires.Blocks, r, anthropicStream) },
	"STR-004/grammar": func(s *Trace, r *report) { s.eachStreamOf(wires.ItemList, r, openAIStream) },
	"STR-005/grammar": func(s *Trace, r *report) { s.eachStreamOf(wires.Contents, r, geminiStream) },
	"STR-006/deltas":  deltasAgree,
}

func (s *Trace) eachStreamOf(h wires.Habit, r *report, f func(*exchange, *report)) {
	s.eachStream(func(x *exchange) {
		if x.wire.Has(h) {
			f(x, r)
		}
	})
}

// geminiStream: every chunk is a reply or an error, and all are of one reply.
func geminiStream(x *exchange, r *report) {
	id := ""
	for i, e := range x.reply.Events {
		if e.JSON == nil {
			continue
		}
		r.addObserved(1)
		at := wire.Place{Event: i, Off: e.DataOff}
		if !e.JSON.Is(tree.Object) {
			r.addFinding(x, at, "§3.3", "chunk is not an object")
		}
		got := e.JSON.Any("responseId", "response_id").Text()
		if id != "" && got != "" && got != id {
			r.addFinding(x, at, "§3.3", "responseId changes from %s to %s inside one stream", maskToken(id), maskToken(got))
		}
		if got != "" {
			id = got
		}
		geminiParts(x, r, at, e.JSON)
	}
}

func geminiParts(x *exchange, r *report, at wire.Place, chunk *tree.Node) {
	for _, c := range chunk.Get("candidates").List() {
		if role := c.Get("content").Get("role"); role != nil && role.Text() != "model" {
			r.addFinding(x, at, "§3.3", "candidate has role %q, not model", role.Text())
		}
		for _, p := range c.Get("content").Get("parts").List() {
			if t := p.Any("thoughtSignature", "thought_signature"); t != nil && !tree.IsBase64(t.Text()) {
				r.addFinding(x, at, "G-19", "signature %s is not base64", maskToken(t.Text()))
			}
		}
	}
}
