package openai

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func sealed(id, content string) transcript.Block {
	meta := &transcript.Meta{Provider: transcript.MetaOpenAI, ID: id}
	if content != "" {
		meta.EncryptedContent = &content
	}
	return transcript.Reasoning("sum", meta)
}

func native(model string, blocks ...transcript.Block) []transcript.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].Origin = &transcript.Origin{Provider: "openai", API: "responses", Model: model, Index: i}
	}
	return blocks
}

func withRaw(b transcript.Block, raw string) transcript.Block {
	b.Raw = []byte(raw)
	return b
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
	body := suite.Render(t, provider.Request{Model: model, Messages: append(messages, transcript.User("end"))})
	_, items, _ := strings.Cut(body, `"content":"x"},`)
	items, _, _ = strings.Cut(items, `,{"type":"message","role":"user","content":"end"}`)
	items, _, _ = strings.Cut(items, `{"type":"function_call_output"`)
	if strings.HasPrefix(items, `{"type":"message","role":"user"`) {
		return ""
	}
	return strings.TrimSuffix(items, ",")
}

func TestRenderReply(t *testing.T) {
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
		"fields":                            {native("gpt-5.2", sealed("rs_1", "gA1"), text, fcall), item1 + "," + message + "," + call},
		"raw":                               {native("gpt-5.2", withRaw(sealed("rs_1", "gA1"), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall), opaque), rawItem + "," + rawMsg + "," + rawCall + "," + search},
		"trailing reasoning (O-12)":         {native("gpt-5.2", text, sealed("rs_1", "gA1"), sealed("rs_2", "gA2")), message},
		"reasoning before nothing":          {native("gpt-5.2", sealed("rs_1", "gA1"), transcript.Text("")), ""},
		"only reasoning (D-16)":             {native("gpt-5.2", sealed("rs_1", "gA1")), ""},
		"bare id (O-14), ids go too (O-13)": {native("gpt-5.2", withRaw(sealed("rs_1", ""), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall)), message + "," + call},
		"another model's":                   {native("gpt-5.4", withRaw(sealed("rs_1", "gA1"), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall), opaque), message + "," + call},
		"opaque without its reasoning":      {native("gpt-5.2", sealed("rs_1", ""), sealed("rs_2", "gA2"), opaque), ""},
		"compaction in place (O-15)":        {native("gpt-5.2", withRaw(text, rawMsg), compacted), rawMsg + "," + item2},
		"cut call (D-16)":                   {native("gpt-5.2", withRaw(transcript.ToolUse("a", "f", []byte(`{"x`)), `{"type":"function_call","id":"fc_1","status":"incomplete","call_id":"a","name":"f","arguments":"{\"x"}`)), `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x"}`},
		"no arguments":                      {native("gpt-5.2", transcript.ToolUse("a", "f", nil)), call},
		"mapped id (O-7)":                   {native("gpt-5.2", withRaw(transcript.ToolUse("a.b", "f", nil), `{"call_id":"a.b"}`)), `{"type":"function_call","call_id":"mk_e74uovg64hafgcdmzvsnvitv","name":"f","arguments":"{}"}`},
		"exact arguments":                   {native("gpt-5.2", transcript.ToolUse("a", "f", []byte("{ \"k\": 1.0,\n\"\xed\xa0\xbd\xff\":\"\\u00e9\"}"))), "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{ \\\"k\\\": 1.0,\\n\\\"\\ud83d\xff\\\":\\\"\\\\u00e9\\\"}\"}"},
	} {
		if got := input(t, "gpt-5.2", c.blocks); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// Summary parts come back as they came: one by one, [] when there were none,
// and the text as one part when they are unknown (R18, D-13).
func TestRenderSummary(t *testing.T) {
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
		got := input(t, "gpt-5.2", native("gpt-5.2", b, transcript.Text("x")))
		if !strings.Contains(got, `"summary":`+c.want+`,"encrypted_content":"gA"`) {
			t.Errorf("%q %q: %s", c.text, c.summary, got)
		}
	}
}
