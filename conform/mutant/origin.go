package mutant

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// originMutants send state to where it was not sealed.
var originMutants = []Mutant{
	{"leak-token", "sends a token to another provider", []string{"SIG-018"}, leakToken},
	{"switch-model", "goes on with another model", []string{"SIG-019", "MOD-002"}, switchModel},
}

// leakToken appends a request to another provider that carries a token.
func leakToken(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
		for k := range r.Items {
			if t := r.Items[k].Token; t != "" {
				ev.Exchanges = append(ev.Exchanges, foreignExchange(x.Provider, len(ev.Exchanges), t))
				ev.Exchanges[len(ev.Exchanges)-1].Index = ev.Exchanges[len(ev.Exchanges)-2].Index + 1
				return ev, true
			}
		}
	}
	return ev, false
}

func foreignExchange(provider string, n int, token string) evidence.Exchange {
	x := evidence.Exchange{Index: n, Provider: evidence.OpenAI, Process: -1}
	x.Request = evidence.Request{Method: "POST", URL: "https://api.openai.com/v1/responses",
		Body: []byte(`{"model":"gpt-5.2","store":false,"input":[{"type":"reasoning","summary":[],"encrypted_content":` +
			string(tree.Quote(token)) + `},{"role":"assistant","content":"ok"},{"role":"user","content":"Go on."}]}`)}
	if provider == evidence.OpenAI {
		x.Provider = evidence.Anthropic
		x.Request.URL = "https://api.anthropic.com/v1/messages"
		x.Request.Body = []byte(`{"model":"claude-opus-4-6","max_tokens":1024,"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":` +
			string(tree.Quote(token)) + `},{"type":"text","text":"ok"}]},{"role":"user","content":"Go on."}]}`)
	}
	return x
}

func switchModel(ev evidence.Evidence) (evidence.Evidence, bool) {
	another := map[string]string{evidence.Anthropic: "claude-fable-5", evidence.OpenAI: "gpt-6-astra", evidence.Gemini: "gemini-4-argon"}
	sendsToken := func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.Token != "" && e.emitted["token"+wire.TokenKey(e.x.Provider, it.Token)]
		})
	}
	return changeRequest(func(e *editor) bool {
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
		return setMember(e.doc, "model", jsonString(model))
	}
	return old != model && strings.Contains(e.x.Request.URL, model)
}
