package bench

import (
	"bytes"
	"math/rand/v2"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// sideConversation adds a conversation of one request: before everything (0),
// between two requests (1) or at the end (9).
func sideConversation(system, prompt, answer string, where int) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		k := anyGeneration(d, r)
		if !d.isComposable(k) || d.requests[k].at("input") != nil && d.requests[k].at("prompt") != nil {
			return Place{}, false
		}
		at := map[int]int{0: 0, 1: 1, 9: len(d.ev.Exchanges)}[where]
		if where == 1 && len(d.ev.Exchanges) < 2 {
			return Place{}, false
		}
		root := d.freshRequest(k, system, prompt)
		if system == "" {
			root = d.freshRequest(k, "You are a helpful agent.", prompt)
		}
		d.insertExchange(at, d.exchangeLike(k, root, answer, "side"))
		return Place{Exchange: at}, true
	}
}

// sideSamePrompt lets a sub-agent ask exactly what the user asked first.
func sideSamePrompt(d *draft, _ *rand.Rand) (Place, bool) {
	k := d.modelCalls()[0]
	for _, b := range d.blocks[k] {
		if b.kind == textBlock && b.role == "user" && b.text != "" && d.isComposable(k) && len(d.ev.Exchanges) > 1 {
			root := d.freshRequest(k, "You are a helper of another agent.", b.text)
			d.insertExchange(1, d.exchangeLike(k, root, "The helper has looked into it.", "same"))
			return Place{Exchange: 1}, true
		}
	}
	return Place{}, false
}

// textCopy sends the texts of the history, and nothing else, to a model.
func textCopy(asSummary bool) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		list := d.modelCalls()
		k := list[len(list)-1]
		var said []string
		for _, b := range d.blocks[k] {
			if b.kind == textBlock && b.text != "" && (b.role == "user" || b.role == "assistant") {
				said = append(said, b.role+": "+b.text)
			}
		}
		if len(said) < 2 || !d.isComposable(k) || strings.HasPrefix(d.modelName(k), smallModels[d.provider]) {
			return Place{}, false
		}
		root := d.freshRequest(k, "Summarise the conversation in one sentence.", "Please summarise:\n"+strings.Join(said, "\n\n"))
		if !asSummary {
			p := &page{provider: d.provider, root: root}
			p.turnList().members = nil
			for _, b := range d.blocks[k] {
				if b.kind == textBlock && strings.TrimSpace(b.text) != "" && (b.role == "user" || b.role == "assistant") {
					p.turnList().appendValue(p.newTurn(b.role, b.text))
				}
			}
			p.turnList().appendValue(p.newTurn("user", "Write a title for the conversation so far."))
		}
		d.insertExchange(len(d.ev.Exchanges), d.toSmallModel(k, root, "A short talk"))
		return Place{Exchange: len(d.ev.Exchanges) - 1}, true
	}
}

// summaryAppended asks for a summary at the end of the conversation itself.
func summaryAppended(d *draft, _ *rand.Rand) (Place, bool) {
	k, p, ok := d.withPrompt("Summarise the conversation so far for a new session.")
	if !ok {
		return Place{}, false
	}
	d.insertExchange(len(d.ev.Exchanges), d.exchangeLike(k, p.root, "We talked about it.", "summ"))
	return Place{Exchange: len(d.ev.Exchanges) - 1}, true
}

// withPrompt is the last request with its reply and one more prompt, for replies
// of plain text.
func (d *draft) withPrompt(prompt string) (int, *page, bool) {
	list := d.modelCalls()
	k := list[len(list)-1]
	reply := d.replies[k]
	if len(reply) != 1 || reply[0].kind != textBlock || reply[0].token != "" || strings.TrimSpace(reply[0].text) == "" || reply[0].text != strings.TrimSpace(reply[0].text) || !d.isComposable(k) {
		return 0, nil, false
	}
	p := d.editableRequest(k)
	if p.turnList().countMembers() == 0 || p.root.at("conversation") != nil || len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].role != "user" {
		return 0, nil, false
	}
	if d.provider == evidence.OpenAI && (p.root.at("previous_response_id") != nil || hasPhase(d.ev.Exchanges[k].Response.Body)) {
		return 0, nil, false
	}
	p.turnList().appendValue(p.newTurn("assistant", reply[0].text))
	p.turnList().appendValue(p.newTurn("user", prompt))
	return k, p, true
}

// hasPhase holds for replies whose messages name a phase, which must come back.
func hasPhase(body []byte) bool { return bytes.Contains(body, []byte(`"phase"`)) }

var smallModels = map[string]string{evidence.Anthropic: "claude-haiku-4-5", evidence.OpenAI: "gpt-5.4-nano", evidence.Gemini: "gemini-3.1-flash-lite"}

// smallModel asks a small model for a title.
func smallModel(d *draft, r *rand.Rand) (Place, bool) {
	k := anyGeneration(d, r)
	if !d.isComposable(k) {
		return Place{}, false
	}
	root := d.freshRequest(k, "Write a title for the message.", "Please look at the failing tests.")
	at := r.IntN(len(d.ev.Exchanges) + 1)
	d.insertExchange(at, d.toSmallModel(k, root, "Failing tests"))
	return Place{Exchange: at}, true
}

// toSmallModel sends root to a small model, without what only others take.
func (d *draft) toSmallModel(k int, root *node, answer string) evidence.Exchange {
	for _, key := range []string{"thinking", "reasoning", "temperature", "top_p", "top_k", "include", "generationConfig", "generation_config"} {
		root.removeKey(key)
	}
	name := smallModels[d.provider]
	root.removeKey("model") // which some clients of Gemini repeat from the URL
	if d.provider != evidence.Gemini {
		root.setMember("model", stringNode(name))
	}
	ex := d.exchangeLike(k, root, answer, "tiny")
	if d.provider == evidence.Gemini {
		ex.Request.URL = replaceModel(ex.Request.URL, d.modelName(k), name)
	}
	ex.Response.Body = composeReply(d.provider, d.wantsStream(k), name, answer, "tiny")
	return ex
}
