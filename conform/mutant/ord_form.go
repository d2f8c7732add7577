package mutant

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// formMutants break the form of requests.
var formMutants = []Mutant{
	{"empty-text", "adds a text block or part that holds nothing", []string{"ORD-014"}, changeRequest(func(e *editor) bool {
		empty := map[string]string{evidence.Anthropic: `{"type":"text","text":""}`, evidence.Gemini: `{}`}[e.x.Provider]
		return e.eachItem(func(_ int, it *wire.Item) bool { return e.insertNode(it, 1, mustParse(empty)) })
	}, evidence.Anthropic, evidence.Gemini)},
	{"empty-message", "empties a message", []string{"ORD-014"}, changeRequest(func(e *editor) bool {
		if len(e.req.Msgs) < 2 {
			return false
		}
		m := e.req.Msgs[0].Node
		return m.Get("content") != nil && setMember(m, "content", mustParse("[]")) || m.Get("parts") != nil && setMember(m, "parts", mustParse("[]"))
	}, evidence.Anthropic, evidence.Gemini)},
	{"bad-id", "gives a call an id the provider does not take", []string{"ORD-015"}, changeRequest(func(e *editor) bool {
		field, id := "id", "functions.echo:0"
		if e.x.Provider == evidence.OpenAI {
			field, id = "call_id", strings.Repeat("call_", 14)
		}
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && setMember(it.Node, field, jsonString(id))
		})
	}, evidence.Anthropic, evidence.OpenAI)},
	{"wrong-argument-form", "sends arguments or results as another JSON type", []string{"ORD-015"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			switch {
			case e.x.Provider == evidence.Gemini:
				return it.What == wire.Result && setMember(ownFields(it), "response", jsonString("heron"))
			case it.Type == "function_call":
				return setMember(it.Node, "arguments", mustParse("{}"))
			}
			return it.What == wire.Call && setMember(it.Node, "input", jsonString("{}"))
		})
	})},
	{"wrong-role", "gives a message a role that the provider does not know", []string{"ORD-015"}, changeRequest(func(e *editor) bool {
		return len(e.req.Msgs) > 0 && e.req.Msgs[0].Node.Get("role") != nil && setMember(e.req.Msgs[0].Node, "role", jsonString("tool"))
	})},
	{"mark-thinking", "puts a cache mark on a thinking block", []string{"ORD-015"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.Continuity() && setMember(it.Node, "cache_control", mustParse(`{"type":"ephemeral"}`))
		})
	}, evidence.Anthropic)},
	{"wrong-speaker", "gives the assistant's words the type of the client's", []string{"ORD-015"}, changeRequest(wrongSpeaker, evidence.OpenAI)},
	{"half-surrogate", "cuts a text inside a character", []string{"ORD-015"}, halveSurrogate},
	{"two-in-one-part", "puts a text into the part of a call", []string{"ORD-015"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && setMember(it.Node, "text", jsonString("And so I call"))
		})
	}, evidence.Gemini)},
	{"other-speaker", "lets the user think", []string{"ORD-015"}, changeRequest(func(e *editor) bool {
		for _, m := range e.req.Msgs {
			if m.Role == "assistant" && e.findItem(func(_ int, it *wire.Item) bool { return e.req.Msgs[it.Msg].Node == m.Node && it.Continuity() }) >= 0 {
				return setMember(m.Node, "role", jsonString("user"))
			}
		}
		return false
	}, evidence.Anthropic)},
	{"end-with-assistant", "ends the request with words of the model", []string{"ORD-016"}, changeRequest(endWithAssistant, evidence.Anthropic, evidence.Gemini)},
}

func wrongSpeaker(e *editor) bool {
	for _, m := range e.req.Msgs {
		if m.Node.Get("role").Text() != "assistant" {
			continue
		}
		for _, p := range m.Node.Get("content").List() {
			if setMember(p, "type", jsonString("input_text")) {
				return true
			}
		}
	}
	return false
}

func endWithAssistant(e *editor) bool {
	last := `{"role":"assistant","content":"And then"}`
	if e.x.Provider == evidence.Gemini {
		last = `{"role":"model","parts":[{"text":"And then"}]}`
	}
	if !e.capability().DoesRefuse("prefill") {
		return false // continues a prefilled answer
	}
	e.messageList().SetItems(append(e.messageList().Items(), mustParse(last)))
	return true
}

// halveSurrogate puts the first half of a pair before the first text of a request.
func halveSurrogate(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		at := bytes.Index(x.Request.Body, []byte(`"text":"`))
		if e := openEditor(&ev, i, nil); at < 0 || !e.asksForAnswer() {
			continue
		}
		at += len(`"text":"`)
		x.Request.Body = slices.Insert(slices.Clone(x.Request.Body), at, []byte(`\ud83d`)...)
		return ev, true
	}
	return ev, false
}
