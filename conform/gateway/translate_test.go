package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/wires"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// The same conversation on both wires: a system prompt, a tool, and two calls with their results.
const (
	messagesRequest = `{"model":"claude-opus-4-6","max_tokens":9,"system":[{"type":"text","text":"Be careful."},{"type":"text","text":"Be brief."}],
"tools":[{"name":"echo","description":"Returns the text.","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},
"messages":[{"role":"user","content":"Both."},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"echo","input":{"text":"alpha"}},{"type":"tool_use","id":"toolu_2","name":"echo","input":{"text":"beta"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"alpha"},{"type":"tool_result","tool_use_id":"toolu_2","content":"beta"}]}]}`
	chatRequest = `{"model":"gpt-4.1","max_tokens":9,
"tools":[{"type":"function","function":{"name":"echo","description":"Returns the text.","parameters":{"type":"object"}}}],"tool_choice":"required",
"messages":[{"role":"system","content":"Be careful.\n\nBe brief."},{"role":"user","content":"Both."},
{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"echo","arguments":"{\"text\":\"alpha\"}"}},{"id":"call_2","type":"function","function":{"name":"echo","arguments":"{\"text\":\"beta\"}"}}]},
{"role":"tool","tool_call_id":"call_1","content":"alpha"},{"role":"tool","tool_call_id":"call_2","content":"beta"}]}`
)

// TestMeaning holds which losses between two wires are found, each beside its nearest legal neighbour.
func TestMeaning(t *testing.T) {
	const results = `{"role":"tool","tool_call_id":"call_1","content":"alpha"},{"role":"tool","tool_call_id":"call_2","content":"beta"}`
	choose := func(choice string) []string {
		return []string{`"tool_choice":{"type":"any"}`, `"tool_choice":{"type":"` + choice + `"}`}
	}
	for _, tt := range []struct {
		name string
		// front edits what the client says, behind what arrives upstream: old and new texts in turn.
		front, behind []string
		want          string
	}{
		{"all arrives", nil, nil, ""},
		{"results in another order", nil, []string{results, `{"role":"tool","tool_call_id":"call_2","content":"beta"},{"role":"tool","tool_call_id":"call_1","content":"alpha"}`}, ""},
		{"results exchanged", nil, []string{`"call_1","content"`, `"call_2","content"`, `"call_2","content"`, `"call_1","content"`}, "GW-13 GW-13"},
		{"a result lost", nil, []string{`"content":"alpha"`, `"content":"gone"`}, "GW-9"},
		{"system prompt in two messages", nil, []string{`Be careful.\n\nBe brief.`, `Be careful."},{"role":"system","content":"Be brief.`}, ""},
		{"system prompt added", nil, []string{`{"role":"system"`, `{"role":"system","content":"You are a gateway."},{"role":"system"`}, "GW-7"},
		{"system prompt lengthened", nil, []string{`Be brief.`, `Be brief. Be kind.`}, "GW-7"},
		{"system prompt lost", nil, []string{`Be careful.`, ``}, "GW-7"},
		{"description lost", nil, []string{`"description":"Returns the text.",`, ``}, "GW-26"},
		{"no description to lose", []string{`"description":"Returns the text.",`, ``}, []string{`"description":"Returns the text.",`, `"description":"",`}, ""},
		{"tool lost", nil, []string{`"name":"echo","description"`, `"name":"other","description"`}, "GW-26"},
		{"choice lost", nil, []string{`,"tool_choice":"required"`, ``}, "GW-29"},
		{"choice that is the default", choose("auto"), []string{`,"tool_choice":"required"`, ``}, ""},
		{"no tool may be called, and none is offered", choose("none"), []string{`"tools":[{"type":"function","function":{"name":"echo","description":"Returns the text.","parameters":{"type":"object"}}}],"tool_choice":"required",`, ``}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, u := bothSides(edited(t, messagesRequest, tt.front), edited(t, chatRequest, tt.behind))
			c.compareMeaning(u)
			if got := breachesOf(c.DutyCase); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestOverloadedStatus holds that 503 may become the 529 of Messages, and no other status.
func TestOverloadedStatus(t *testing.T) {
	const words = `{"error":{"type":"server_error","message":"Busy."}}`
	for _, tt := range []struct {
		wire            string
		upstream, front int
		want            string
	}{
		{"anthropic", 503, 529, ""}, {"anthropic", 503, 503, ""}, {"anthropic", 503, 500, "GW-14"}, {"anthropic", 429, 529, "GW-14"}, {"chat", 503, 529, "GW-14"},
	} {
		c, u := bothSides(messagesRequest, chatRequest)
		c.wire = wires.Find(tt.wire)
		c.answer.Response = evidence.Response{Status: tt.front, Header: http.Header{}, Body: []byte(words)}
		u.Response = evidence.Response{Status: tt.upstream, Header: http.Header{}, Body: []byte(words)}
		c.answer.Reply, u.reply = c.answer.ReadReply(), u.ReadReply()
		c.compareErrors(u)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: %d becomes %d: got %q, want %q", tt.wire, tt.upstream, tt.front, got, tt.want)
		}
	}
}

func edited(t *testing.T, text string, edits []string) string {
	t.Helper()
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("%q stands nowhere", edits[i])
		}
	}
	return strings.NewReplacer(edits...).Replace(text)
}

// bothSides compares a request of Messages with what arrives on Chat Completions.
func bothSides(front, behind string) (*comparer, *received) {
	asks := func(provider, path, body string) evidence.Exchange {
		return evidence.Exchange{Provider: provider, Request: evidence.Request{Method: http.MethodPost, URL: "http://127.0.0.1" + path, Body: []byte(body)}}
	}
	u := &received{Exchange: asks("chat", "/v1/chat/completions", behind)}
	u.asked = u.ReadRequest()
	return &comparer{
		DutyCase: report.NewDutyCase("c", "anthropic"), setup: setup{wire: wires.Find("anthropic"), upstreamWire: wires.Find("chat")},
		asked: asked{answer: &client.Answer{Exchange: asks("anthropic", "/v1/messages", front)}},
	}, u
}

// breachesOf lists the duties that are broken.
func breachesOf(f *report.DutyCase) string {
	var ids []string
	for _, r := range f.Results() {
		for _, found := range r.Findings {
			ids = append(ids, cmp.Or(found.Check, r.Check))
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}
