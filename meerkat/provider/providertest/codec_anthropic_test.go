package providertest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// anthropicSuite is this codec in the tests that all codecs share.
var anthropicSuite = codecSuite{
	Codec: anthropic.Codec{}, Model: "claude-opus-4-5", StableModel: "claude-opus-4-6", Arguments: "input",
	Parameters: anthropicParameterCases, Refusals: anthropicRefusalCases, HealthURI: "/v1/models?limit=1",
	Path: "/v1/messages", UnaryPath: "/v1/messages",
	Header: map[string]string{
		"X-Api-Key": canaryKey, "Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
		"Anthropic-Beta": "extra-2026-01-01,interleaved-thinking-2025-05-14", "Accept": "text/event-stream",
	},
	Head: string(providertest.Events(
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}}`,
	)),
	Tail: string(providertest.Events(
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	)),
	Unary: `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`,
	Failed: string(providertest.Events(
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded ` + canaryKey + `"}}`,
	)),
	FailedKind:   provider.Overloaded,
	ConfigHeader: http.Header{"Anthropic-Beta": {"extra-2026-01-01 "}},
}

// parameterCases: the form of thinking follows the catalogue, and sampling goes
// only where it is taken.
var anthropicParameterCases = map[string]parameterCase{
	"budget": {
		Request: provider.Request{Model: "claude-opus-4-5"},
		Want:    `"max_tokens":32768,"stream":true,"thinking":{"type":"enabled","budget_tokens":8192},"messages"`,
	},
	"budget fits": {
		Request: provider.Request{Model: "claude-sonnet-4-5", Effort: "high", MaxOutputTokens: 4096},
		Want:    `"max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":2048}`,
		Not:     "output_config",
	},
	"budget off": {
		Request: provider.Request{Model: "claude-opus-4-5", Effort: "none", Temperature: &half, Unary: true},
		Want:    `"stream":false,"thinking":{"type":"disabled"},"temperature":0.5,`,
	},
	"adaptive": {
		Request: provider.Request{Model: "claude-opus-4-6", Temperature: &half},
		Want:    `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"messages"`, Not: "temperature",
	},
	"adaptive off": {
		Request: provider.Request{Model: "claude-opus-4-8", Effort: "none", Temperature: &half},
		Want:    `"thinking":{"type":"disabled"},"messages"`, Not: "temperature",
	},
	"adaptive max": {
		Request: provider.Request{Model: "claude-opus-4-6", Effort: "max"}, Want: `"output_config":{"effort":"max"}`,
		Not: "budget",
	},
	"always on": {
		Request: provider.Request{Model: "claude-fable-5"},
		Want:    `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`,
	},
	"stops": {
		Request: provider.Request{Model: "claude-opus-4-6", StopSequences: []string{"a", "\n"}},
		Want:    `"stop_sequences":["a","\n"]`,
	},
	"choice": {
		Request: provider.Request{Model: "claude-opus-4-6", ToolChoice: "list_dir", Tools: toolDefs()},
		Want:    `"tool_choice":{"type":"tool","name":"list_dir"}`,
	},
	"choice none": {
		Request: provider.Request{Model: "claude-opus-4-6", ToolChoice: "none", Tools: toolDefs()},
		Want:    `"tool_choice":{"type":"none"}`,
	},
	"choice without tools": {
		Request: provider.Request{Model: "claude-opus-4-6", ToolChoice: "auto"}, Want: `"messages"`,
		Not: "tool_choice",
	},
	"compaction": {
		Request: provider.Request{Model: "claude-opus-4-6", CompactAt: 160000},
		Want:    `"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":160000}}]},"messages"`,
	},
	"smallest compaction": {
		Request: provider.Request{Model: "claude-fable-5", CompactAt: 1},
		Want:    `"trigger":{"type":"input_tokens","value":50000}`,
	},
	"no compaction": {
		Request: provider.Request{Model: "claude-opus-4-5", CompactAt: 160000}, Want: `"messages"`,
		Not: "context_management",
	},
	"output schema": {
		Request: provider.Request{Effort: "none", OutputSchema: transcript.RawJSON(looseSchema)},
		Want:    `"output_config":{"format":{"type":"json_schema","schema":` + looseSchema + `}}`,
	},
}

var anthropicRefusalCases = map[string]refusalCase{
	"effort (A-32)": {
		Request: provider.Request{Model: "claude-opus-4-6", Effort: "xhigh"},
		Want:    `effort: "xhigh" is not offered by claude-opus-4-6; use one of none, low`,
	},
	"always on (A-30)": {
		Request: provider.Request{Model: "claude-fable-5", Effort: "none"}, Want: `effort: "none" is not offered`,
	},
	"too much (A-7)": {
		Request: provider.Request{Model: "claude-opus-4-5", MaxOutputTokens: 64001}, Want: "max output tokens: 64001",
	},
	"no room (A-25)": {
		Request: provider.Request{Model: "claude-opus-4-5", MaxOutputTokens: 2047},
		Want:    "max output tokens: 2047 leave no room",
	},
	"forced thinking (A-26)": {
		Request: provider.Request{Model: "claude-opus-4-5", ToolChoice: "any", Tools: toolDefs()},
		Want:    "tool choice: a tool cannot be forced while thinking",
	},
	"forced (A-33)": {
		Request: provider.Request{Model: "claude-fable-5", ToolChoice: "any", Tools: toolDefs()},
		Want:    "tool choice: claude-fable-5 cannot",
	},
	"tool name (A-21)": {
		Request: provider.Request{Model: "claude-opus-4-6", Tools: []transcript.ToolDef{{Name: "a.b"}}},
		Want:    `tool "a.b": anthropic does not take`,
	},
	"blank user (A-11)": {
		Request: provider.Request{
			Model: "claude-opus-4-6", Messages: []transcript.Message{transcript.User("x"), transcript.User(" \n")},
		},
		Want: "messages[1]: it has no text",
	},
	"assistant first (A-8)": {
		Request: provider.Request{
			Model:    "claude-opus-4-6",
			Messages: []transcript.Message{transcript.Assistant("", transcript.Text("a")), transcript.User("x")},
		},
		Want: "messages[0]: the conversation must start",
	},
	"prefill (A-14)": {
		Request: provider.Request{
			Model:    "claude-opus-4-6",
			Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.Text("a"))},
		},
		Want: "messages[1]: claude-opus-4-6 takes no assistant message at the end",
	},
	"prefill while thinking": {
		Request: provider.Request{
			Model:    "claude-opus-4-5",
			Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.Text("a"))},
		},
		Want: "messages[1]: claude-opus-4-5 takes no",
	},
}

// The interleaved-thinking beta goes along exactly while thinking is on.
func TestAnthropicInterleavedHeader(t *testing.T) {
	var beta string
	c := anthropicSuite.newClient(t, func(w http.ResponseWriter, r *http.Request) {
		beta = r.Header.Get("Anthropic-Beta")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, anthropicSuite.Unary)
	})
	for effort, want := range map[string]string{
		"": "extra-2026-01-01,interleaved-thinking-2025-05-14", "none": "extra-2026-01-01",
	} {
		req := anthropicSuite.newRequest()
		req.Unary, req.Effort = true, effort
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if beta != want {
			t.Errorf("effort %q: beta %q, want %q", effort, beta, want)
		}
	}
}

// TestAnthropicCompactionBeta: the beta of compaction goes along with a request that asks for one
// or that carries one, and with no other.
func TestAnthropicCompactionBeta(t *testing.T) {
	compacted := transcript.Block{
		Type: transcript.BlockOpaque, Kind: "compaction", Raw: []byte(`{"type":"compaction","content":"sum"}`),
	}
	reply := transcript.Assistant("", anthropicNative("claude-opus-4-6", compacted, transcript.Text("a"))...)
	said := []transcript.Message{transcript.User("x"), reply, transcript.User("y")}
	for name, c := range map[string]struct {
		model    string
		at       int
		messages []transcript.Message
		want     string
	}{
		"neither":        {"claude-opus-4-6", 0, said[:1], ""},
		"asks":           {"claude-opus-4-6", 160000, said[:1], "compact-2026-01-12"},
		"carries":        {"claude-opus-4-6", 0, said, "compact-2026-01-12"},
		"another's":      {"claude-opus-4-7", 0, said, ""},
		"does not offer": {"claude-opus-4-5", 160000, said[:1], ""},
	} {
		entry, err := catalog.Lookup(c.model)
		if err != nil {
			t.Fatal(err)
		}
		got, err := anthropic.Codec{}.Render(
			&provider.Request{Model: c.model, Effort: "none", CompactAt: c.at, Messages: c.messages}, entry,
		)
		if err != nil {
			t.Fatal(err)
		}
		if beta := strings.Join(got.Header.Values("Anthropic-Beta"), ","); beta != c.want {
			t.Errorf("%s: betas %q, want %q", name, beta, c.want)
		}
		if sent := strings.Contains(
			string(got.Body), `[{"type":"compaction","content":"sum"},{"type":"text"`,
		); sent != (name == "carries") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// TestAnthropicTooLarge: what Anthropic refuses for its size is not sent.
func TestAnthropicTooLarge(t *testing.T) {
	client := anthropicSuite.newClient(t, func(http.ResponseWriter, *http.Request) { t.Error("a call was sent") })
	req := anthropicSuite.newRequest()
	req.Messages = []transcript.Message{transcript.User(strings.Repeat("x", 32<<20))}
	_, err := client.Complete(t.Context(), req, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ContextTooLong || !strings.Contains(
		err.Error(), "more than the 32 MB",
	) {
		t.Error(err)
	}
}

// TestAnthropicBetasAreJoined: configured betas and our own go out in one header.
func TestAnthropicBetasAreJoined(t *testing.T) {
	header := http.Header{
		"Anthropic-Beta": {
			"extra-2026-01-01 , interleaved-thinking-2025-05-14,compact-2026-01-12", "interleaved-thinking-2025-05-14",
			"compact-2026-01-12",
		},
	}
	anthropic.Codec{}.SetHeaders(header, "made-up")
	if got := header.Values("Anthropic-Beta"); len(got) != 1 ||
		got[0] != "extra-2026-01-01,interleaved-thinking-2025-05-14,compact-2026-01-12" {
		t.Errorf("%q", got)
	}
}

// A final assistant text on a model with prefill loses its trailing white
// space there and only there (A-13, R10); a paused turn goes back as it came.
func TestAnthropicRenderEndsWithAssistant(t *testing.T) {
	req := &provider.Request{Model: "claude-opus-4-5", Effort: "none", Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant("", transcript.Text("kept "), transcript.Text("cut \n")),
	}}
	if body := anthropicSuite.Render(t, *req); !strings.Contains(
		body, `{"type":"text","text":"kept "},{"type":"text","text":"cut"}]`,
	) {
		t.Error(body)
	}
	req = &provider.Request{Model: "claude-fable-5", Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant(transcript.StopPauseTurn, transcript.Text("searching ")),
	}}
	if body := anthropicSuite.Render(t, *req); !strings.Contains(body, `"text":"searching "`) {
		t.Error(body)
	}
}

func anthropicNative(model string, blocks ...transcript.Block) []transcript.Block {
	for i := range blocks {
		blocks[i].Origin = &transcript.Origin{Provider: "anthropic", API: "messages", Model: model, Index: i}
	}
	return blocks
}

func thought(text string) transcript.Block {
	return transcript.Reasoning(text, &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "c2ln"})
}

// A budget model refuses an open tool loop that does not start with thinking
// thinking is off until the loop is closed, and then on again (open-tool-loop).
func TestAnthropicRenderForeignLoop(t *testing.T) {
	loop := []transcript.Message{
		transcript.User("x"),
		transcript.Assistant("", anthropicNative("claude-opus-4-5", thought("old"), transcript.Text("hi"))...),
		transcript.User("y"),
		transcript.Assistant("", transcript.Reasoning("foreign", nil), transcript.ToolUse("a", "list_dir", nil)),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "a", Content: "r"}),
		transcript.Assistant("", anthropicNative(
			"claude-opus-4-5", thought("late"), transcript.ToolUse("b", "list_dir", nil),
		)...),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "b", Content: "r"}),
	}
	req := &provider.Request{Model: "claude-opus-4-5", Tools: toolDefs(), Messages: loop}
	if body := anthropicSuite.Render(t, *req); !strings.Contains(body, `"thinking":{"type":"disabled"}`) ||
		strings.Contains(body, `"signature"`) {
		t.Errorf("open loop: %s", body)
	}
	req.Messages = append(
		slices.Clip(loop), transcript.Assistant("", anthropicNative("claude-opus-4-5", transcript.Text("done"))...),
		transcript.User("z"),
	)
	body := anthropicSuite.Render(t, *req)
	if !strings.Contains(body, `"budget_tokens"`) || strings.Count(body, `"signature"`) != 2 ||
		strings.Contains(body, "foreign") {
		t.Errorf("closed loop: %s", body)
	}
	req.Model = "claude-opus-4-6" // adaptive: nothing needed
	req.Messages = loop
	if body := anthropicSuite.Render(t, *req); !strings.Contains(body, `"adaptive"`) {
		t.Errorf("adaptive: %s", body)
	}
	// A loop that starts with thinking goes on with it.
	req = &provider.Request{Model: "claude-opus-4-5", Tools: toolDefs(), Messages: append(loop[:3:3], loop[5:]...)}
	if body := anthropicSuite.Render(t, *req); !strings.Contains(body, `"budget_tokens"`) ||
		strings.Count(body, `"signature"`) != 2 {
		t.Errorf("own loop: %s", body)
	}
}

func TestAnthropicRenderThinkingOfOthers(t *testing.T) {
	body := anthropicSuite.Render(t, provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{
		transcript.User("x"),
		transcript.Assistant("", anthropicNative("claude-opus-4-6", thought("mine"), transcript.Text("a"))...),
		transcript.User("x"),
		transcript.Assistant("", anthropicNative(
			"claude-opus-4-5", thought("another model's"), transcript.Text("b"),
		)...),
		transcript.User("x"),
		transcript.Assistant("", anthropicNative("claude-opus-4-6", transcript.Text("c"), thought("last"))...),
		transcript.User("x"),
	}})
	if !strings.Contains(body,
		`[{"type":"thinking","thinking":"mine","signature":"c2ln"},{"type":"text","text":"a"}]`) ||
		strings.Contains(body, "another model's") || strings.Contains(body, "last") {
		t.Error(body)
	}
}

// What arrived whole goes back untouched, to its own origin only.
func TestAnthropicRenderRaw(t *testing.T) {
	blocks := anthropicNative("claude-opus-4-6", thought("t"), transcript.Text("a"),
		transcript.ToolUse("a", "list_dir", []byte(`{}`)),
		transcript.Block{Type: transcript.BlockOpaque, Kind: "server_tool_use"})
	raws := []string{
		`{"signature":"c2ln", "type":"thinking","thinking":"t"}`, `{"type":"text","text":"\u0061","citations":null}`,
		`{"caller":{"type":"direct"},"type":"tool_use","id":"a","name":"list_dir","input":{ }}`,
		`{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1.0}}`,
	}
	for i := range blocks {
		blocks[i].Raw = []byte(raws[i])
	}
	req := &provider.Request{Model: "claude-opus-4-6", Tools: toolDefs(), Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant("", blocks...),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"}),
	}}
	if body := anthropicSuite.Render(t, *req); !strings.Contains(body, `"content":[`+strings.Join(raws, ",")+`]}`) {
		t.Error(body)
	}
	req.Model = "claude-opus-4-5"
	body := anthropicSuite.Render(t, *req)
	for i, raw := range raws {
		if strings.Contains(body, raw) {
			t.Errorf("raw %d went to another model: %s", i, body)
		}
	}
}

// cachedConversation has a reply with thoughts, results with an image, and n prompts.
func cachedConversation(n int) []transcript.Message {
	messages := []transcript.Message{
		transcript.User("first"),
		transcript.Assistant(transcript.StopToolUse,
			transcript.Reasoning("thought", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "c2ln"}),
			transcript.ToolUse("toolu_1", "t", []byte(`{}`)), transcript.ToolUse("toolu_2", "t", []byte(`{}`))),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "toolu_1", Content: "a"},
			transcript.ToolResult{
				ToolUseID: "toolu_2", Content: "b",
				Parts: []transcript.Part{{Type: "image", MediaType: "image/png", Data: []byte("x")}},
			}),
	}
	for range n {
		messages = append(
			messages, transcript.Assistant(transcript.StopEndTurn, transcript.Text("answer")), transcript.User("next"),
		)
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
	body, err := renderBody(anthropic.Codec{}, &req, m)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return string(body)
}

var mark = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}`)

// TestAnthropicCacheMarks: at most four, on the end of the system prompt or the tools and
// on the last two messages that are not the model's; never on thinking (A-43,
//
func TestAnthropicCacheMarks(t *testing.T) {
	tools := []transcript.ToolDef{{Name: "s"}, {Name: "t"}}
	for name, c := range map[string]struct {
		req  provider.Request
		want []string // what stands right before each mark
	}{
		"none asked for": {provider.Request{System: "sys", Tools: tools, Messages: cachedConversation(1)}, nil},
		"system and two turns": {
			provider.Request{CacheTTL: "5m", System: "sys", Tools: tools, Messages: cachedConversation(1)},
			[]string{`"text":"sys"`, `"is_error":false`, `"text":"next"`},
		},
		"tools without system": {
			provider.Request{CacheTTL: "5m", Tools: tools, Messages: cachedConversation(2)},
			[]string{`"properties":{}}`, `"text":"next"`, `"text":"next"`},
		},
		"a single prompt": {
			provider.Request{CacheTTL: "5m", Messages: cachedConversation(0)[:1]}, []string{`"text":"first"`},
		},
		"the end is the model's": {
			provider.Request{
				CacheTTL: "5m",
				Messages: append(
					cachedConversation(0), transcript.Assistant(transcript.StopPauseTurn, transcript.Text("x")),
				),
			},
			[]string{`"text":"first"`, `"is_error":false`},
		},
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
				t.Errorf(
					"%s: mark %d is behind …%s, want it behind %s", name, i, got[i][max(0, len(got[i])-40):],
					c.want[i],
				)
			}
		}
	}
	if body := rendered(t, provider.Request{
		CacheTTL: "1h", Messages: cachedConversation(0),
	}); !strings.Contains(body, `"ttl":"1h"`) {
		t.Error(body)
	}
}

// TestAnthropicCachedPrefix: except for the marks, a longer conversation begins with the
// bytes of the shorter one (R44).
func TestAnthropicCachedPrefix(t *testing.T) {
	for n := range 4 {
		short := mark.ReplaceAllString(
			rendered(t, provider.Request{CacheTTL: "5m", System: "sys", Messages: cachedConversation(n)}), "",
		)
		long := mark.ReplaceAllString(
			rendered(t, provider.Request{CacheTTL: "5m", System: "sys", Messages: cachedConversation(n + 1)}), "",
		)
		if !strings.HasPrefix(long, strings.TrimSuffix(short, "]}")) {
			t.Errorf("%s\nis no beginning of\n%s", short, long)
		}
	}
}

func TestAnthropicOutputSchema(t *testing.T) {
	schema := transcript.RawJSON(`{"type":"object","z":1, "a":2}`)
	for effort, want := range map[string]string{
		"high": `"output_config":{"effort":"high","format":{"type":"json_schema","schema":` + string(schema) + `}}`,
		"none": `"output_config":{"format":{"type":"json_schema","schema":` + string(schema) + `}}`,
	} {
		if body := rendered(t, provider.Request{
			Effort: effort, OutputSchema: schema, Messages: cachedConversation(0),
		}); !strings.Contains(body, want) {
			t.Errorf("%s: want %s", body, want)
		}
	}
}
