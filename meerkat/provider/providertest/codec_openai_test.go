package providertest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// openaiSuite is this codec in the tests that all codecs share.
var openaiSuite = codecSuite{
	Codec: openai.Codec{}, Model: "gpt-5.2", StableModel: "gpt-5.2", Arguments: "arguments",
	Parameters: openaiParameterCases, Refusals: openaiRefusalCases, HealthURI: "/v1/models",
	Path: "/v1/responses", UnaryPath: "/v1/responses",
	Header: map[string]string{
		"Authorization": "Bearer " + canaryKey, "Content-Type": "application/json", "Accept": "text/event-stream",
	},
	Head: string(providertest.Events(
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5.2","output":[],"usage":null}}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`,
		`{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}`,
		`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"hel"}`,
	)),
	Tail: string(providertest.Events(
		`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo"}`,
		`{"type":"response.output_text.done","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"text":"hello"}`,
		`{"type":"response.content_part.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"hello"}}`,
		`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hello"}],"role":"assistant"}}`,
		`{"type":"response.completed","sequence_number":8,"response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hello"}],"role":"assistant"}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}}`,
	)),
	Unary: `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hello"}],"role":"assistant"}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}`,
	Failed: string(providertest.Events(
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5.2","output":[],"usage":null}}`,
		`{"type":"error","sequence_number":1,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit reached for `+canaryKey+`. Please try again in 1.2s.","param":null}}`,
	)),
	FailedKind: provider.RateLimited, FailedDelay: 1200 * time.Millisecond,
}

const stateless = `"store":false,"include":["reasoning.encrypted_content"]`

var openaiParameterCases = map[string]parameterCase{
	"default effort (D-19)": {
		Request: provider.Request{Model: "gpt-5.2", Temperature: &half},
		Want:    stateless + `,"reasoning":{"effort":"medium","summary":"auto"},"input"`, Not: "temperature",
	},
	"no reasoning (O-24)": {
		Request: provider.Request{Model: "gpt-5.2", Effort: "none", Temperature: &half},
		Want:    stateless + `,"reasoning":{"effort":"none"},"temperature":0.5`,
	},
	"no reasoning model (O-21, O-22)": {
		Request: provider.Request{Model: "gpt-4.1", Temperature: &half},
		Want:    `"store":false,"temperature":0.5,"input"`, Not: "include",
	},
	"output": {
		Request: provider.Request{Model: "gpt-5.2", MaxOutputTokens: 16, Unary: true},
		Want: `"stream":false,` + stateless +
			`,"reasoning":{"effort":"medium","summary":"auto"},"max_output_tokens":16`,
	},
	"any": {
		Request: provider.Request{Model: "gpt-5.2", ToolChoice: "any", Tools: toolDefs()},
		Want:    `"tool_choice":"required"`,
	},
	"by name": {
		Request: provider.Request{Model: "gpt-5.2", ToolChoice: "list_dir", Tools: toolDefs()},
		Want:    `"tool_choice":{"type":"function","name":"list_dir"}`,
	},
	"cache key": {
		Request: provider.Request{Model: "gpt-5.2", CacheKey: "s1"}, Want: `"prompt_cache_key":"s1","input"`,
	},
	"compaction": {
		Request: provider.Request{Model: "gpt-5.2", CompactAt: 200000},
		Want:    `"context_management":[{"type":"compaction","compact_threshold":200000}],"input"`,
	},
	"smallest compaction (O-6)": {
		Request: provider.Request{Model: "gpt-5.2", CompactAt: 1}, Want: `"compact_threshold":1000}`,
	},
	"no compaction": {
		Request: provider.Request{Model: "gpt-4.1", CompactAt: 200000}, Want: `"input"`, Not: "context_management",
	},
	"loose output schema": {
		Request: provider.Request{OutputSchema: transcript.RawJSON(looseSchema)},
		Want:    `"text":{"format":{"type":"json_schema","name":"answer","schema":` + looseSchema + `,"strict":false}}`,
	},
	"strict output schema": {
		Request: provider.Request{
			OutputSchema: transcript.RawJSON(`{"type":"object","properties":{},"additionalProperties":false}`),
		},
		Want: `"strict":true}}`,
	},
}

var openaiRefusalCases = map[string]refusalCase{
	"effort (O-23)":      {Request: provider.Request{Effort: "max"}, Want: `effort: "max" is not offered by gpt-5.2`},
	"small output (O-6)": {Request: provider.Request{MaxOutputTokens: 15}, Want: "max output tokens: 15 is below"},
	"long cache key": {
		Request: provider.Request{CacheKey: strings.Repeat("k", 65)},
		Want:    "cache key: it has 65 bytes; use 64 at most",
	},
	"stops": {
		Request: provider.Request{StopSequences: []string{"x"}}, Want: "stop sequences: the Responses API has none",
	},
	"tool name (O-18)": {
		Request: provider.Request{Tools: []transcript.ToolDef{{Name: "a.b"}}}, Want: `tool "a.b": openai`,
	},
}

func sealed(id, content string) transcript.Block {
	meta := &transcript.Meta{Provider: transcript.MetaOpenAI, ID: id}
	if content != "" {
		meta.EncryptedContent = &content
	}
	return transcript.Reasoning("sum", meta)
}

func openaiNative(model string, blocks ...transcript.Block) []transcript.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].Origin = &transcript.Origin{Provider: "openai", API: "responses", Model: model, Index: i}
	}
	return blocks
}

// input renders one reply, answered, and returns its items.
func input(t *testing.T, model string, blocks []transcript.Block) string {
	t.Helper()
	m := transcript.Assistant("", blocks...)
	messages := []transcript.Message{transcript.User("x"), m}
	var results []transcript.ToolResult
	for c := range m.ToolCalls() {
		results = append(results, transcript.ToolResult{ToolUseID: c.ID, Content: "r"})
	}
	if results != nil {
		messages = append(messages, transcript.ToolResults(results...))
	}
	body := openaiSuite.Render(t, provider.Request{Model: model, Messages: append(messages, transcript.User("end"))})
	_, items, _ := strings.Cut(body, `"content":"x"},`)
	items, _, _ = strings.Cut(items, `,{"type":"message","role":"user","content":"end"}`)
	items, _, _ = strings.Cut(items, `{"type":"function_call_output"`)
	if strings.HasPrefix(items, `{"type":"message","role":"user"`) {
		return ""
	}
	return strings.TrimSuffix(items, ",")
}

func TestOpenAIRenderReply(t *testing.T) {
	const (
		item1   = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"sum"}],"encrypted_content":"gA1"}`
		rawItem = `{"id":"rs_1", "type":"reasoning","encrypted_content":"gA1","summary":[]}`
		message = `{"type":"message","role":"assistant","content":"hi"}`
		rawMsg  = `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hi"}],"role":"assistant"}`
		rawCall = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{}","call_id":"a","name":"f"}`
		call    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
		item2   = `{"id":"cmp_1", "type":"compaction","encrypted_content":"gA2"}`
		search  = `{"id":"ws_1","type":"web_search_call","status":"completed"}`
	)
	text, fcall := transcript.Text("hi"), transcript.ToolUse("a", "f", []byte("{}"))
	opaque := withRaw(transcript.Block{Type: transcript.BlockOpaque, Kind: "web_search_call"}, search)
	compacted := withRaw(transcript.Block{Type: transcript.BlockOpaque, Kind: "compaction"}, item2)
	for name, c := range map[string]struct {
		blocks []transcript.Block
		want   string
	}{
		"fields": {
			openaiNative("gpt-5.2", sealed("rs_1", "gA1"), text, fcall), item1 + "," + message + "," + call,
		},
		"raw": {
			openaiNative(
				"gpt-5.2", withRaw(sealed("rs_1", "gA1"), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall),
				opaque,
			),
			rawItem + "," + rawMsg + "," + rawCall + "," + search,
		},
		"trailing reasoning (O-12)": {
			openaiNative("gpt-5.2", text, sealed("rs_1", "gA1"), sealed("rs_2", "gA2")), message,
		},
		"reasoning before nothing": {openaiNative("gpt-5.2", sealed("rs_1", "gA1"), transcript.Text("")), ""},
		"only reasoning (D-16)":    {openaiNative("gpt-5.2", sealed("rs_1", "gA1")), ""},
		"bare id (O-14), ids go too (O-13)": {
			openaiNative(
				"gpt-5.2", withRaw(sealed("rs_1", ""), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall),
			),
			message + "," + call,
		},
		"another model's": {
			openaiNative(
				"gpt-5.4", withRaw(sealed("rs_1", "gA1"), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall),
				opaque,
			),
			message + "," + call,
		},
		"opaque without its reasoning": {
			openaiNative("gpt-5.2", sealed("rs_1", ""), sealed("rs_2", "gA2"), opaque), "",
		},
		"compaction in place (O-15)": {openaiNative("gpt-5.2", withRaw(text, rawMsg), compacted), rawMsg + "," + item2},
		"cut call (D-16)": {
			openaiNative("gpt-5.2", withRaw(
				transcript.ToolUse("a", "f", []byte(`{"x`)),
				`{"type":"function_call","id":"fc_1","status":"incomplete","call_id":"a","name":"f","arguments":"{\"x"}`,
			)),
			`{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x"}`,
		},
		"no arguments": {openaiNative("gpt-5.2", transcript.ToolUse("a", "f", nil)), call},
		"mapped id (O-7)": {
			openaiNative("gpt-5.2", withRaw(transcript.ToolUse("a.b", "f", nil), `{"call_id":"a.b"}`)),
			`{"type":"function_call","call_id":"mk_e74uovg64hafgcdmzvsnvitv","name":"f","arguments":"{}"}`,
		},
		"exact arguments": {
			openaiNative("gpt-5.2", transcript.ToolUse(
				"a", "f", []byte("{ \"k\": 1.0,\n\"\xed\xa0\xbd\xff\":\"\\u00e9\"}"),
			)),
			"{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{ \\\"k\\\": 1.0,\\n\\\"\\ud83d\xff\\\":\\\"\\\\u00e9\\\"}\"}",
		},
	} {
		if got := input(t, "gpt-5.2", c.blocks); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// Summary parts come back as they came: one by one, [] when there were none,
// and the text as one part when they are unknown (R18, D-13).
func TestOpenAIRenderSummary(t *testing.T) {
	for _, c := range []struct {
		text    string
		summary []string
		want    string
	}{
		{"a\nb", []string{"a", "b"}, `[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]`},
		{"", []string{}, `[]`},
		{"", nil, `[]`},
		{"ignored", []string{}, `[]`},
		{"joined", nil, `[{"type":"summary_text","text":"joined"}]`},
	} {
		b := sealed("rs_1", "gA")
		b.Text, b.Meta.Summary = c.text, c.summary
		got := input(t, "gpt-5.2", openaiNative("gpt-5.2", b, transcript.Text("x")))
		if !strings.Contains(got, `"summary":`+c.want+`,"encrypted_content":"gA"`) {
			t.Errorf("%q %q: %s", c.text, c.summary, got)
		}
	}
}
