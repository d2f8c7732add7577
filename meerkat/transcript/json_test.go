package transcript

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// updating reports whether -update is set, which package providertest defines.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func encode(t interface{ Fatalf(string, ...any) }, m *Message) []byte {
	line, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatalf("encode %+v: %v", m, err)
	}
	return line
}

func decode(t interface{ Fatalf(string, ...any) }, line []byte) *Message {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("decode %s: %v", line, err)
	}
	return &m
}

// TestGoldenShapes checks the storage format, byte for byte: the shapes that the
// Rust program writes, and the members added to them.
func TestGoldenShapes(t *testing.T) {
	enc := "gAAAAAB+/="
	origin := &Origin{
		Provider: "openai", API: "responses", Model: "gpt-5.2", Account: "a1", ResponseID: "resp_1", Index: 2,
	}
	messages := []Message{
		System("Be brief."),
		User("hi <b>&amp;</b> \u2028 é 😀 \x00\x1f\x7f\"\\\n"),
		Assistant(StopToolUse,
			Reasoning("let me see", &Meta{Provider: MetaAnthropic, Signature: "EqQBCg+/=="}),
			Reasoning("", &Meta{Provider: MetaAnthropicRedacted, Data: "EmwKAhgB"}),
			Text("I will look."),
			ToolUse("toolu_1", "read", []byte(`{"path":"b","a":1.0,"big":12345678901234567890,"a":"\u00e9<"}`)),
		),
		ToolResults(ToolResult{
			ToolUseID: "toolu_1", Content: "file",
		}, ToolResult{ToolUseID: "toolu_2", Content: "no", IsError: true}),
		Assistant(StopEndTurn,
			Reasoning("a", &Meta{Provider: MetaOpenAI, ID: "rs_1", EncryptedContent: &enc, Summary: []string{"a", ""}}),
			Reasoning("", &Meta{Provider: MetaOpenAI, ID: "rs_2", Summary: []string{}}),
			Block{
				Type: BlockText, Text: "done", Meta: &Meta{Provider: MetaOpenAI, ID: "msg_1", Phase: "final_answer"},
				Origin: origin, Raw: []byte(`{"type":"message"}`),
			},
			Block{Type: BlockText, Text: "", Meta: &Meta{Provider: MetaGemini, ThoughtSignature: "c2ln"}},
			Block{Type: BlockOpaque, Kind: "server_tool_use", Raw: []byte(`{"type":"server_tool_use"}`)},
			ToolUse("c1", "spaced", []byte("{ \"a\" : 1 }")),
			ToolUse("c2", "cut", []byte(`{"a": "b`)),
		),
		{
			Role: RoleUser, Content: "look",
			Parts: []Part{
				{Type: "image", MediaType: "image/png", Data: []byte{0x89, 'P'}}, {Type: "file", URL: "https://x"},
			},
		},
	}
	var got bytes.Buffer
	for i := range messages {
		got.Write(encode(t, &messages[i]))
		got.WriteByte('\n')
	}
	const golden = "testdata/shapes.jsonl"
	if updating() {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(want), []byte("\n")) {
		if diff := cmp.Diff(&messages[i], decode(t, line), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("message %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestSerdeShapes checks, one by one, the strings that a Rust program with these
// types writes.
func TestSerdeShapes(t *testing.T) {
	enc := "gAAA"
	for _, c := range []struct {
		block Block
		want  string
	}{
		{Text("hi"), `{"block_type":"text","text":"hi"}`},
		{
			Block{Type: BlockText, Meta: &Meta{Provider: MetaGemini, ThoughtSignature: "s"}},
			`{"block_type":"text","text":"","meta":{"provider":"gemini","thoughtSignature":"s"}}`,
		},
		{Reasoning("t", nil), `{"block_type":"reasoning","text":"t"}`},
		{
			Reasoning("t", &Meta{Provider: MetaAnthropic, Signature: "s"}),
			`{"block_type":"reasoning","text":"t","meta":{"provider":"anthropic","signature":"s"}}`,
		},
		{
			Reasoning("", &Meta{Provider: MetaOpenAI, ID: "rs"}),
			`{"block_type":"reasoning","text":"","meta":{"provider":"open_ai","id":"rs"}}`,
		},
		{
			Reasoning("", &Meta{Provider: MetaOpenAI, ID: "rs", EncryptedContent: &enc}),
			`{"block_type":"reasoning","text":"","meta":{"provider":"open_ai","id":"rs","encrypted_content":"gAAA"}}`,
		},
		{
			ToolUse("i", "n", []byte(`{"z":1,"a":2}`)),
			`{"block_type":"tool_use","id":"i","name":"n","args":{"z":1,"a":2}}`,
		},
	} {
		got, err := c.block.AppendJSON(nil)
		if err != nil || string(got) != c.want {
			t.Errorf("have %s, %v\nwant %s", got, err, c.want)
		}
	}
}

// TestReadsSerde reads what only a Rust writer leaves out or adds.
func TestReadsSerde(t *testing.T) {
	m := decode(
		t,
		[]byte(`{"role":"assistant","blocks":[{"block_type":"reasoning"},{"block_type":"text","text":"x","meta":null}],"stop_reason":"end_turn"}`),
	)
	if diff := cmp.Diff(Assistant(StopEndTurn, Reasoning("", nil), Text("x")), *m); diff != "" {
		t.Error(diff)
	}
	m = decode(t, []byte(`{"role":"tool_results","results":[{"tool_use_id":"a","content":""}]}`))
	if diff := cmp.Diff(ToolResults(ToolResult{ToolUseID: "a"}), *m); diff != "" {
		t.Error(diff)
	}
}

func args(s string) Message { return Assistant(StopToolUse, ToolUse("i", "n", []byte(s))) }

// TestGoTraps has one case for each way encoding/json is known to change bytes.
func TestGoTraps(t *testing.T) {
	thinking := Assistant(StopEndTurn, Reasoning("", &Meta{Provider: MetaAnthropic, Signature: "sig"}))
	lone := Assistant(StopEndTurn, Text("a\xed\xa0\x80b"))
	for _, c := range []struct {
		name     string
		message  Message
		contains string
	}{
		{"omitempty on empty thinking", thinking, `"text":"","meta"`},
		{"HTML escaping of arguments", args(`{"a":"<b>&\u003c"}`), `"args":{"a":"<b>&\u003c"}}`},
		{"HTML escaping of text", User("<&>"), `"content":"<&>"`},
		{"line separators", args("{\"a\":\"\u2028\u2029\"}"), "\u2028\u2029"},
		{"map key sorting", args(`{"z":1,"a":{"y":1,"b":2}}`), `{"z":1,"a":{"y":1,"b":2}}`},
		{"duplicate keys", args(`{"a":1,"a":2}`), `{"a":1,"a":2}`},
		{
			"float64 integers", args(`{"n":12345678901234567890123,"f":1.0,"e":1E+2,"m":-0}`),
			`{"n":12345678901234567890123,"f":1.0,"e":1E+2,"m":-0}`,
		},
		{"escapes kept", args(`{"a":"\u00e9\/\ud83d\ude00\ud800"}`), `"\u00e9\/\ud83d\ude00\ud800"`},
		{"U+FFFD substitution in text", User("a\xffb"), "\"content\":\"a\uFFFDb\",\"content_exact\":\"Yf9i\""},
		{"U+FFFD substitution in arguments", args("{\"a\":\"\xff\"}"), `"args_exact":"eyJhIjoi/yJ9"`},
		{"U+FFFD that the model wrote", User("a\uFFFDb"), "\"a\uFFFDb\"}"},
		{"lone surrogate", lone, `"text_exact":"Ye2ggGI="`},
		{"RawMessage compaction", args("{ \"a\": 1 ,\n\"b\":2}"), `"args":{"a":1,"b":2},"args_exact"`},
		{"malformed arguments", args(`{"a":"b`), `"args":"{\"a\":\"b","args_exact"`},
		{"arguments that are a string", args(`"{\"a\":1}"`), `"args":"{\"a\":1}"}`},
		{"arguments null", args(`null`), `"args":null}`},
		{
			"double base64", Assistant(StopEndTurn, Block{Type: BlockOpaque, Kind: "k", Raw: []byte(`{"a":1}`)}),
			`"raw":"eyJhIjoxfQ=="`,
		},
		{"trailing newline in arguments", args("{}\n"), `"args":{},"args_exact":"e30K"`},
		{"NUL and controls", User("\x00\b\f\x1b"), `"\u0000\b\f\u001b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := encode(t, &c.message)
			if !strings.Contains(string(line), c.contains) {
				t.Errorf("have %s\nwant %s in it", line, c.contains)
			}
			sameThrough(t, &c.message, line)
		})
	}
}

// sameThrough requires that line, and the form json.Marshal makes of the same
// message, both decode to m and encode to line again.
func sameThrough(t interface {
	Fatalf(string, ...any)
}, m *Message, line []byte) {
	if !json.Valid(line) || !utf8.Valid(line) || bytes.ContainsAny(line, "\n\r") {
		t.Fatalf("not one line of JSON in UTF-8: %q", line)
	}
	escaped, err := json.Marshal(m)
	if err != nil {
		t.Fatalf("json.Marshal: %v", err)
	}
	for _, form := range [][]byte{line, escaped} {
		back := decode(t, form)
		if diff := cmp.Diff(m, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", form, diff)
		}
		if again := encode(t, back); !bytes.Equal(again, line) {
			t.Fatalf("encoded again:\n%s\nwant:\n%s", again, line)
		}
	}
}

// TestLossless is the property behind the traps: any message survives.
func TestLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage().Draw(t, "message")
		sameThrough(t, &m, encode(t, &m))
	})
}

// TestNewerWriter keeps what this version does not know, in place and order.
func TestNewerWriter(t *testing.T) {
	for _, line := range []string{
		`{"role":"assistant","blocks":[{"block_type":"hologram","text":{"depth":3},"meta":{"provider":"xyz"}}],"stop_reason":"end_turn"}`,
		`{"role":"assistant","blocks":[{"block_type":"text","text":"a","meta":{"provider":"mistral","token":"<x>","z":1,"a":[1.0, {}]}}],"stop_reason":"dreaming"}`,
		`{"role":"assistant","blocks":[{"block_type":"reasoning","text":"a","meta":{"provider":"anthropic","signature":"s","kid":7},"origin":{"provider":"anthropic","index":0,"region":"eu"},"citations":[]}],"stop_reason":"end_turn","turn_id":"t"}`,
		`{"role":"prophet","content":{"deep":true}}`,
		`{"role":"tool_results","results":[{"tool_use_id":"a","content":"b","is_error":false,"parts":[{"type":"image","alt":"x"}],"duration_ms":3}],"batch":1}`,
		`{"role":"user","content":"a","note":"\ud800","note":null}`,
	} {
		want := string(compactJSON([]byte(line)))
		if got := encode(t, decode(t, []byte(line))); string(got) != want {
			t.Errorf("have %s\nwant %s", got, want)
		}
	}
}

// TestEditedByHand lets the readable half win over a stale exact twin.
func TestEditedByHand(t *testing.T) {
	m := decode(t, []byte(`{"role":"user","content":"new","content_exact":"Yf9i"}`))
	if m.Content != "new" {
		t.Errorf("content %q", m.Content)
	}
	m = decode(
		t,
		[]byte(`{"role":"assistant","blocks":[{"block_type":"tool_use","id":"i","name":"n","args":{"a":2},"args_exact":"eyAiYSI6MX0="}],"stop_reason":"tool_use"}`),
	)
	if got := string(m.Blocks[0].Args); got != `{"a":2}` {
		t.Errorf("args %s", got)
	}
}

// TestReindented reads a file that an editor has pretty-printed.
func TestReindented(t *testing.T) {
	want := Assistant(StopToolUse, ToolUse("i", "n", []byte(`{"a": "<", "b":"\xff"}`)), Text("\xff"))
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, encode(t, &want), "", "\t"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, decode(t, pretty.Bytes())); diff != "" {
		t.Error(diff)
	}
}

// TestRefuses names the member that is missing or wrong.
func TestRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`[]`:              "message: want an object",
		`{"role":"us`:     "", // encoding/json refuses it
		`{}`:              "role: missing",
		`{"role":5}`:      "role: want a string",
		`{"role":""}`:     "role: empty",
		`{"role":"user"}`: "content: missing",
		`{"role":"assistant","stop_reason":"end_turn"}`:                                                                          "blocks: missing",
		`{"role":"assistant","blocks":{},"stop_reason":"end_turn"}`:                                                              "blocks: want an array",
		`{"role":"assistant","blocks":[{"block_type":"text"}],"stop_reason":"end_turn"}`:                                         "blocks[0]: block text: text: missing",
		`{"role":"assistant","blocks":[{"block_type":"tool_use","id":"a","name":"b"}],"stop_reason":"end_turn"}`:                 "args: missing",
		`{"role":"assistant","blocks":[{"block_type":"text","text":"","raw":"%"}],"stop_reason":"end_turn"}`:                     "raw: want base64",
		`{"role":"assistant","blocks":[{"block_type":"text","text":"","meta":{"provider":"gemini"}}],"stop_reason":""}`:          "meta gemini: thoughtSignature: missing",
		`{"role":"tool_results","results":[{"tool_use_id":"a","content":"","is_error":1}]}`:                                      "is_error: want true or false",
		`{"role":"assistant","blocks":[{"block_type":"text","text":"","origin":{"provider":"p","index":1.5}}],"stop_reason":""}`: "origin: index: want a whole number",
	} {
		var m Message
		err := json.Unmarshal([]byte(line), &m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", line, err, want)
		}
	}
	for _, m := range []Message{{}, Assistant("", Block{}), {Role: RoleUser, Extra: `[1]`},
		{Role: RoleUser, Extra: `{`},
		Assistant("", Block{Type: BlockText, Meta: &Meta{}})} {
		if line, err := m.AppendJSON(nil); err == nil {
			t.Errorf("%+v was written as %s", m, line)
		}
	}
}

// TestToolDef sends a schema exactly as it stands, also after storage.
func TestToolDef(t *testing.T) {
	for _, schema := range []string{`{"type":"object","b":1,"a":"<"}`, "{\n  \"type\": \"object\"\n}", ``} {
		want := ToolDef{
			Name: "n", Description: "d", InputSchema: RawJSON(schema), Hosted: schema == "", Deferred: schema != "",
			Extra: `{"strict":true}`,
		}
		plain, err := want.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		escaped, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{plain, escaped} {
			var got ToolDef
			if err := json.Unmarshal(form, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n%s", form, diff)
			}
		}
	}
}

// TestRawJSON stays JSON inside JSON.
func TestRawJSON(t *testing.T) {
	out, err := json.Marshal(struct{ A, B RawJSON }{A: RawJSON(`{"x":1}`)})
	if err != nil || string(out) != `{"A":{"x":1},"B":null}` {
		t.Errorf("%s, %v", out, err)
	}
}

// FuzzMessage requires that whatever decodes reaches its stable form at once.
func FuzzMessage(f *testing.F) {
	shapes, err := os.ReadFile("testdata/shapes.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(shapes) {
		f.Add(line)
	}
	f.Add([]byte(` { "role" : "user" , "content" : "\ud800\udc00\ud800" , "x" : [ 1 , {} ] } `))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		first := encode(t, &m)
		if !json.Valid(first) || bytes.IndexByte(first, '\n') >= 0 {
			t.Fatalf("%q is not one line of JSON", first)
		}
		again := decode(t, first)
		if diff := cmp.Diff(&m, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if second := encode(t, again); !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s", first, second)
		}
	})
}

func BenchmarkMessage(b *testing.B) {
	m := Assistant(StopToolUse,
		Reasoning(
			strings.Repeat("thinking ", 200), &Meta{Provider: MetaAnthropic, Signature: strings.Repeat("Eq", 400)},
		),
		ToolUse("toolu_1", "write", []byte(`{"path":"a","content":"`+strings.Repeat("line\\n", 500)+`"}`)))
	line := encode(b, &m)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for buf := []byte(nil); b.Loop(); {
			buf, _ = m.AppendJSON(buf[:0])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			var m Message
			if err := m.UnmarshalJSON(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}
