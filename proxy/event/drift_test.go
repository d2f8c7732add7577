package event

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

const (
	anthropicURL = "https://api.anthropic.com/v1/messages"
	openaiURL    = "https://api.openai.com/v1/responses"
	geminiURL    = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
)

// said is what the little providers below reply with, except for the ids.
var said = map[string][]string{
	anthropicURL: {
		`{"type":"message_start","message":{"id":"ID1","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache":{"a":1}}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ID2"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"ID3","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`,
		`{"type":"message_stop"}`,
	},
	openaiURL: {
		`{"type":"response.created","response":{"id":"ID1","status":"in_progress","output":[],"usage":null}}`,
		`{"type":"response.in_progress","response":{"id":"ID1","status":"in_progress","output":[],"usage":null}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"ID2","content":[]}}`,
		`{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}`,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hel","obfuscation":"x"}`,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"lo","obfuscation":"xy"}`,
		`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"hello"}`,
		`{"type":"response.content_part.done","output_index":0,"content_index":0,"part":{"type":"output_text","text":"hello"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"ID2","content":[{"type":"output_text","text":"hello"}]}}`,
		`{"type":"response.completed","response":{"id":"ID1","status":"completed","output":[{"type":"message","id":"ID2"}],"usage":{"output_tokens":2}}}`,
	},
	geminiURL: {
		`{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":1},"responseId":"ID1"}`,
		`{"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"f","args":{"x":1}}}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":1},"responseId":"ID1"}`,
		`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2},"responseId":"ID1"}`,
	},
}

// reply is a recording of events, with ids of its own.
func reply(url, ids string, events []string) cassette.Interaction {
	body := "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
	return cassette.Interaction{
		End:     cassette.EndEOF,
		Request: cassette.Request{Method: "POST", URL: url, Body: []byte(`{"stream":true}`)},
		Response: cassette.Response{Status: 200, Body: []byte(strings.ReplaceAll(body, "ID", ids)),
			Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"},
				"Anthropic-Ratelimit-Requests-Limit": {"1"}, "Date": {"now"}, "Request-Id": {ids}}},
	}
}

// against compares two recorded replies with two of which the second is what
// change makes of them.
func against(url string, change func(in *cassette.Interaction, events []string) []string) []Finding {
	pair := func(change func(*cassette.Interaction, []string) []string) Pair {
		in := reply(url, "z", nil)
		events := change(&in, slices.Clone(said[url]))
		if events != nil {
			in.Response.Body = reply(url, "z", events).Response.Body
		}
		return Pair{ReplyOf(reply(url, "a", said[url])), ReplyOf(in)}
	}
	same := func(_ *cassette.Interaction, events []string) []string { return events }
	return Compare([]Pair{pair(same), pair(change)})
}

func edit(old, new string) func(*cassette.Interaction, []string) []string {
	return func(_ *cassette.Interaction, events []string) []string {
		return strings.Split(strings.Replace(strings.Join(events, "\n"), old, new, 1), "\n")
	}
}

func drop(n int) func(*cassette.Interaction, []string) []string {
	return func(_ *cassette.Interaction, events []string) []string { return slices.Delete(events, n, n+1) }
}

func swap(a, b int) func(*cassette.Interaction, []string) []string {
	return func(_ *cassette.Interaction, events []string) []string {
		events[a], events[b] = events[b], events[a]
		return events
	}
}

// mutants are changes to a provider's replies, and what is the worst to find.
var mutants = []struct {
	name, url, want string // the worst finding: severity rule event path
	change          func(*cassette.Interaction, []string) []string
}{
	{"nothing", anthropicURL, "", edit("", "")},
	{"nothing, openai", openaiURL, "", edit("", "")},
	{"nothing, gemini", geminiURL, "", edit("", "")},
	{"other text", anthropicURL, "", edit("hm", "let me see")},
	{"more pieces", openaiURL, "", edit(`"delta":"lo","obfuscation":"xy"}`, "\"delta\":\"l\",\"obfuscation\":\"\"}\n"+
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"o","obfuscation":"xy"}`)},
	{"a ping", anthropicURL, "", edit("\n", "\n{\"type\":\"ping\"}\n")},
	{"no message_start", anthropicURL, "breaking event-gone message_start ",
		func(_ *cassette.Interaction, e []string) []string { return e[1:] }},
	{"no message_delta", anthropicURL, "breaking event-gone message_delta ", drop(8)},
	{"block not closed", anthropicURL, "breaking event-gone content_block_stop ", drop(7)},
	{"item not closed", openaiURL, "breaking event-gone response.output_item.done ", drop(8)},
	{"no in_progress", openaiURL, "breaking event-gone response.in_progress ", drop(1)},
	{"no terminal", anthropicURL, "breaking ending  ", drop(9)},
	{"no terminal, openai", openaiURL, "breaking ending  ", drop(9)},
	{"no terminal, gemini", geminiURL, "breaking ending  ", edit(`"finishReason":"STOP",`, "")},
	{"no thought", anthropicURL, "notable event-gone content_block_delta/thinking_delta ", drop(2)},
	{"new event", anthropicURL, "notable event-new content_block_note ",
		edit("\n", "\n{\"type\":\"content_block_note\"}\n")},
	{"new block", anthropicURL, "notable event-new content_block_start/hologram ",
		edit(`{"type":"thinking",`, `{"type":"hologram",`)},
	{"new part", geminiURL, "notable event-new part/hologram ",
		edit(`{"functionCall"`, `{"hologram":{}},{"functionCall"`)},
	{"new kind in a list", openaiURL, "notable kind-new response.output_item.done/message item.content[](hologram)",
		edit(`[{"type":"output_text"`, `[{"type":"hologram"},{"type":"output_text"`)},
	{"new field", anthropicURL, "cosmetic field-new message_start message.mood",
		edit(`"message":{`, `"message":{"mood":"good",`)},
	{"new nested field", anthropicURL, "cosmetic field-new message_start message.mood",
		edit(`"message":{`, `"message":{"mood":{"deep":[{"x":1}]},`)},
	{"new field, gemini", geminiURL, "cosmetic field-new chunk candidates[].avgLogprobs",
		edit(`"finishReason"`, `"avgLogprobs":1,"finishReason"`)},
	{"field gone", anthropicURL, "breaking field-gone content_block_start/tool_use content_block.name",
		edit(`"name":"f",`, "")},
	{"count gone", anthropicURL, "notable field-gone message_start message.usage.cache", edit(`,"cache":{"a":1}`, "")},
	{"padding gone", openaiURL, "cosmetic field-gone response.output_text.delta obfuscation",
		edit(`,"obfuscation":"xy"`, "")},
	{"number to string", anthropicURL, "breaking type message_delta usage.output_tokens",
		edit(`"output_tokens":7`, `"output_tokens":"7"`)},
	{"object to list", geminiURL, "breaking type part/functionCall functionCall.args",
		edit(`"args":{"x":1}`, `"args":[1]`)},
	{"null to object", openaiURL, "", edit(`"output":[],"usage":null`, `"output":[],"usage":{}`)},
	{"string to null", anthropicURL, "notable null message_start message.id", edit(`"id":"ID1"`, `"id":null`)},
	{"other arguments", geminiURL, "", edit(`{"x":1}`, `{"y":{"z":"2"}}`)},
	{"stop before delta", anthropicURL, "breaking order message_delta ", swap(8, 9)},
	{"delta before start", anthropicURL, "breaking order content_block_start ", swap(1, 2)},
	{"done before delta", openaiURL, "breaking order response.output_text.delta ", swap(5, 6)},
	{"blocks the other way round", anthropicURL, "", func(_ *cassette.Interaction, e []string) []string {
		list := slices.Concat(e[:1], e[5:8], e[1:5], e[8:])
		text := strings.NewReplacer(`"index":0`, `"index":1`, `"index":1`,
			`"index":0`).Replace(strings.Join(list, "\n"))
		return strings.Split(text, "\n")
	}},
	{"other stop reason", anthropicURL, "notable stop-reason  ",
		edit(`"stop_reason":"tool_use"`, `"stop_reason":"end_turn"`)},
	{"failed", anthropicURL, "breaking status  ", func(in *cassette.Interaction, _ []string) []string {
		in.Response.Status, in.Response.Body = 400, []byte(`{"type":"error"}`)
		return nil
	}},
	{"other success", anthropicURL, "notable status  ", func(in *cassette.Interaction, e []string) []string {
		in.Response.Status = 201
		return e
	}},
	{"reset behind the end", anthropicURL, "notable ending  ", func(in *cassette.Interaction, e []string) []string {
		in.End = cassette.EndReset
		return e
	}},
	{"media type", geminiURL, "breaking media-type  ", func(in *cassette.Interaction, _ []string) []string {
		in.Response.Header.Set("Content-Type", "application/json")
		in.Response.Body = []byte("[" + strings.Join(said[geminiURL], ",") + "]")
		return nil
	}},
	{"new header", anthropicURL, "cosmetic header-new  x-mood", func(in *cassette.Interaction, e []string) []string {
		in.Response.Header.Set("X-Mood", "good")
		return e
	}},
	{"header gone", anthropicURL, "notable header-gone  anthropic-ratelimit-*",
		func(in *cassette.Interaction, e []string) []string {
			in.Response.Header.Del("Anthropic-Ratelimit-Requests-Limit")
			return e
		}},
	{"another limit of the family", anthropicURL, "", func(in *cassette.Interaction, e []string) []string {
		in.Response.Header.Del("Anthropic-Ratelimit-Requests-Limit")
		in.Response.Header.Set("Anthropic-Ratelimit-Tokens-Limit", "2")
		return e
	}},
	{"headers of the way", anthropicURL, "", func(in *cassette.Interaction, e []string) []string {
		in.Response.Header.Del("Date")
		in.Response.Header.Set("CF-Ray", "1")
		return e
	}},
	{"nonsense", anthropicURL, "breaking ending  ", func(in *cassette.Interaction, _ []string) []string {
		in.Response.Body = []byte("data: {\"type\":\"message_start\",[}}\n\n\xff")
		return nil
	}},
}

// Each mutant is found, and judged as the package says.
func TestMutants(t *testing.T) {
	for _, tt := range mutants {
		t.Run(tt.name, func(t *testing.T) {
			found := against(tt.url, tt.change)
			got := ""
			var all []string
			for _, f := range found {
				all = append(all, fmt.Sprintf("%s %s %s %s", f.Severity, f.Rule, f.Event, f.Path))
			}
			if len(found) > 0 {
				worst, _ := Worst(found)
				same := slices.ContainsFunc(all, func(s string) bool { return s == tt.want })
				if got = all[0]; same && strings.HasPrefix(tt.want, worst.String()) {
					got = tt.want
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q; all:\n%s", got, tt.want, strings.Join(all, "\n"))
			}
			if again := against(tt.url, tt.change); !slices.EqualFunc(found, again, func(a, b Finding) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
				t.Error("the order changes from run to run")
			}
		})
	}
}

func TestFindingsNameThePairs(t *testing.T) {
	was, is := ReplyOf(reply(anthropicURL, "a", said[anthropicURL])),
		ReplyOf(reply(anthropicURL, "a", said[anthropicURL]))
	is.Status = 202
	found := Compare([]Pair{{was, is}, {was, was}, {was, is}})
	if len(found) != 1 || !slices.Equal(found[0].Pairs, []int{0, 2}) {
		t.Errorf("%+v", found)
	}
}

func TestErrorsHaveAShapeToo(t *testing.T) {
	bad := func(body string) Reply {
		in := reply(anthropicURL, "a", nil)
		in.Response.Status, in.Response.Body = 400, []byte(body)
		in.Response.Header.Set("Content-Type", "application/json")
		return ReplyOf(in)
	}
	was := bad(`{"type":"error","error":{"type":"invalid_request_error","message":"m"}}`)
	found := Compare([]Pair{{was, bad(`{"type":"error","error":{"type":"invalid_request_error"}}`)}})
	if len(found) != 1 || found[0].Rule != "field-gone" || found[0].Group != "anthropic stream error" {
		t.Errorf("%+v", found)
	}
}

func TestSeverity(t *testing.T) {
	for _, name := range Severities() {
		s, err := ParseSeverity(name)
		text, _ := s.MarshalText()
		if err != nil || string(text) != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if _, err := ParseSeverity("bad"); err == nil || !strings.Contains(err.Error(), "cosmetic, notable, breaking") {
		t.Error(err)
	}
	for status, want := range map[int]bool{200: false, 400: false, 404: false, 401: true, 429: true,
		529: true, 0: true} {
		if Inconclusive(status) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
}

func TestChanges(t *testing.T) {
	url := anthropicURL
	for _, tt := range []struct {
		name, want string
		change     func(*cassette.Interaction, []string) []string
	}{
		{"ids and signatures only", "", edit("", "")},
		{"text", `text content_block_delta/thinking_delta 0: "hm" → "hmm"`, edit(`"hm"`, `"hmm"`)},
		{"text in other pieces", "", edit(`"thinking":"hm"}}`, "\"thinking\":\"h\"}}\n"+
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}`)},
		{"arguments", `text content_block_delta/input_json_delta 1: "{\"a\":1}" → "{\"a\":2}"`,
			edit(`\"a\":1`, `\"a\":2`)},
		{"stop", `stop message_delta delta.stop_reason: "\"tool_use\"" → "\"end_turn\""`,
			edit(`"stop_reason":"tool_use"`, `"stop_reason":"end_turn"`)},
		{"usage", `usage message_delta usage.output_tokens: "7" → "8"`, edit(`"output_tokens":7`, `"output_tokens":8`)},
		{"tool", `value content_block_start/tool_use 1 content_block.name: "\"f\"" → "\"g\""`,
			edit(`"name":"f"`, `"name":"g"`)},
		{"a text is gone", `removed content_block_delta/thinking_delta 0: "hm" → ""`, drop(2)},
		{"an event more", `added content_block_note: "" → ""`, edit("\n", "\n{\"type\":\"content_block_note\"}\n")},
		{"an id more before the others", `value message_start message.extra_id: "" → "id#1"`,
			edit(`"message":{`, `"message":{"extra_id":"x",`)},
		{"one id for two", `value content_block_start/tool_use 1 content_block.id: "id#2" → "id#1"`,
			edit("ID3", "ID1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fold := func(ids string, events []string) []Item {
				return Fold(Of(reply(url, ids, events)), NewNames())
			}
			in := cassette.Interaction{}
			var got []string
			for _, c := range Changes(fold("a", said[url]), fold("b", tt.change(&in, slices.Clone(said[url]))),
				NewRenaming()) {
				got = append(got, fmt.Sprintf("%s: %q → %q",
					strings.Join(strings.Fields(fmt.Sprint(c.Kind, " ", c.Item, " ", c.Path)), " "), c.Old, c.New))
			}
			if text := strings.Join(got, "\n"); text != tt.want {
				t.Errorf("\n got %s\nwant %s", text, tt.want)
			}
		})
	}
}

func TestFieldsOfRequests(t *testing.T) {
	read := func(body string) []Field { return Fields([]byte(body), NewNames()) }
	got := FieldChanges(read(`{"model":"m","messages":[{"id":"x","content":"a"}],"top":1}`),
		read(`{"model":"m","messages":[{"id":"y","content":"b"},{"content":"c"}]}`), NewRenaming())
	want := []Change{{Value, "", "messages[0].content", `"a"`, `"b"`}, {Value, "", "top", "1", ""},
		{Value, "", "messages[1].content", "", `"c"`}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"abc", "abc", "[[0 0] [1 1] [2 2]]"},
		{"abcd", "acd", "[[0 0] [1 -1] [2 1] [3 2]]"},
		{"axc", "ayc", "[[0 0] [1 -1] [-1 1] [2 2]]"},
		{"", "a", "[[-1 0]]"},
		{"aa", "a", "[[0 0] [1 -1]]"},
	} {
		if got := fmt.Sprint(Match(strings.Split(tt.a, "")[:len(tt.a)], strings.Split(tt.b, "")[:len(tt.b)])); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add(200, "data: {\"type\":\"a\",\"x\":[{\"type\":\"b\"}]}\n\n", "data: {\"type\":\"a\",\"x\":{}}\n\n")
	f.Add(400, "{\"error\":{}}", "{\"error\":[null,{}]}")
	f.Fuzz(func(t *testing.T, status int, old, fresh string) {
		in := func(body string) cassette.Interaction {
			x := reply(anthropicURL, "", nil)
			x.Response.Body, x.Response.Status = []byte(body), status
			return x
		}
		a, b := ReplyOf(in(old)), ReplyOf(in(fresh))
		_ = Compare([]Pair{{a, b}})
		if found := Compare([]Pair{{a, a}}); len(found) > 0 {
			t.Fatalf("differs from itself: %+v", found)
		}
		fold := func(r Reply) []Item { return Fold(r.Events, NewNames()) }
		_ = Changes(fold(a), fold(b), NewRenaming())
		if c := Changes(fold(a), fold(a), NewRenaming()); len(c) > 0 {
			t.Fatalf("says other things than itself: %+v", c)
		}
	})
}
