package anthropic_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// conversation has a reply with thoughts, results with an image, and n prompts.
func conversation(n int) []transcript.Message {
	messages := []transcript.Message{
		transcript.User("first"),
		transcript.Assistant(transcript.StopToolUse,
			transcript.Reasoning("thought", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "c2ln"}),
			transcript.ToolUse("toolu_1", "t", []byte(`{}`)), transcript.ToolUse("toolu_2", "t", []byte(`{}`))),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "toolu_1", Content: "a"},
			transcript.ToolResult{ToolUseID: "toolu_2", Content: "b", Parts: []transcript.Part{{Type: "image", MediaType: "image/png", Data: []byte("x")}}}),
	}
	for range n {
		messages = append(messages, transcript.Assistant(transcript.StopEndTurn, transcript.Text("answer")), transcript.User("next"))
	}
	return messages
}

func rendered(t *testing.T, req provider.Request) string {
	t.Helper()
	m, err := catalog.Lookup("claude-opus-4-6")
	if err != nil {
		t.Fatal(err)
	}
	req.Model = m.Model
	body, err := providertest.RenderBody(anthropic.Codec{}, &req, m)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return string(body)
}

var mark = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}`)

// TestCacheMarks: at most four, on the end of the system prompt or the tools and
// on the last two messages that are not the model's; never on thinking (A-43,
//
func TestCacheMarks(t *testing.T) {
	tools := []transcript.ToolDef{{Name: "s"}, {Name: "t"}}
	for name, c := range map[string]struct {
		req  provider.Request
		want []string // what stands right before each mark
	}{
		"none asked for":         {provider.Request{System: "sys", Tools: tools, Messages: conversation(1)}, nil},
		"system and two turns":   {provider.Request{CacheTTL: "5m", System: "sys", Tools: tools, Messages: conversation(1)}, []string{`"text":"sys"`, `"is_error":false`, `"text":"next"`}},
		"tools without system":   {provider.Request{CacheTTL: "5m", Tools: tools, Messages: conversation(2)}, []string{`"properties":{}}`, `"text":"next"`, `"text":"next"`}},
		"a single prompt":        {provider.Request{CacheTTL: "5m", Messages: conversation(0)[:1]}, []string{`"text":"first"`}},
		"the end is the model's": {provider.Request{CacheTTL: "5m", Messages: append(conversation(0), transcript.Assistant(transcript.StopPauseTurn, transcript.Text("x")))}, []string{`"text":"first"`, `"is_error":false`}},
	} {
		body := rendered(t, c.req)
		var got []string
		for _, at := range mark.FindAllStringIndex(body, -1) {
			got = append(got, body[:at[0]])
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d marks, want %d: %s", name, len(got), len(c.want), body)
			continue
		}
		for i := range got {
			if !strings.HasSuffix(got[i], c.want[i]) {
				t.Errorf("%s: mark %d is behind …%s, want it behind %s", name, i, got[i][max(0, len(got[i])-40):], c.want[i])
			}
		}
	}
	if body := rendered(t, provider.Request{CacheTTL: "1h", Messages: conversation(0)}); !strings.Contains(body, `"ttl":"1h"`) {
		t.Error(body)
	}
}

// TestCachedPrefix: except for the marks, a longer conversation begins with the
// bytes of the shorter one (R44).
func TestCachedPrefix(t *testing.T) {
	for n := range 4 {
		short := mark.ReplaceAllString(rendered(t, provider.Request{CacheTTL: "5m", System: "sys", Messages: conversation(n)}), "")
		long := mark.ReplaceAllString(rendered(t, provider.Request{CacheTTL: "5m", System: "sys", Messages: conversation(n + 1)}), "")
		if !strings.HasPrefix(long, strings.TrimSuffix(short, "]}")) {
			t.Errorf("%s\nis no beginning of\n%s", short, long)
		}
	}
}

func TestOutputSchema(t *testing.T) {
	schema := transcript.RawJSON(`{"type":"object","z":1, "a":2}`)
	for effort, want := range map[string]string{
		"high": `"output_config":{"effort":"high","format":{"type":"json_schema","schema":` + string(schema) + `}}`,
		"none": `"output_config":{"format":{"type":"json_schema","schema":` + string(schema) + `}}`,
	} {
		if body := rendered(t, provider.Request{Effort: effort, OutputSchema: schema, Messages: conversation(0)}); !strings.Contains(body, want) {
			t.Errorf("%s: want %s", body, want)
		}
	}
}
