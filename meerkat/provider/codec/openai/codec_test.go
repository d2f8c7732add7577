package openai

import (
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// suite is this codec in the tests that all codecs share.
var suite = providertest.CodecSuite{
	Codec: Codec{}, Model: "gpt-5.2", StableModel: "gpt-5.2", Arguments: "arguments",
	Parameters: parameterCases, Refusals: refusalCases, HealthURI: "/v1/models",
	Path: "/v1/responses", UnaryPath: "/v1/responses",
	Header: map[string]string{"Authorization": "Bearer " + providertest.Canary, "Content-Type": "application/json", "Accept": "text/event-stream"},
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
		`{"type":"error","sequence_number":1,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit reached for `+providertest.Canary+`. Please try again in 1.2s.","param":null}}`,
	)),
	FailedKind: provider.RateLimited, FailedDelay: 1200 * time.Millisecond,
}

func TestCodec(t *testing.T) { suite.Run(t) }

var half = 0.5

// looseSchema is a schema that a strict mode refuses, in a spelling that a JSON
// library would change.
const looseSchema = `{"type":"object", "z":1.0}`

const stateless = `"store":false,"include":["reasoning.encrypted_content"]`

var parameterCases = map[string]providertest.ParameterCase{
	"default effort (D-19)":           {Request: provider.Request{Model: "gpt-5.2", Temperature: &half}, Want: stateless + `,"reasoning":{"effort":"medium","summary":"auto"},"input"`, Not: "temperature"},
	"no reasoning (O-24)":             {Request: provider.Request{Model: "gpt-5.2", Effort: "none", Temperature: &half}, Want: stateless + `,"reasoning":{"effort":"none"},"temperature":0.5`},
	"no reasoning model (O-21, O-22)": {Request: provider.Request{Model: "gpt-4.1", Temperature: &half}, Want: `"store":false,"temperature":0.5,"input"`, Not: "include"},
	"output":                          {Request: provider.Request{Model: "gpt-5.2", MaxOutputTokens: 16, Unary: true}, Want: `"stream":false,` + stateless + `,"reasoning":{"effort":"medium","summary":"auto"},"max_output_tokens":16`},
	"any":                             {Request: provider.Request{Model: "gpt-5.2", ToolChoice: "any", Tools: providertest.Tools()}, Want: `"tool_choice":"required"`},
	"by name":                         {Request: provider.Request{Model: "gpt-5.2", ToolChoice: "list_dir", Tools: providertest.Tools()}, Want: `"tool_choice":{"type":"function","name":"list_dir"}`},
	"cache key":                       {Request: provider.Request{Model: "gpt-5.2", CacheKey: "s1"}, Want: `"prompt_cache_key":"s1","input"`},
	"compaction":                      {Request: provider.Request{Model: "gpt-5.2", CompactAt: 200000}, Want: `"context_management":[{"type":"compaction","compact_threshold":200000}],"input"`},
	"smallest compaction (O-6)":       {Request: provider.Request{Model: "gpt-5.2", CompactAt: 1}, Want: `"compact_threshold":1000}`},
	"no compaction":                   {Request: provider.Request{Model: "gpt-4.1", CompactAt: 200000}, Want: `"input"`, Not: "context_management"},
	"loose output schema":             {Request: provider.Request{OutputSchema: transcript.RawJSON(looseSchema)}, Want: `"text":{"format":{"type":"json_schema","name":"answer","schema":` + looseSchema + `,"strict":false}}`},
	"strict output schema":            {Request: provider.Request{OutputSchema: transcript.RawJSON(`{"type":"object","properties":{},"additionalProperties":false}`)}, Want: `"strict":true}}`},
}

var refusalCases = map[string]providertest.RefusalCase{
	"effort (O-23)":      {Request: provider.Request{Effort: "max"}, Want: `effort: "max" is not offered by gpt-5.2`},
	"small output (O-6)": {Request: provider.Request{MaxOutputTokens: 15}, Want: "max output tokens: 15 is below"},
	"long cache key":     {Request: provider.Request{CacheKey: strings.Repeat("k", 65)}, Want: "cache key: it has 65 bytes; use 64 at most"},
	"stops":              {Request: provider.Request{StopSequences: []string{"x"}}, Want: "stop sequences: the Responses API has none"},
	"tool name (O-18)":   {Request: provider.Request{Tools: []transcript.ToolDef{{Name: "a.b"}}}, Want: `tool "a.b": openai`},
}
