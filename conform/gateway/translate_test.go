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
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
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
	thought := []string{`[{"type":"tool_use","id":"toolu_1"`,
		`[{"type":"thinking","thinking":"Both.","signature":"c2lnbmF0dXJl"},{"type":"tool_use","id":"toolu_1"`}
	mcp := []string{`"echo"`, `"mcp__plugin_tools__echo"`}
	image := []string{`"content":"alpha"`, `"content":[{"type":"text","text":"alpha"},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}]`}
	for _, tt := range []struct {
		name string
		// front edits what the client says, behind what arrives upstream: old and new texts in turn.
		front, behind []string
		want          string
	}{
		{"all arrives", nil, nil, ""},
		{"results in another order", nil,
			[]string{results,
				`{"role":"tool","tool_call_id":"call_2","content":"beta"},{"role":"tool","tool_call_id":"call_1","content":"alpha"}`}, ""},
		{"results exchanged", nil, []string{`"call_1","content"`, `"call_2","content"`, `"call_2","content"`,
			`"call_1","content"`}, "GW-13 GW-13"},
		{"an image of a result lost", image, nil, "GW-9"},
		{"an image of a result in a text of the user", image, []string{`"content":"beta"}]`,
			`"content":"beta"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}]}]`},
			""},
		{"a result lost", nil, []string{`"content":"alpha"`, `"content":"gone"`}, "GW-9"},
		{"system prompt in two messages", nil,
			[]string{`Be careful.\n\nBe brief.`, `Be careful."},{"role":"system","content":"Be brief.`}, ""},
		{"system prompt added", nil, []string{`{"role":"system"`,
			`{"role":"system","content":"You are a gateway."},{"role":"system"`}, "GW-7"},
		{"system prompt lengthened", nil, []string{`Be brief.`, `Be brief. Be kind.`}, "GW-7"},
		{"system prompt lost", nil, []string{`Be careful.`, ``}, "GW-7"},
		{"description lost", nil, []string{`"description":"Returns the text.",`, ``}, "GW-26"},
		{"no description to lose", []string{`"description":"Returns the text.",`, ``},
			[]string{`"description":"Returns the text.",`, `"description":"",`}, ""},
		{"tool lost", nil, []string{`"name":"echo","description"`, `"name":"other","description"`}, "GW-26"},
		{"name of an MCP tool", mcp, mcp, ""},
		{"name of an MCP tool cut", mcp, []string{`"echo"`, `"plugin-echo"`}, "GW-26 GW-9 GW-9"},
		{"thinking comes back", thought,
			[]string{`"assistant","tool_calls"`, `"assistant","reasoning_content":"Both.","tool_calls"`}, ""},
		{"thinking lost", thought, nil, "GW-10"},
		{"thinking of an earlier turn",
			append([]string{`"content":"beta"}]}]`, `"content":"beta"},{"type":"text","text":"Again."}]}]`},
				thought...), []string{`"content":"beta"}]`, `"content":"beta"},{"role":"user","content":"Again."}]`},
			""},
		{"a call changed", nil, []string{`{\"text\":\"alpha\"}`, `{\"text\":\"al\"}`}, "GW-9"},
		{"choice lost", nil, []string{`,"tool_choice":"required"`, ``}, "GW-29"},
		{"choice that is the default", choose("auto"), []string{`,"tool_choice":"required"`, ``}, ""},
		{"no tool may be called, and none is offered", choose("none"),
			[]string{`"tools":[{"type":"function","function":{"name":"echo","description":"Returns the text.","parameters":{"type":"object"}}}],"tool_choice":"required",`, ``}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, u := bothSides(edited(t, messagesRequest, tt.front), "chat", edited(t, chatRequest, tt.behind))
			c.compareMeaning(u)
			if got := breachesOf(c.DutyCase); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRefusedReply holds that the refusal of one wire may become that of another, and an answer may not, and that the
// id of a request crosses under the name of the client's wire.
func TestRefusedReply(t *testing.T) {
	const (
		messages = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"No."}],
"stop_reason":"refusal","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`
		chat = `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",
"content":null,"refusal":"No."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
		responses = `{"id":"1","object":"response","status":"completed","model":"m","output":[{"id":"msg_1","type":"message",
"role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"No."}]}],
"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}`
	)
	for _, tt := range []struct{ wire, reply, id, want string }{
		{"chat", chat, "r1", ""}, {"openai", responses, "r1", ""}, {"chat", chat, "r2", "GW-15"},
		{"chat", strings.Replace(chat, `null,"refusal":"No."`, `"No."`, 1), "r1", "GW-29"},
	} {
		c, u := bothSides(messagesRequest, tt.wire, chatRequest)
		c.answer.Response = evidence.Response{Status: 200, Header: http.Header{"Request-Id": {tt.id}}, Body: []byte(messages)}
		u.Response = evidence.Response{Status: 200, Header: http.Header{"X-Request-Id": {"r1"}}, Body: []byte(tt.reply)}
		c.answer.Reply, u.reply = c.answer.ReadReply(), u.ReadReply()
		c.compareReply(u)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reply, got, tt.want)
		}
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
		{"anthropic", 503, 529, ""}, {"anthropic", 503, 503, ""}, {"anthropic", 503, 500, "GW-14"},
		{"anthropic", 429, 529, "GW-14"}, {"chat", 503, 529, "GW-14"},
	} {
		c, u := bothSides(messagesRequest, "chat", chatRequest)
		c.Wire = wires.Find(tt.wire)
		c.answer.Response = evidence.Response{Status: tt.front, Header: http.Header{}, Body: []byte(words)}
		u.Response = evidence.Response{Status: tt.upstream, Header: http.Header{}, Body: []byte(words)}
		c.answer.Reply, u.reply = c.answer.ReadReply(), u.ReadReply()
		c.compareErrors(u)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: %d becomes %d: got %q, want %q", tt.wire, tt.upstream, tt.front, got, tt.want)
		}
	}
}

// TestWordsOfErrors holds that the end of a line behind the words of an error need not cross.
func TestWordsOfErrors(t *testing.T) {
	for words, want := range map[string]string{`Busy.\n`: "", `Busy now.`: "GW-14"} {
		c, u := bothSides(messagesRequest, "chat", chatRequest)
		c.answer.Response = evidence.Response{Status: 500, Header: http.Header{},
			Body: []byte(`{"error":{"message":"Busy."}}`)}
		u.Response = evidence.Response{Status: 500, Header: http.Header{},
			Body: []byte(`{"error":{"message":"` + words + `"}}`)}
		c.answer.Reply, u.reply = c.answer.ReadReply(), u.ReadReply()
		c.compareErrors(u)
		if got := breachesOf(c.DutyCase); got != want {
			t.Errorf("%s: got %q, want %q", words, got, want)
		}
	}
}

// TestOrderOfItems holds that a text that came or went is one finding, and that another order is one.
func TestOrderOfItems(t *testing.T) {
	text, thought, other := wire.Item{What: wire.Text, Text: "a"}, wire.Item{What: wire.Thinking, Text: "b"},
		wire.Item{What: wire.Opaque}
	for _, tt := range []struct {
		name    string
		was, is []wire.Item
		want    string
	}{
		{"a text is added", []wire.Item{thought}, []wire.Item{thought, text},
			"the text that the client reads is not what the upstream sent: 0 bytes became 1"},
		{"the text is lost", []wire.Item{text}, nil,
			"the text that the client reads is not what the upstream sent: 1 bytes became 0"},
		{"another order", []wire.Item{thought, text}, []wire.Item{text, thought},
			"the upstream said thinking, text, and the client reads text, thinking"},
		{"out of nothing", nil, []wire.Item{other}, "the upstream said nothing, and the client reads block"},
	} {
		c, _ := bothSides(messagesRequest, "chat", chatRequest)
		c.compareItems(tt.was, tt.is)
		var said []string
		for _, r := range c.Results() {
			for _, f := range r.Findings {
				said = append(said, f.Message)
			}
		}
		if got := strings.Join(said, "; "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestCutCall holds that arguments that a limit cut need not cross to a wire that carries JSON only.
func TestCutCall(t *testing.T) {
	c, u := bothSides(messagesRequest, "chat",
		strings.Replace(chatRequest, `{\"text\":\"alpha\"}`, `{\"text\":\"al`, 1))
	c.compareHistory(u.asked, c.answer.ReadRequest())
	if got := breachesOf(c.DutyCase); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestCallsWithoutIDs holds that calls keep their ids apart, where the upstream's wire wants ids.
func TestCallsWithoutIDs(t *testing.T) {
	for _, tt := range []struct{ ids, want string }{{`"id":"call_1" "id":"call_2"`, ""}, {`"id":"" "id":""`, ""},
		{`"id":"call_1" "id":"call_1"`, "GW-13"}} {
		first, second, _ := strings.Cut(tt.ids, " ")
		c, u := bothSides(messagesRequest, "chat",
			edited(t, chatRequest, []string{`"id":"call_1"`, first, `"id":"call_2"`, second}))
		c.compareHistory(c.answer.ReadRequest(), u.asked)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.ids, got, tt.want)
		}
	}
}

// TestFailedResult holds that the mark of a failed tool arrives as a wire marks failures, where it does.
func TestFailedResult(t *testing.T) {
	failed := strings.NewReplacer(`"toolu_1","content"`, `"toolu_1","is_error":true,"content"`).Replace(messagesRequest)
	const contents = `{"systemInstruction":{"parts":[{"text":"Be careful."},{"text":"Be brief."}]},
"tools":[{"functionDeclarations":[{"name":"echo","description":"Returns the text.","parameters":{"type":"OBJECT"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},
"contents":[{"role":"user","parts":[{"text":"Both."}]},
{"role":"model","parts":[{"functionCall":{"name":"echo","args":{"text":"alpha"}}},{"functionCall":{"name":"echo","args":{"text":"beta"}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"echo","response":{"error":"alpha"}}},{"functionResponse":{"name":"echo","response":{"output":"beta"}}}]}]}`
	for _, tt := range []struct{ wire, behind, want string }{
		{"gemini", contents, ""}, {"gemini", strings.Replace(contents, `"error"`, `"output"`, 1), "GW-9"},
		{"chat", chatRequest, ""},
	} {
		c, u := bothSides(failed, tt.wire, tt.behind)
		c.compareResults(c.answer.ReadRequest(), u.asked)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.wire, got, tt.want)
		}
	}
}

// TestCounts holds that counters arrive in those of the client's wire, with what came from the cache.
func TestCounts(t *testing.T) {
	const whole = `{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":7}}`
	for _, tt := range []struct{ name, old, is, want string }{
		{"converted", "", "", ""},
		{"cached tokens lost", `100,"cache_read_input_tokens":900`, `1000`, "GW-24"},
		{"cached tokens counted twice", `:100,`, `:1000,`, "GW-24"},
		{"output lost", `:7`, `:0`, "GW-24"},
	} {
		c, u := bothSides(messagesRequest, "chat", chatRequest)
		u.Response.Body = []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":1000,"completion_tokens":7,"total_tokens":1007,"prompt_tokens_details":{"cached_tokens":900}}}`)
		c.answer.Response = evidence.Response{Status: http.StatusOK, Header: http.Header{},
			Body: []byte(strings.Replace(whole, tt.old, tt.is, 1))}
		c.compareUsage(u.ReadReply(), c.answer.ReadReply())
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRefusedBehind holds that what the model behind the gateway refuses from every client is not the gateway's fault,
// and that words of an error arrive where they stand in JSON inside of the client's message.
func TestRefusedBehind(t *testing.T) {
	const refusal = `{"error":{"message":"Line 1\nof ` + "`reasoning_content`" +
		` in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`
	answered := func(status int, body string) *client.Answer {
		a := &client.Answer{Exchange: evidence.Exchange{Provider: "chat",
			Response: evidence.Response{Status: status, Header: http.Header{}, Body: []byte(body)}}}
		a.Reply = a.ReadReply()
		return a
	}
	for _, tt := range []struct {
		behind *client.Answer
		want   string
	}{{nil, "GW-29"}, {answered(http.StatusOK, "{}"), "GW-29"}, {answered(http.StatusBadRequest, refusal), ""}} {
		c, u := bothSides(messagesRequest, "chat", chatRequest)
		u.Response = evidence.Response{Status: http.StatusBadRequest, Header: http.Header{}, Body: []byte(refusal)}
		u.reply = u.ReadReply()
		c.direct, c.behind = answered(http.StatusOK, "{}"), tt.behind
		c.answer.Response = evidence.Response{Status: http.StatusBadRequest, Header: http.Header{},
			Body: []byte(`{"error":{"message":` + string(tree.Quote("Error: "+refusal)) + `}}`)}
		c.answer.Reply = c.answer.ReadReply()
		c.compareRefusal(u)
		c.compareErrors(u)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("got %q, want %q: %+v", got, tt.want, c.DutyCase.Results())
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

// bothSides compares a request of Messages with what arrives on another wire, where it was accepted.
func bothSides(front, upstream, behind string) (*comparer, *received) {
	asks := func(provider, path, body string) evidence.Exchange {
		return evidence.Exchange{Provider: provider,
			Request: evidence.Request{Method: http.MethodPost, URL: "http://127.0.0.1" + path, Body: []byte(body)}}
	}
	w := wires.Find(upstream)
	u := &received{Exchange: asks(upstream, w.Models.Path, behind)}
	u.Response.Status = http.StatusOK
	u.asked = u.ReadRequest()
	return &comparer{
		DutyCase: report.NewDutyCase("c", "anthropic"), Config: Config{Wire: wires.Find("anthropic"), UpstreamWire: w},
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

// TestBlocksOfOneWire holds that a block that only the upstream's wire has may be left out, and that none may be added.
func TestBlocksOfOneWire(t *testing.T) {
	text, block := wire.Item{What: wire.Text, Text: "Done."}, wire.Item{What: wire.Opaque, Type: "new_block"}
	for _, tt := range []struct {
		name    string
		was, is []wire.Item
		want    string
	}{
		{"left out", []wire.Item{block, text}, []wire.Item{text}, ""},
		{"carried", []wire.Item{block, text}, []wire.Item{block, text}, ""},
		{"added", []wire.Item{text}, []wire.Item{block, text}, "GW-29"},
	} {
		c, _ := bothSides(messagesRequest, "chat", chatRequest)
		c.compareItems(tt.was, tt.is)
		if got := breachesOf(c.DutyCase); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
