package mutant

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// anthropicMutants disturb thinking.
var anthropicMutants = []Mutant{
	{"trim-signature", "loses a character of a signature", []string{"SIG-001"}, request(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return it.What == wire.Thinking && rewrite(it.Node, trim, "signature")
	}), evidence.Anthropic)},
	{"edit-thinking", "changes the text under a signature", []string{"SIG-001"}, request(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return it.What == wire.Thinking && rewrite(it.Node, dot, "thinking")
	}), evidence.Anthropic)},
	{"drop-thinking", "leaves out the thinking of the open turn", []string{"SIG-002", "SIG-004"}, request(dropThinking, evidence.Anthropic)},
	{"drop-redacted", "leaves out redacted thinking", []string{"SIG-002"}, request(thinkingBlock(func(e *editor, it *wire.Item) bool {
		return it.What == wire.Redacted && e.remove(it)
	}), evidence.Anthropic)},
	{"trim-redacted", "loses a character of redacted data", []string{"SIG-003"}, request(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return it.What == wire.Redacted && rewrite(it.Node, trim, "data")
	}), evidence.Anthropic)},
	{"thinking-last", "puts thinking after the calls it led to", []string{"SIG-004"}, request(thinkingLast, evidence.Anthropic)},
	{"omit-thinking-text", "leaves out the empty thinking text", []string{"SIG-005"}, request(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return drop(it.Node, "thinking")
	}), evidence.Anthropic)},
	{"omit-signature", "leaves out a signature", []string{"SIG-005"}, request(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return drop(it.Node, "signature")
	}), evidence.Anthropic)},
	{"drop-middle-thinking", "leaves out thinking between other thinking", []string{"SIG-006"}, request(dropMiddleThinking, evidence.Anthropic)},
}

// thinkingBlock changes the first hidden block of the open turn that an earlier
// reply emitted and change takes.
func thinkingBlock(change func(e *editor, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.each(func(i int, it *wire.Item) bool {
			return i >= e.turn() && it.Continuity() && it.Token != "" && e.known(it) && change(e, it)
		})
	}
}

// leadsLast finds hidden blocks that begin the last message of the model before
// tool results, with a call in it: the ones every API asks for.
func leadsLast(e *editor) (blocks []*wire.Item) {
	last := len(e.req.Items) - 1
	for last >= 0 && e.req.Items[last].What == wire.Result {
		last--
	}
	if last < 0 || last == len(e.req.Items)-1 || e.req.Items[last].What != wire.Call {
		return nil
	}
	first := last
	for first > 0 && e.req.Items[first-1].Model() {
		first--
	}
	for i := first; i <= last && e.req.Items[i].Continuity(); i++ {
		if it := &e.req.Items[i]; it.Token == "" || !e.known(it) {
			return nil
		}
		blocks = append(blocks, &e.req.Items[i])
	}
	return blocks
}

func dropThinking(e *editor) bool {
	blocks := leadsLast(e)
	if t := e.doc.Get("thinking").Get("type").Str(); t == "disabled" {
		return false
	}
	for _, it := range blocks {
		if !e.remove(it) {
			return false
		}
	}
	return len(blocks) > 0
}

func thinkingLast(e *editor) bool {
	blocks := leadsLast(e)
	if len(blocks) == 0 || e.doc.Get("thinking").Get("type").Str() != "enabled" {
		return false
	}
	list, k := e.place(blocks[0])
	if k != 0 || len(list.Items) == len(blocks) {
		return false
	}
	list.Items = append(list.Items[len(blocks):], list.Items[:len(blocks)]...)
	return true
}

func dropMiddleThinking(e *editor) bool {
	var blocks []*wire.Item
	e.each(func(_ int, it *wire.Item) bool {
		if it.Continuity() && it.Token != "" && e.known(it) {
			blocks = append(blocks, it)
		}
		return false
	})
	return len(blocks) > 2 && e.remove(blocks[1])
}

// openAIMutants disturb reasoning items.
var openAIMutants = []Mutant{
	{"use-added-blob", "sends the draft of the encrypted content", []string{"SIG-007"}, request(useAddedBlob, evidence.OpenAI)},
	{"trim-encrypted", "loses a character of encrypted content", []string{"SIG-007"}, request(reasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return rewrite(it.Node, trim, "encrypted_content")
	}), evidence.OpenAI)},
	{"drop-reasoning", "leaves reasoning out and keeps its calls", []string{"SIG-008"}, request(reasoning(func(e *editor, i int, it *wire.Item) bool {
		return i >= e.turn() && !e.req.Stateful && e.beforeCall(i) && e.remove(it)
	}), evidence.OpenAI)},
	{"lone-reasoning", "leaves out what followed reasoning", []string{"SIG-009"}, request(reasoning(loneReasoning), evidence.OpenAI)},
	{"drop-summary-part", "loses a part of a summary", []string{"SIG-010"}, request(reasoning(func(_ *editor, _ int, it *wire.Item) bool {
		s := it.Node.Get("summary")
		if len(s.Elems()) == 0 {
			return false
		}
		s.Items = s.Items[1:]
		return true
	}), evidence.OpenAI)},
	{"omit-summary", "leaves out the summary list", []string{"SIG-010"}, request(reasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return drop(it.Node, "summary")
	}), evidence.OpenAI)},
	{"change-reasoning-id", "sends encrypted content under another id", []string{"SIG-011"}, request(reasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return rewrite(it.Node, func(s string) string { return s + "ff" }, "id")
	}), evidence.OpenAI)},
	{"store-conversation", "lets the provider store the conversation", []string{"SIG-012"}, request(func(e *editor) bool {
		return e.doc.Get("store").Is('f') && drop(e.doc, "store")
	}, evidence.OpenAI)},
	{"drop-include", "does not ask for encrypted content", []string{"SIG-012"}, request(func(e *editor) bool { return drop(e.doc, "include") }, evidence.OpenAI)},
	{"strip-encrypted", "names reasoning that is not stored", []string{"SIG-013"}, request(reasoning(func(e *editor, _ int, it *wire.Item) bool {
		return it.ItemID != "" && e.doc.Get("store").Is('f') && drop(it.Node, "encrypted_content")
	}), evidence.OpenAI)},
	{"drop-phase", "forgets the phase of a message", []string{"SIG-020"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool { return it.What == wire.Text && e.known(it) && drop(it.Node, "phase") })
	}, evidence.OpenAI)},
}

// reasoning changes the first encrypted reasoning item that an earlier reply
// emitted and change takes.
func reasoning(change func(e *editor, i int, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.each(func(i int, it *wire.Item) bool {
			return it.What == wire.Thinking && it.Token != "" && e.emitted["token"+it.Token] && change(e, i, it)
		})
	}
}

// beforeCall reports whether a call the reply emitted follows item i.
func (e *editor) beforeCall(i int) bool {
	for i++; i < len(e.req.Items) && e.req.Items[i].Model(); i++ {
		if it := &e.req.Items[i]; it.What == wire.Call && e.known(it) {
			return true
		}
	}
	return false
}

func loneReasoning(e *editor, i int, _ *wire.Item) bool {
	for k := i + 1; k < len(e.req.Items) && e.req.Items[k].Model(); k++ {
		if !e.remove(&e.req.Items[k]) {
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
	return reasoning(func(_ *editor, _ int, it *wire.Item) bool {
		return drafts[it.ItemID] != "" && set(it.Node, "encrypted_content", str(drafts[it.ItemID]))
	})(e)
}

// geminiMutants disturb thought signatures.
var geminiMutants = []Mutant{
	{"drop-call-signature", "loses the signature of a call", []string{"SIG-014"}, request(signedCall(func(e *editor, i int, it *wire.Item) bool {
		return i >= e.turn() && strings.HasPrefix(e.req.Model, "gemini-3") && drop(it.Node, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"trim-thought-signature", "loses bytes of a signature", []string{"SIG-015"}, request(signedCall(func(_ *editor, _ int, it *wire.Item) bool {
		return len(it.Token) > 12 && rewrite(it.Node, func(s string) string { return s[:8] + s[12:] }, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"break-base64", "writes a signature that is no base64", []string{"SIG-015"}, request(signedCall(func(_ *editor, _ int, it *wire.Item) bool {
		return rewrite(it.Node, func(s string) string { return "%" + s }, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"signature-to-response", "moves the signature of a call to its response", []string{"SIG-016"}, request(signedCall(signatureToResponse), evidence.Gemini)},
	{"signature-inside-call", "puts the signature into the call", []string{"SIG-016"}, request(signedCall(func(_ *editor, _ int, it *wire.Item) bool {
		return set(part(it), "thoughtSignature", str(it.Token)) && drop(it.Node, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"drop-signed-text", "leaves out a signed text part", []string{"SIG-017"}, request(signedText(func(e *editor, it *wire.Item) bool {
		list, _ := e.place(it)
		return list != nil && len(list.Items) > 1 && e.remove(it)
	}), evidence.Gemini)},
	{"drop-text-signature", "joins a signed text with what stands before it", []string{"SIG-017"}, request(signedText(func(_ *editor, it *wire.Item) bool {
		return it.Text != "" && drop(it.Node, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
}

func signedCall(change func(e *editor, i int, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.each(func(i int, it *wire.Item) bool {
			return it.What == wire.Call && e.emitted["token"+wire.TokenKey(evidence.Gemini, it.Token)] && change(e, i, it)
		})
	}
}

func signedText(change func(e *editor, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return it.What == wire.Text && it.Model() && it.Token != "" && e.emitted["token"+wire.TokenKey(evidence.Gemini, it.Token)] && change(e, it)
		})
	}
}

func signatureToResponse(e *editor, i int, it *wire.Item) bool {
	for k := i + 1; k < len(e.req.Items); k++ {
		res := &e.req.Items[k]
		if res.What == wire.Result && res.Name == it.Name {
			return set(res.Node, "thoughtSignature", str(it.Token)) && drop(it.Node, "thoughtSignature", "thought_signature")
		}
	}
	return false
}

// originMutants send state to where it was not sealed.
var originMutants = []Mutant{
	{"leak-token", "sends a token to another provider", []string{"SIG-018"}, leakToken},
	{"switch-model", "goes on with another model", []string{"SIG-019", "MOD-002"}, switchModel},
}

// leakToken appends a request to another provider that carries a token.
func leakToken(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = clone(ev)
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
		for k := range r.Items {
			if t := r.Items[k].Token; t != "" {
				ev.Exchanges = append(ev.Exchanges, foreign(x.Provider, len(ev.Exchanges), t))
				ev.Exchanges[len(ev.Exchanges)-1].Index = ev.Exchanges[len(ev.Exchanges)-2].Index + 1
				return ev, true
			}
		}
	}
	return ev, false
}

func foreign(provider string, n int, token string) evidence.Exchange {
	x := evidence.Exchange{Index: n, Provider: evidence.OpenAI, Process: -1}
	x.Request = evidence.Request{Method: "POST", URL: "https://api.openai.com/v1/responses",
		Body: []byte(`{"model":"gpt-5.2","store":false,"input":[{"type":"reasoning","summary":[],"encrypted_content":` +
			string(wire.Quote(token)) + `},{"role":"assistant","content":"ok"},{"role":"user","content":"Go on."}]}`)}
	if provider == evidence.OpenAI {
		x.Provider = evidence.Anthropic
		x.Request.URL = "https://api.anthropic.com/v1/messages"
		x.Request.Body = []byte(`{"model":"claude-opus-4-6","max_tokens":1024,"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":` +
			string(wire.Quote(token)) + `},{"type":"text","text":"ok"}]},{"role":"user","content":"Go on."}]}`)
	}
	return x
}

func switchModel(ev evidence.Evidence) (evidence.Evidence, bool) {
	another := map[string]string{evidence.Anthropic: "claude-fable-5", evidence.OpenAI: "gpt-6-astra", evidence.Gemini: "gemini-4-argon"}
	sendsToken := func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return it.Token != "" && e.emitted["token"+wire.TokenKey(e.x.Provider, it.Token)]
		})
	}
	return request(func(e *editor) bool {
		return e.req.Model != "" && sendsToken(e) && e.setModel(another[e.x.Provider])
	})(ev)
}

// setModel changes the model where the provider takes it from.
func (e *editor) setModel(model string) bool {
	old := e.req.Model
	if e.x.Provider == evidence.Gemini {
		e.x.Request.URL = strings.Replace(e.x.Request.URL, "/"+old+":", "/"+model+":", 1)
	}
	if e.doc.Get("model") != nil {
		return set(e.doc, "model", str(model))
	}
	return old != model && strings.Contains(e.x.Request.URL, model)
}
