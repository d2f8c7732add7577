package mutant

import (
	"net/http"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// openAIMutants disturb reasoning items.
var openAIMutants = []Mutant{
	{"use-added-blob", "sends the draft of the encrypted content", []string{"SIG-007"}, changeRequest(useAddedBlob, evidence.OpenAI)},
	{"trim-encrypted", "loses a character of encrypted content", []string{"SIG-007"}, changeRequest(changeReasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return rewriteMember(it.Node, cutCharacter, "encrypted_content")
	}), evidence.OpenAI)},
	{"drop-reasoning", "leaves reasoning out and keeps its calls", []string{"SIG-008"}, changeRequest(changeReasoning(func(e *editor, i int, it *wire.Item) bool {
		return i >= e.turnStart() && !e.req.Stateful && e.beforeCall(i) && e.removeItem(it)
	}), evidence.OpenAI)},
	{"lone-reasoning", "leaves out what followed reasoning", []string{"SIG-009"}, changeRequest(changeReasoning(loneReasoning), evidence.OpenAI)},
	{"drop-summary-part", "loses a part of a summary", []string{"SIG-010"}, changeRequest(changeReasoning(func(_ *editor, _ int, it *wire.Item) bool {
		s := it.Node.Get("summary")
		if len(s.List()) == 0 {
			return false
		}
		s.SetItems(s.Items()[1:])
		return true
	}), evidence.OpenAI)},
	{"omit-summary", "leaves out the summary list", []string{"SIG-010"}, changeRequest(changeReasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return dropMember(it.Node, "summary")
	}), evidence.OpenAI)},
	{"change-reasoning-id", "sends encrypted content under another id", []string{"SIG-011"}, changeRequest(changeReasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return rewriteMember(it.Node, func(s string) string { return s + "ff" }, "id")
	}), evidence.OpenAI)},
	{"store-conversation", "lets the provider store the conversation", []string{"SIG-012"}, changeRequest(func(e *editor) bool {
		return e.ev.Source != evidence.SourceRecording && e.doc.Get("store").False() && dropMember(e.doc, "store")
	}, evidence.OpenAI)},
	{"drop-include", "does not ask for encrypted content", []string{"SIG-012"}, changeRequest(func(e *editor) bool {
		return e.ev.Source != evidence.SourceRecording && dropMember(e.doc, "include")
	}, evidence.OpenAI)},
	{"lose-reasoning", "neither asks for reasoning nor sends it back", []string{"SIG-012"}, loseReasoning},
	{"strip-encrypted", "names reasoning that is not stored", []string{"SIG-013"}, changeRequest(changeReasoning(func(e *editor, _ int, it *wire.Item) bool {
		return it.ItemID != "" && e.doc.Get("store").False() && dropMember(it.Node, "encrypted_content")
	}), evidence.OpenAI)},
	{"name-image", "names an image that is not stored", []string{"SIG-013"}, changeRequest(func(e *editor) bool {
		all := e.messageList()
		if !all.Is(tree.Array) || !e.doc.Get("store").False() {
			return false
		}
		all.SetItems(append(all.Items(), mustParse(`{"type":"image_generation_call","id":"ig_0a1b2c"}`)))
		return true
	}, evidence.OpenAI)},
	{"drop-phase", "forgets the phase of a message", []string{"SIG-020"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Text && e.wasEmitted(it) && dropMember(it.Node, "phase")
		})
	}, evidence.OpenAI)},
}

// changeReasoning changes the first encrypted reasoning item that an earlier reply
// emitted and change takes.
func changeReasoning(change func(e *editor, i int, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			return it.What == wire.Thinking && it.Token != "" && e.emitted["token"+it.Token] && change(e, i, it)
		})
	}
}

// beforeCall reports whether a call the reply emitted follows item i.
func (e *editor) beforeCall(i int) bool {
	for i++; i < len(e.req.Items) && e.req.Items[i].Model(); i++ {
		if it := &e.req.Items[i]; it.What == wire.Call && e.wasEmitted(it) {
			return true
		}
	}
	return false
}

func loneReasoning(e *editor, i int, _ *wire.Item) bool {
	for k := i + 1; k < len(e.req.Items) && e.req.Items[k].Model(); k++ {
		if !e.removeItem(&e.req.Items[k]) {
			return false
		}
	}
	return true
}

// useAddedBlob finds the draft in the stream of an earlier exchange.
func useAddedBlob(e *editor) bool {
	drafts := map[string]string{} // item id to draft
	for k := range e.n {
		r := wire.ReadReply(e.x.Provider, e.ev.Exchanges[k].Response.Status, e.ev.Exchanges[k].Response.Body)
		for _, it := range r.Items {
			if len(it.DraftTokens) > 0 {
				drafts[it.ItemID] = it.DraftTokens[0]
			}
		}
	}
	return changeReasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return drafts[it.ItemID] != "" && setMember(it.Node, "encrypted_content", jsonString(drafts[it.ItemID]))
	})(e)
}

// loseReasoning lets a reply with calls come without the reasoning that it counts, as it
// does when nobody asks for it, and takes the reasoning out of the next request.
func loseReasoning(ev evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		start, n := e.turnStart(), e.n-1
		calls := ""
		for i := start; i < len(e.req.Items); i++ {
			if it := &e.req.Items[i]; it.Type == "function_call" && e.wasEmitted(it) {
				calls += "," + string(tree.Encode(it.Node))
			}
		}
		last := e.findItem(func(i int, it *wire.Item) bool { return i >= start && it.Type == "function_call_output" })
		if calls == "" || last < 0 || n < 0 || e.ev.Exchanges[n].Provider != evidence.OpenAI || !isFirstOfTurn(e, start) || e.req.Stateful {
			return false
		}
		e.eachItem(func(_ int, it *wire.Item) bool { return it.What == wire.Thinking && !e.removeItem(it) })
		if before := openEditor(e.ev, n, nil); dropMember(before.doc, "include") {
			before.x.Request.Body = tree.Encode(before.doc)
		}
		e.ev.Exchanges[n].Response = jsonResponse(http.StatusOK, `{"id":"resp_9","object":"response","status":"completed","output":[`+calls[1:]+`],"usage":{"output_tokens_details":{"reasoning_tokens":40}}}`)
		return true
	}, evidence.OpenAI)(ev)
}

// isFirstOfTurn reports whether the turn holds one reply so far, that of the exchange
// before.
func isFirstOfTurn(e *editor, start int) bool {
	before := openEditor(e.ev, e.n-1, nil)
	family := specs.ParseModel(e.req.Model).Family
	return (family == "gpt" || family == "o") && before.asksForAnswer() && before.turnStart() == start && len(before.req.Items) == start
}
