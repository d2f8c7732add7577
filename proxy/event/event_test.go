package event

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/redact"
)

const sse = "text/event-stream"

func TestRead(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name, provider, kind, body, want string
		timeline                         []cassette.Chunk
	}{
		{"anthropic", "anthropic", sse, "event: ping\ndata: {}\n\n: hi\n\ndata: {\"type\":\"message_stop\"}\n\n",
			"0-22 ping @1ms; 28-59 message_stop @3ms last",
			[]cassette.Chunk{{At: ms, Length: 22}, {At: 2 * ms, Length: 30}, {At: 3 * ms, Length: 8}}},
		{"openai cut", "openai", sse, "data: {\"type\":\"response.created\"}\n\ndata: {\"type\":\"response.comp",
			"0-35 response.created @0s; 35-63  @0s cut", nil},
		{"terminal event cut off", "anthropic", sse, "data: {\"type\":\"message_stop\"}\n",
			"0-30 message_stop @0s cut", nil},
		{"done", "openai", sse, "data: [DONE]\n\n", "0-14 [DONE] @0s", nil},
		{"gemini array", "gemini", "application/json",
			"[{\"candidates\":[]},\n{\"candidates\":[{\"finishReason\":\"STOP\"}]}]",
			"1-18  @1ms; 20-60  @2ms last", []cassette.Chunk{{At: ms, Length: 19}, {At: 2 * ms, Length: 43}}},
		{"gemini error", "gemini", "application/json", "{\"error\":{\"code\":400}}", "0-22 error @0s last", nil},
		{"document", "openai", "application/json", "{\"object\":\"response\"}", "0-21 response @0s", nil},
		{"ndjson", "", "application/x-ndjson", "{\"type\":\"a\"}\n{\"type\":7}\n", "0-13 a @0s; 13-24  @0s", nil},
		{"short timeline", "", sse, "data: 1\n\ndata: 2\n\n", "0-9  @1ms; 9-18  @1ms",
			[]cassette.Chunk{{At: ms, Length: 3}}},
		{"page", "", "text/html", "<p>", "0-3  @0s", nil},
		{"nothing", "", "", "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for i, e := range readEvents(tt.provider, tt.kind, []byte(tt.body), tt.timeline) {
				line := fmt.Sprintf("%d-%d %s @%v", e.Start, e.End, e.Name, e.At)
				if e.Last {
					line += " last"
				}
				if !e.Whole {
					line += " cut"
				}
				if got = append(got, line); e.Index != i {
					t.Errorf("event %d has index %d", i, e.Index)
				}
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("\n got %s\nwant %s", text, tt.want)
			}
		})
	}
}

func TestNodes(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{`{"a":1,"b":[{"c":"x"},[]],"d":{}}`, ` {; a 0 1; b [; b[0] {; b[0].c " "x"; b[1] [ []; d { {}`},
		{`{"input":[{"input": { "z" : 1 }}]}`, ` {; input [; input[0] {; input[0].input { {"z":1}`},
		{`{"a":1e400,"a":12345678901234567890}`, ` {; a 0 1e400; a 0 12345678901234567890`},
		{`{"a":1,`, ` {; a 0 1`},
		{`[DONE]`, ` [`},
		{`none`, ``},
		{``, ``},
	} {
		var got []string
		for _, n := range Nodes([]byte(tt.doc)) {
			got = append(got, strings.TrimRight(fmt.Sprintf("%s %c %s", n.Path, n.Kind, n.Raw), " "))
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.doc, text, tt.want)
		}
	}
}

func TestClassOf(t *testing.T) {
	for doc, want := range map[string]Class{
		`{"id":"x"}`:                    ID,
		`{"item_id":"x"}`:               ID,
		`{"responseId":"x"}`:            ID,
		`{"id":7}`:                      Plain,
		`{"width":"x"}`:                 Plain,
		`{"created_at":1}`:              Time,
		`{"thoughtSignature":"x"}`:      Opaque,
		`{"usage":{"output_tokens":1}}`: Usage,
		`{"usageMetadata":{"a":[{"tokenCount":1}]}}`: Usage,
		`{"output_index":1}`:                         Place,
		`{"index":"one"}`:                            Plain,
		`{"obfuscation":"x"}`:                        Noise,
		`{"text":"x"}`:                               Plain,
	} {
		nodes := Nodes([]byte(doc))
		if got := classOf(nodes[len(nodes)-1]); got != want {
			t.Errorf("%s: class %d, want %d", doc, got, want)
		}
	}
}

// describe writes items a line each.
func describe(items []Item) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%s [%s] %d-%d ×%d", i.Token(), i.Place, i.First, i.Last, i.Events)
		if i.Pieces {
			fmt.Fprintf(&b, " %q", i.Text)
		}
		for _, f := range i.Fields {
			fmt.Fprintf(&b, " %s=%s", f.Path, f.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func stream(events ...string) []byte {
	return []byte("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
}

var folds = []struct {
	name, want string
	events     []string
}{
	{"blocks in turns, a ping between", `
content_block_start/text [0] 0-0 ×1 content_block.text=""
content_block_delta/text_delta [0] 1-4 ×2 "ab"
content_block_delta/text_delta [1] 2-2 ×1 "x"
content_block_stop [0] 5-5 ×1
content_block_delta/text_delta [0] 6-6 ×1 "late"
`, []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"late"}}`,
	}},
	{"a signature in two pieces", `
content_block_delta/signature_delta [0] 0-1 ×2 "opaque#1"
`, []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eu"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Qx"}}`,
	}},
	{"openai says all twice", `
response.created [] 0-0 ×1 response.id=id#1 response.model="m" response.output=[]
response.output_item.added/message [0] 1-1 ×1 item.id=id#2 item.status="in_progress"
response.output_text.delta [0.1] 2-3 ×2 "hello" item_id=id#2
response.output_text.done [0.1] 4-4 ×1 item_id=id#2 text=as streamed
response.output_text.done [0.1] 5-5 ×1 item_id=id#2 text="hullo"
response.output_item.done/message [0] 6-6 ×1 item.status="completed"
response.completed [] 7-7 ×1 response.usage.output_tokens=2
`, []string{
		`{"type":"response.created","response":{"id":"resp_1","model":"m","output":[]},"sequence_number":0}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress"}}`,
		`{"type":"response.output_text.delta","content_index":1,"output_index":0,"item_id":"msg_1","delta":"hel","obfuscation":"q"}`,
		`{"type":"response.output_text.delta","content_index":1,"output_index":0,"item_id":"msg_1","delta":"lo","obfuscation":"zz"}`,
		`{"type":"response.output_text.done","content_index":1,"output_index":0,"item_id":"msg_1","text":"hello"}`,
		`{"type":"response.output_text.done","content_index":1,"output_index":0,"item_id":"msg_1","text":"hullo"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","status":"completed"}}`,
		`{"type":"response.completed","response":{"id":"resp_1","model":"m","output":[{"id":"msg_1","status":"completed"}],"usage":{"output_tokens":2}}}`,
	}},
	{"gemini", `
part/thought [] 0-0 ×1 "hm" thought=true
chunk [] 0-0 ×1 responseId=id#1
part/text [] 1-3 ×2 "ab"
part/functionCall [] 3-3 ×1 functionCall.name="f" functionCall.args={"q":1}
part/text [] 3-3 ×1 "" thoughtSignature=opaque#1
chunk [] 3-3 ×1 candidates[0].finishReason="STOP" usageMetadata.promptTokenCount=5 usageMetadata.candidatesTokenCount=9
`, []string{
		`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}],"usageMetadata":{"promptTokenCount":5},"responseId":"r"}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3},"responseId":"r"}`,
		`{"type":"ping"}`,
		`{"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"f","args":{"q":1}}},{"text":"","thoughtSignature":"sig"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":9},"responseId":"r"}`,
	}},
	{"a whole message", `
block/text [0] 0-0 ×1 text="hi"
block/tool_use [1] 0-0 ×1 id=id#1 name="f" input={"a":[1,2]}
message [] 0-0 ×1 id=id#2 stop_reason="tool_use"
`, []string{`{"type":"message","id":"msg_1","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":[1,2]}}],"stop_reason":"tool_use"}`}},
	{"two texts in one chunk", `
part/text [] 0-0 ×1 "a"
part/text [] 0-1 ×2 "bc"
`, []string{`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"c"}]}}]}`}},
	{"no JSON", `
chunk [] 0-0 ×1 "hello"
`, []string{"hello"}},
}

func TestFold(t *testing.T) {
	for _, tt := range folds {
		t.Run(tt.name, func(t *testing.T) {
			got := describe(Fold(readEvents("", sse, stream(tt.events...), nil), NewNames()))
			if got != strings.TrimPrefix(tt.want, "\n") {
				t.Errorf("\n%swant%s", got, tt.want)
			}
		})
	}
}

// A long text is put together without a copy of all before it for each piece.
func TestFoldOfALongText(t *testing.T) {
	const pieces, words = 10_000, "five words of a text "
	events := make([]Event, pieces)
	for i := range events {
		events[i] = Event{Index: i, Name: "content_block_delta", Whole: true,
			Data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` +
				words + `"}}`)}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	items := Fold(events, NewNames())
	runtime.ReadMemStats(&after)
	if len(items) != 1 || items[0].Events != pieces || items[0].Text != strings.Repeat(words, pieces) {
		t.Errorf("%d items", len(items))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 400<<20 { // a copy for each piece would take 1,000; the race detector doubles what is true
		t.Errorf("took %d MiB for %d bytes", took>>20, pieces*len(words))
	}
}

func TestSummarise(t *testing.T) {
	for _, tt := range []struct{ url, body, want string }{
		{"https://api.anthropic.com/v1/messages",
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{}]},{}],"tools":[{"type":"custom","name":"f"},{"type":"web_search"}]}`, `{m 2 [f web_search] 9}`},
		{"https://api.openai.com/v1/responses", `{"model":"m","input":"hi","max_output_tokens":3}`, `{m 1 [] 3}`},
		{"https://api.openai.com/v1/responses",
			`{"model":"m","input":[{},{}],"tools":[{"type":"function","name":"g"}]}`, `{m 2 [g] 0}`},
		{"https://generativelanguage.googleapis.com/v1beta/models/gm:generateContent",
			`{"contents":[{}],"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]}],"generationConfig":{"maxOutputTokens":5}}`, `{gm 1 [a b] 5}`},
		{"::", `nothing`, `{ 0 [] 0}`},
	} {
		got := fmt.Sprint(Summarise(cassette.Request{Method: "POST", URL: tt.url, Body: []byte(tt.body)}))
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.body, got, tt.want)
		}
	}
}

func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		events  []string
		in, out int
	}{
		{[]string{`{"message":{"usage":{"input_tokens":9,"output_tokens":1}}}`, `{"usage":{"output_tokens":7}}`,
			`{"usage":{"output_tokens":2}}`}, 9, 7},
		{[]string{`{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"thoughtsTokenCount":4}}`}, 5, 7},
		{[]string{`{"input_tokens":14}`}, 14, 0}, // a count
		{[]string{`{"text":"input_tokens"}`}, 0, 0},
	} {
		if in, out := Tokens(readEvents("", sse, stream(tt.events...), nil)); in != tt.in || out != tt.out {
			t.Errorf("%v: %d and %d, want %d and %d", tt.events, in, out, tt.in, tt.out)
		}
	}
}

// What a redactor left of a secret is another text for every user.
func TestPseudonymsAreOneName(t *testing.T) {
	a, b := []byte(`{"key":"REDACTEDabcdefgh12"}`), []byte(`{"key":"REDACTEDzyxwvuts98"}`)
	if fa, fb := Fields(a, NewNames()), Fields(b, NewNames()); fa[0] != fb[0] || !redact.HasPseudonym(a) ||
		redact.HasPseudonym([]byte("it was REDACTED")) {
		t.Error(fa, fb)
	}
}

// Ids get one name wherever they occur, in requests too; two recordings of one
// conversation are equal by those names.
func TestNamesAreTheSameInEveryRecording(t *testing.T) {
	record := func(id, sig string) string {
		names := NewNames()
		reply := Fold(readEvents("", sse, stream(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"`+id+`"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"`+sig+`"}}`), nil),
			names)
		return describe(reply) + fmt.Sprint(Fields([]byte(`{"messages":[{"tool_use_id":"`+id+`","signature":"`+sig+
			`","user_id":""}]}`), names))
	}
	a, b := record("toolu_1", "Eu"), record("toolu_2", "Xy")
	if a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if !strings.Contains(a,
		"{messages[0].tool_use_id id#1 1} {messages[0].signature opaque#1 3} {messages[0].user_id \"\" 1}") {
		t.Error(a)
	}
}

// Every recorded reply folds, and no text is lost: what was streamed is what
// the pieces say.
func TestFoldRecordedTraffic(t *testing.T) {
	bodies := corpus.Files(t, "*/*/*.response.body")
	events, items := 0, 0
	for _, path := range bodies {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		provider := filepath.Base(filepath.Dir(filepath.Dir(path)))
		list := readEvents(provider, "", body, nil)
		folded := Fold(list, NewNames())
		events, items = events+len(list), items+len(folded)
		if len(list) > 0 && len(folded) == 0 && list[0].Name != "ping" {
			t.Errorf("%s: %d events fold to nothing", path, len(list))
		}
		last := slices.ContainsFunc(list, func(e Event) bool { return e.Last })
		if strings.HasPrefix(string(body), "event: message_start") && !last &&
			!strings.Contains(path, "prompt_caching_reuses_tool_cache") {
			t.Errorf("%s: no last event", path)
		}
	}
	t.Logf("%d events of %d replies fold to %d items", events, len(bodies), items)
}

func FuzzRead(f *testing.F) {
	f.Add("anthropic", sse, "event: a\ndata: {\"type\":\"a\",\"index\":0,\"delta\":{\"text\":\"x\"}}\n\n", 3)
	f.Add("gemini", "application/json", "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]}}]}]", 1)
	f.Add("openai", sse, "data: {\"type\":\"x\",\"item\":{\"a\":[{}]},\"delta\":\"\\ud800\"}\n\n", 9)
	f.Fuzz(func(t *testing.T, provider, kind, body string, cut int) {
		if cut < 0 || cut > len(body) {
			cut = 0
		}
		timeline := []cassette.Chunk{{At: time.Second, Length: cut}, {At: time.Minute, Length: len(body) - cut}}
		data := []byte(body)
		end, at := 0, time.Duration(0)
		events := readEvents(provider, kind, data, timeline)
		for _, e := range events {
			if e.Start < end || e.End <= e.Start || e.End > len(body) || e.At < at || e.Data == nil {
				t.Fatalf("event %+v after %d of %q", e, end, body)
			}
			end, at = e.End, e.At
		}
		_ = Fold(events, NewNames())
		_ = Fields(data, NewNames())
		_ = Summarise(cassette.Request{URL: kind, Body: data})
		if string(data) != body {
			t.Fatal("the body changed")
		}
	})
}

func TestOf(t *testing.T) {
	in := cassette.Interaction{
		Request: cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Body: []byte(`{"stream":true}`)},
		Response: cassette.Response{Header: http.Header{"Content-Type": {sse}},
			Body: stream(`{"type":"message_stop"}`)},
	}
	if e := Of(in); len(e) != 1 || !e[0].Last {
		t.Errorf("%+v", e)
	}
	if Provider(in.Request) != "anthropic" || Operation(in.Request) != llm.Stream {
		t.Error(Provider(in.Request), Operation(in.Request))
	}
	if bad := (cassette.Request{URL: "::"}); Provider(bad) != "" || Operation(bad) != llm.Other {
		t.Error(Provider(bad), Operation(bad))
	}
}

// TestBrokenJSON holds that an event which lacks its last brace is not taken for the whole one.
func TestBrokenJSON(t *testing.T) {
	const piece = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`
	fold := func(data string) []Item {
		body := []byte("event: content_block_delta\ndata: " + data + "\n\n")
		return Fold(readEvents("anthropic", "text/event-stream", body, nil), NewNames())
	}
	for data, want := range map[string]int{piece: 0, piece + "  ": 0, strings.TrimSuffix(piece, "}"): 2,
		piece + "}": 2} {
		if got := Changes(fold(piece), fold(data), NewRenaming()); len(got) != want {
			t.Errorf("%s: %d changes, want %d: %+v", data, len(got), want, got)
		}
	}
}

// TestEventBetweenPieces holds that an event of an unknown kind between the pieces of a text is
// all that differs.
func TestEventBetweenPieces(t *testing.T) {
	piece := func(text string) string {
		return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + text + "\"}}\n\n"
	}
	const start = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	fold := func(body string) []Item {
		return Fold(readEvents("anthropic", "text/event-stream", []byte(body), nil), NewNames())
	}
	before := fold(start + piece("a") + piece("b"))
	for name, c := range map[string]struct{ between, want string }{
		"a new event": {"event: mood\ndata: {\"type\":\"mood\",\"x\":1}\n\n", "mood"},
		"a new start": {start,
			"content_block_delta/text_delta content_block_start/text content_block_delta/text_delta"},
	} {
		var got []string
		for _, change := range Changes(before, fold(start+piece("a")+c.between+piece("b")), NewRenaming()) {
			token, _, _ := strings.Cut(change.Item, " ")
			got = append(got, token)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: changes at %q, want %q", name, got, c.want)
		}
	}
}
