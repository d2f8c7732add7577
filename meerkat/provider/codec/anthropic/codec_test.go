package anthropic

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// suite is this codec in the tests that all codecs share.
var suite = providertest.CodecSuite{
	Codec: Codec{}, Model: "claude-opus-4-5", StableModel: "claude-opus-4-6", Arguments: "input",
	Parameters: parameterCases, Refusals: refusalCases, HealthURI: "/v1/models?limit=1",
	Path: "/v1/messages", UnaryPath: "/v1/messages",
	Header: map[string]string{
		"X-Api-Key": providertest.Canary, "Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
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
	Unary:        `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`,
	Failed:       string(providertest.Events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded ` + providertest.Canary + `"}}`)),
	FailedKind:   provider.Overloaded,
	ConfigHeader: http.Header{"Anthropic-Beta": {"extra-2026-01-01 "}},
}

func TestCodec(t *testing.T) { suite.Run(t) }

var half = 0.5

// looseSchema is a schema that a strict mode refuses, in a spelling that a JSON
// library would change.
const looseSchema = `{"type":"object", "z":1.0}`

// parameterCases: the form of thinking follows the catalogue, and sampling goes
// only where it is taken.
var parameterCases = map[string]providertest.ParameterCase{
	"budget":               {Request: provider.Request{Model: "claude-opus-4-5"}, Want: `"max_tokens":32768,"stream":true,"thinking":{"type":"enabled","budget_tokens":8192},"messages"`},
	"budget fits":          {Request: provider.Request{Model: "claude-sonnet-4-5", Effort: "high", MaxOutputTokens: 4096}, Want: `"max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":2048}`, Not: "output_config"},
	"budget off":           {Request: provider.Request{Model: "claude-opus-4-5", Effort: "none", Temperature: &half, Unary: true}, Want: `"stream":false,"thinking":{"type":"disabled"},"temperature":0.5,`},
	"adaptive":             {Request: provider.Request{Model: "claude-opus-4-6", Temperature: &half}, Want: `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"messages"`, Not: "temperature"},
	"adaptive off":         {Request: provider.Request{Model: "claude-opus-4-8", Effort: "none", Temperature: &half}, Want: `"thinking":{"type":"disabled"},"messages"`, Not: "temperature"},
	"adaptive max":         {Request: provider.Request{Model: "claude-opus-4-6", Effort: "max"}, Want: `"output_config":{"effort":"max"}`, Not: "budget"},
	"always on":            {Request: provider.Request{Model: "claude-fable-5"}, Want: `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
	"stops":                {Request: provider.Request{Model: "claude-opus-4-6", StopSequences: []string{"a", "\n"}}, Want: `"stop_sequences":["a","\n"]`},
	"choice":               {Request: provider.Request{Model: "claude-opus-4-6", ToolChoice: "list_dir", Tools: providertest.Tools()}, Want: `"tool_choice":{"type":"tool","name":"list_dir"}`},
	"choice none":          {Request: provider.Request{Model: "claude-opus-4-6", ToolChoice: "none", Tools: providertest.Tools()}, Want: `"tool_choice":{"type":"none"}`},
	"choice without tools": {Request: provider.Request{Model: "claude-opus-4-6", ToolChoice: "auto"}, Want: `"messages"`, Not: "tool_choice"},
	"compaction":           {Request: provider.Request{Model: "claude-opus-4-6", CompactAt: 160000}, Want: `"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":160000}}]},"messages"`},
	"smallest compaction":  {Request: provider.Request{Model: "claude-fable-5", CompactAt: 1}, Want: `"trigger":{"type":"input_tokens","value":50000}`},
	"no compaction":        {Request: provider.Request{Model: "claude-opus-4-5", CompactAt: 160000}, Want: `"messages"`, Not: "context_management"},
	"output schema":        {Request: provider.Request{Effort: "none", OutputSchema: transcript.RawJSON(looseSchema)}, Want: `"output_config":{"format":{"type":"json_schema","schema":` + looseSchema + `}}`},
}

var refusalCases = map[string]providertest.RefusalCase{
	"effort (A-32)":          {Request: provider.Request{Model: "claude-opus-4-6", Effort: "xhigh"}, Want: `effort: "xhigh" is not offered by claude-opus-4-6; use one of none, low`},
	"always on (A-30)":       {Request: provider.Request{Model: "claude-fable-5", Effort: "none"}, Want: `effort: "none" is not offered`},
	"too much (A-7)":         {Request: provider.Request{Model: "claude-opus-4-5", MaxOutputTokens: 64001}, Want: "max output tokens: 64001"},
	"no room (A-25)":         {Request: provider.Request{Model: "claude-opus-4-5", MaxOutputTokens: 2047}, Want: "max output tokens: 2047 leave no room"},
	"forced thinking (A-26)": {Request: provider.Request{Model: "claude-opus-4-5", ToolChoice: "any", Tools: providertest.Tools()}, Want: "tool choice: a tool cannot be forced while thinking"},
	"forced (A-33)":          {Request: provider.Request{Model: "claude-fable-5", ToolChoice: "any", Tools: providertest.Tools()}, Want: "tool choice: claude-fable-5 cannot"},
	"tool name (A-21)":       {Request: provider.Request{Model: "claude-opus-4-6", Tools: []transcript.ToolDef{{Name: "a.b"}}}, Want: `tool "a.b": anthropic does not take`},
	"blank user (A-11)":      {Request: provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{transcript.User("x"), transcript.User(" \n")}}, Want: "messages[1]: it has no text"},
	"assistant first (A-8)":  {Request: provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{transcript.Assistant("", transcript.Text("a")), transcript.User("x")}}, Want: "messages[0]: the conversation must start"},
	"prefill (A-14)":         {Request: provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.Text("a"))}}, Want: "messages[1]: claude-opus-4-6 takes no assistant message at the end"},
	"prefill while thinking": {Request: provider.Request{Model: "claude-opus-4-5", Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.Text("a"))}}, Want: "messages[1]: claude-opus-4-5 takes no"},
}

// The interleaved-thinking beta goes along exactly while thinking is on.
func TestInterleavedHeader(t *testing.T) {
	var beta string
	c := suite.NewClient(t, func(w http.ResponseWriter, r *http.Request) {
		beta = r.Header.Get("Anthropic-Beta")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, suite.Unary)
	})
	for effort, want := range map[string]string{"": "extra-2026-01-01,interleaved-thinking-2025-05-14", "none": "extra-2026-01-01"} {
		req := suite.NewRequest()
		req.Unary, req.Effort = true, effort
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if beta != want {
			t.Errorf("effort %q: beta %q, want %q", effort, beta, want)
		}
	}
}

// TestCompactionBeta: the beta of compaction goes along with a request that asks for one
// or that carries one, and with no other.
func TestCompactionBeta(t *testing.T) {
	compacted := transcript.Block{Type: transcript.BlockOpaque, Kind: "compaction", Raw: []byte(`{"type":"compaction","content":"sum"}`)}
	reply := transcript.Assistant("", native("claude-opus-4-6", compacted, transcript.Text("a"))...)
	said := []transcript.Message{transcript.User("x"), reply, transcript.User("y")}
	for name, c := range map[string]struct {
		model    string
		at       int
		messages []transcript.Message
		want     string
	}{
		"neither":        {"claude-opus-4-6", 0, said[:1], ""},
		"asks":           {"claude-opus-4-6", 160000, said[:1], compactBeta},
		"carries":        {"claude-opus-4-6", 0, said, compactBeta},
		"another's":      {"claude-opus-4-7", 0, said, ""},
		"does not offer": {"claude-opus-4-5", 160000, said[:1], ""},
	} {
		entry, err := catalog.Lookup(c.model)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Codec{}.Render(&provider.Request{Model: c.model, Effort: "none", CompactAt: c.at, Messages: c.messages}, entry)
		if err != nil {
			t.Fatal(err)
		}
		if beta := strings.Join(got.Header.Values(betaHeader), ","); beta != c.want {
			t.Errorf("%s: betas %q, want %q", name, beta, c.want)
		}
		if sent := strings.Contains(string(got.Body), `[{"type":"compaction","content":"sum"},{"type":"text"`); sent != (name == "carries") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// TestTooLarge: what Anthropic refuses for its size is not sent.
func TestTooLarge(t *testing.T) {
	client := suite.NewClient(t, func(http.ResponseWriter, *http.Request) { t.Error("a call was sent") })
	req := suite.NewRequest()
	req.Messages = []transcript.Message{transcript.User(strings.Repeat("x", 32<<20))}
	_, err := client.Complete(t.Context(), req, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ContextTooLong || !strings.Contains(err.Error(), "more than the 32 MB") {
		t.Error(err)
	}
}

// TestBetasAreJoined: configured betas and our own go out in one header.
func TestBetasAreJoined(t *testing.T) {
	header := http.Header{"Anthropic-Beta": {"extra-2026-01-01 , interleaved-thinking-2025-05-14,compact-2026-01-12", interleavedBeta, compactBeta}}
	Codec{}.SetHeaders(header, "made-up")
	if got := header.Values("Anthropic-Beta"); len(got) != 1 || got[0] != "extra-2026-01-01,interleaved-thinking-2025-05-14,compact-2026-01-12" {
		t.Errorf("%q", got)
	}
}
