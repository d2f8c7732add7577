package mutant

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// wrongSubjects get one thing wrong in every request they can. Whatever else
// they do right, none may pass.
var wrongSubjects = []Mutant{
	{ID: "forgetful", Does: "sends only the newest message", Apply: everyRequest(func(e *editor) bool {
		all := e.messageList()
		if len(all.List()) < 2 {
			return false
		}
		all.SetItems(all.Items()[len(all.Items())-1:])
		return true
	})},
	{ID: "scribbler", Does: "writes every token anew", Apply: everyRequest(func(e *editor) bool {
		changed := false
		e.eachItem(func(_ int, it *wire.Item) bool {
			if it.Model() && it.Token != "" && len(it.Token) > 8 {
				changed = rewriteMember(it.Node, cutCharacter, "signature", "data", "encrypted_content", "thoughtSignature", "thought_signature") || changed
			}
			return false
		})
		return changed
	})},
	{ID: "silent", Does: "answers no call", Apply: everyRequest(func(e *editor) bool {
		changed := false
		e.eachItem(func(_ int, it *wire.Item) bool {
			if it.What == wire.Result {
				changed = e.removeItem(it) || changed
			}
			return false
		})
		return changed
	})},
	{ID: "cheap", Does: "asks old models", Apply: everyRequest(func(e *editor) bool {
		return e.setModel(map[string]string{evidence.Anthropic: "claude-3-haiku-20240307", evidence.OpenAI: "gpt-3.5-turbo", evidence.Gemini: "gemini-1.5-flash"}[e.x.Provider])
	})},
}

// everyRequest changes all requests for which change returns true.
func everyRequest(change func(e *editor) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		applied := false
		for n := range ev.Exchanges {
			if e := openEditor(&ev, n, nil); e.asksForAnswer() && change(e) {
				e.x.Request.Body = tree.Encode(e.doc)
				applied = true
			}
		}
		return ev, applied
	}
}
