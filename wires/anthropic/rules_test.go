package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

var env = rule.Env{Key: seal.NewKey("test")}

// ask is a request with some headers, "name: value".
func ask(path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-Api-Key", "test-key")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

func check(body string, headers ...string) *rule.Refusal {
	return Parse(ask("/v1/messages", body, headers...), []byte(body)).Check(env)
}

// with is a request that passes, with members replaced or added; null takes one
// away.
func with(tb testing.TB, members string) string {
	tb.Helper()
	all := map[string]json.RawMessage{
		"model": json.RawMessage(`"claude-sonnet-4-5"`), "max_tokens": json.RawMessage(`4096`),
		"messages": json.RawMessage(`[{"role":"user","content":"hi"}]`),
	}
	var some map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+members+"}"), &some); err != nil {
		tb.Fatalf("%v: %s", err, members)
	}
	for name, value := range some {
		if all[name] = value; string(value) == "null" {
			delete(all, name)
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// row is a rule: the smallest request that breaks it, the nearest that does
// not, what the API says, and where the referee reports the breach. Requests are members
// as for with. Without says the API lets the breach pass.
type row struct {
	id, broken, passes string
	status             int // 0: 400
	kind, says, at     string
}

func (r row) run(t *testing.T) {
	t.Helper()
	got := check(with(t, r.broken))
	status, kind := r.status, r.kind
	if status == 0 {
		status, kind = 400, typeInvalid
	}
	if places := r.reported(t, r.broken); r.at != "" &&
		(!slices.Equal(places, []string{r.at}) || r.reported(t, r.passes) != nil) {
		t.Errorf("%s: reported at %v, want %s, and nowhere in the neighbour", r.id, places, r.at)
	}
	if r.says == "" {
		if got != nil && got.Rule == r.id {
			t.Errorf("%s: got %+v", r.id, got)
		}
		return
	}
	if got == nil || got.Rule != r.id || got.Status != status || got.Type != kind || got.Message != r.says {
		t.Errorf("%s: got %+v\nwant %d %s %s\nfor %.200s", r.id, got, status, kind, r.says, r.broken)
	}
	if r.passes == "" {
		return
	}
	if got := check(with(t, r.passes)); got != nil {
		t.Errorf("%s: refused with %v: %.200s", r.id, got, r.passes)
	}
}

// reported lists the places at which the referee reports the rule. Where a breach only
// degrades what the model does, the API lets it pass.
func (r row) reported(t *testing.T, members string) (places []string) {
	t.Helper()
	c := parseCall(ask("/", "").Header, []byte(with(t, members)))
	for _, passes := range judgeRequest(rule.Seen{URL: &url.URL{}, Header: c.header, Root: c.root, Takes: c.takes,
		Betas: c.betas, IsShown: func(string) bool { return false }}, func(rule.Hosts) bool { return true }) {
		for _, p := range passes {
			for _, b := range p.Breaches {
				if b.Rule == r.id && b.Form != "" && b.Consequence != string(specs.Degraded) {
					places = append(places, b.Path)
				}
			}
		}
	}
	return places
}

const (
	aTool    = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	aCall    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	aResult  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	aPrompt  = `{"role":"user","content":"hi"}`
	thinkOn  = `"thinking":{"type":"enabled","budget_tokens":1024}`
	opus47   = `"model":"claude-opus-4-7"`
	opus46   = `"model":"claude-opus-4-6"`
	opus55   = `"model":"claude-opus-5-5"`
	aThought = `{"type":"thinking","thinking":"t","signature":"x"}`
)

const noSchema = "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use."

// schema is a tool whose schema has more members.
func schema(members string) string {
	return `"tools":[{"name":"f","input_schema":{"type":"object",` + members + `}}]`
}

// late is a deferred tool, searchTool finds it.
const (
	late       = `"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true}]`
	searchTool = `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`
)

// found is the result of a call that refers to a tool.
func found(name string) string {
	return user(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"` +
		name + `"}]}`)
}

func said(messages ...string) string { return `"messages":[` + strings.Join(messages, ",") + `]` }

func user(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }

func assistant(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }

func TestShape(t *testing.T) {
	for _, r := range []row{
		{id: "A-6", broken: `"model":null`, says: "model: Field required"},
		{id: "A-6", broken: `"max_tokens":null`, passes: `"max_tokens":1`, says: "max_tokens: Field required"},
		{id: "A-6", broken: `"messages":null`, says: "messages: Field required"},
		{id: "A-6", broken: `"tools":[{"name":"f","input_schema":{}}]`, passes: aTool,
			says: "tools.0.custom.input_schema.type: Field required"},
		{id: "A-5", broken: `"foo":1`, says: "foo: Extra inputs are not permitted"},
		{id: "A-5", broken: said(user(`{"type":"text","text":"a","x":1}`)),
			passes: said(user(`{"type":"text","text":"a"}`)),
			says:   "messages.0.content.0.text.x: Extra inputs are not permitted"},
		{id: "A-5", broken: opus46 + `,"thinking":{"type":"adaptive","block_binding":{}}`,
			passes: opus46 + `,"thinking":{"type":"adaptive"}`,
			says:   "thinking.adaptive.block_binding: Extra inputs are not permitted"},
		{id: "A-7", broken: `"temperature":-5`, passes: `"temperature":0.5`, says: "temperature: range: 0..1"},
		{id: "A-7", broken: `"tools":[{"name":"f","input_schema":{"type":"array"}}]`, passes: aTool,
			says: "tools.0.custom.input_schema.type: Input should be 'object'"},
		{id: "A-7", broken: `"thinking":{"type":"enabled","budget_tokens":1023}`, passes: thinkOn,
			says: "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		{id: "A-7", broken: `"stream":"yes"`, passes: `"stream":true`, says: "stream: Input should be a valid boolean"},
		{id: "A-7", broken: `"max_tokens":64001`, passes: `"max_tokens":64000`,
			says: "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"},
		{id: "A-7", broken: `"tools":[{"name":"f","input_schema":{"type":["object"]}}]`, passes: aTool,
			says: "tools.0.custom.input_schema.type: Input should be 'object'"},
		{id: "A-7", broken: schema(`"properties":{"a":{"type":"text"}}`),
			passes: schema(`"properties":{"a":{"type":"string"}}`), says: "tools.0.custom.input_schema: " + noSchema},
		{id: "A-7", broken: schema(`"properties":{"a":{"type":["string","any"]}}`),
			passes: schema(`"properties":{"a":{"type":["string","null"]}}`),
			says:   "tools.0.custom.input_schema: " + noSchema},
		{id: "A-7", broken: schema(`"properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}`),
			passes: schema(`"properties":{"a":{"type":"number","exclusiveMinimum":0}}`),
			says:   "tools.0.custom.input_schema: " + noSchema},
		{id: "A-7", broken: schema(`"properties":{"a":{"type":"array","items":[{"type":"string"}]}}`),
			passes: schema(`"properties":{"a":{"type":"array"},"type":{"type":"string"}}`),
			says:   "tools.0.custom.input_schema: " + noSchema},
		{id: "A-7", broken: schema(`"anyOf":[{"required":["a"]}]`),
			passes: schema(`"properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/b"}]}},"$defs":{"b":{"items":{"$ref":"#/$defs/b"}}}`), says: "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"},
		{id: "A-7", broken: schema(`"properties":{"$a":{}}`), passes: schema(`"properties":{"a.b":{}}`),
			says: "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"},
		{id: "A-9", broken: said(`{"role":"tool","content":"x"}`),
			says: "messages.0.role: Input should be 'user', 'assistant' or 'system'", at: "messages[0].role"},
		{id: "A-9", broken: said(aPrompt, `{"role":"system","content":"x"}`), passes: `"model":"claude-opus-4-8",` +
			said(aPrompt, `{"role":"system","content":"x"}`),
			says: "messages.1.role: Input should be 'user' or 'assistant'", at: "messages[1].role"},
		{id: "A-20", broken: aTool + "," + said(aPrompt, strings.Replace(aCall, `"a"`, `"a.b"`, 1),
			strings.Replace(aResult, `"a"`, `"a.b"`, 1)), passes: aTool + "," + said(aPrompt, aCall, aResult),
			says: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
		{id: "A-21", broken: strings.Replace(aTool, `"f"`, `"a.b"`, 1), passes: aTool,
			says: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"},
		{id: "A-22", broken: said(aPrompt, strings.Replace(aCall, `{}`, `"{}"`, 1), aResult),
			passes: said(aPrompt, aCall, aResult),
			says:   "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
			at:     "messages[1].content[0]"},
		{id: "A-35", broken: said(aPrompt, assistant(`{"type":"thinking","thinking":"t"}`)),
			says: "messages.1.content.0.thinking.signature: Field required", at: "messages[1].content[0]"},
		{id: "ANT-T5", broken: said(aPrompt, assistant(`{"type":"thinking","signature":"t"}`)),
			says: "messages.1.content.0.thinking.thinking: Field required", at: "messages[1].content[0]"},
		{id: "A-44", broken: said(aPrompt,
			assistant(`{"type":"thinking","thinking":"t","signature":"x","cache_control":{"type":"ephemeral"}}`)),
			says: "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
			at:   "messages[1].content[0]"},
		{id: "A-46",
			broken: said(user(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AAAA"}}`)),
			passes: said(user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`)),
			says:   "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"},
	} {
		r.run(t)
	}
}

func TestParameters(t *testing.T) {
	answer := func(members string) string {
		return `"output_config":{"format":{"type":"json_schema","schema":{"type":"object",` + members + `}}}`
	}
	strict := func(n, optional, unions int) string {
		var tools []string
		for i := range n {
			properties := `"p":{"type":"string"}`
			required := `"p"`
			if i < optional {
				required = ""
			}
			if i < unions {
				properties = `"p":{"type":["string","null"]}`
			}
			tools = append(tools,
				fmt.Sprintf(`{"name":"f%d","strict":true,"input_schema":{"type":"object","additionalProperties":false,"properties":{%s},"required":[%s]}}`, i, properties, required))
		}
		return `"tools":[` + strings.Join(tools, ",") + `]`
	}
	any := `,"tool_choice":{"type":"any"}`
	for _, r := range []row{
		{id: "A-3", broken: `"model":"claude-sonet-4-5"`, status: 404, kind: typeNotFound,
			says: "model: claude-sonet-4-5"},
		{id: "A-31", broken: opus47 + `,"temperature":0.9`, passes: opus47 + `,"temperature":1`,
			says: "`temperature` is deprecated for this model."},
		{id: "A-31", broken: opus46 + `,"temperature":0.5,"top_p":0.9`, passes: opus46 + `,"temperature":0.5,"top_k":9`,
			says: "`temperature` and `top_p` cannot both be specified for this model. Please use only one."},
		{id: "A-32", broken: opus46 + `,"output_config":{"effort":"xhigh"}`,
			passes: opus46 + `,"output_config":{"effort":"max"}`,
			says:   "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."},
		{id: "A-32", broken: `"output_config":{"effort":"low"}`,
			passes: `"model":"claude-opus-4-5","output_config":{"effort":"low"}`,
			says:   "This model does not support the effort parameter."},
		{id: "A-7", broken: `"stop_sequences":["END","\n "]`, passes: `"stop_sequences":["\nEND"]`,
			says: "stop_sequences: each stop sequence must contain non-whitespace"},
		{id: "A-28", broken: opus47 + "," + thinkOn, passes: opus47 + `,"thinking":{"type":"adaptive"}`,
			says: `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`},
		{id: "A-29", broken: `"thinking":{"type":"adaptive"}`, passes: thinkOn,
			says: "adaptive thinking is not supported on this model"},
		{id: "A-30", broken: opus55 + `,"thinking":{"type":"disabled"}`,
			passes: opus47 + `,"thinking":{"type":"disabled"}`,
			says:   `"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`},
		{id: "A-30", broken: `"model":"claude-opus-5","thinking":{"type":"disabled"},"output_config":{"effort":"max"}`,
			passes: `"model":"claude-opus-5","thinking":{"type":"disabled"},"output_config":{"effort":"high"}`,
			says:   `"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`},
		{id: "A-25", broken: thinkOn + `,"max_tokens":1024`, passes: thinkOn + `,"max_tokens":1025`,
			says: "`max_tokens` must be greater than `thinking.budget_tokens`." + thinkingDocs +
				"#max-tokens-and-context-window-size"},
		{id: "A-26", broken: thinkOn + "," + aTool + any, passes: thinkOn + "," + aTool +
			`,"tool_choice":{"type":"auto"}`, says: "Thinking may not be enabled when tool_choice forces tool use."},
		{id: "A-27", broken: thinkOn + `,"temperature":0.2`, passes: thinkOn + `,"temperature":1`,
			says: "`temperature` may only be set to 1 when thinking is enabled." + thinkingDocs},
		{id: "A-27", broken: opus46 + `,"thinking":{"type":"adaptive"},"top_k":5`, passes: opus46 + `,"top_k":5`,
			says: "`top_k` must be unset when thinking is enabled or in adaptive mode." + thinkingDocs},
		{id: "A-27", broken: thinkOn + `,"top_p":0.9`, passes: thinkOn + `,"top_p":0.95`,
			says: "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled." + thinkingDocs},
		{id: "A-21",
			broken: `"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`, passes: aTool, says: "tools: Tool names must be unique."},
		{id: "A-23", broken: `"tool_choice":{"type":"auto"}`, passes: aTool + `,"tool_choice":{"type":"auto"}`,
			says: "tool_choice may only be specified while providing tools."},
		{id: "A-23", broken: aTool + `,"tool_choice":{"type":"tool","name":"x"}`,
			passes: aTool + `,"tool_choice":{"type":"tool","name":"f"}`, says: "Tool 'x' not found in provided tools"},
		{id: "A-33", broken: opus55 + "," + aTool + any, passes: opus47 + "," + aTool + any,
			says: `tool_choice: type "tool" and "any" are not supported for this model.`},
		{id: "A-50", broken: late, passes: late[:len(late)-1] + "," + searchTool + "]",
			says: "All tools have defer_loading set. At least one tool must be non-deferred.", at: "tools"},
		{id: "A-50", broken: aTool[:len(aTool)-1] + "," + strings.Replace(searchTool, "}", `,"defer_loading":true}`,
			1) + "]", passes: aTool[:len(aTool)-1] + "," + searchTool + "]",
			says: "tools.1.tool_search_tool_bm25_20251119.defer_loading: Extra inputs are not permitted",
			at:   "tools[1]"},
		{id: "A-51", broken: aTool + "," + said(aPrompt, aCall, found("g")),
			passes: aTool + "," + said(aPrompt, aCall, found("f")),
			says:   "Tool reference 'g' has no corresponding tool definition", at: "messages[2].content[0]"},
		{id: "A-48", broken: strict(21, 0, 0), passes: strict(20, 0, 0),
			says: "Too many strict tools (21). The maximum number of strict tools supported is 20. Try reducing the number of tools marked as strict."},
		{id: "A-48", broken: strict(20, 0, 17), passes: strict(20, 0, 16),
			says: "Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf). This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: 16 parameters with unions)."},
		{id: "A-48",
			broken: `"tools":[{"name":"f","strict":true,"input_schema":{"type":"object","$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}}}}]`, passes: aTool, says: "tools.0.custom: Invalid schema: Circular reference detected in n"},
		{id: "A-48", broken: answer(`"properties":{"a":{"type":"object"}},"additionalProperties":false`),
			passes: answer(`"properties":{"a":{"type":["object","null"]},"type":{"const":"object"}},"additionalProperties":false`), says: "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"},
		{id: "A-48", broken: answer(`"additionalProperties":true`),
			says: "output_config.format.schema: For 'object' type, 'additionalProperties: true' is not supported. Please set 'additionalProperties' to false"},
		{id: "A-48", broken: `"tools":[{"name":"f","strict":true,"input_schema":{"type":"object","properties":{}}}]`,
			passes: strict(1, 0, 0),
			says:   "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false"},
		{id: "A-48",
			broken: `"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}}}`, passes: answer(`"additionalProperties":false,"properties":{"n":{"type":"integer"}}`), says: "output_config.format.schema: For 'integer' type, property 'minimum' is not supported"},
	} {
		r.run(t)
	}
}

func TestContent(t *testing.T) {
	var large bytes.Buffer
	if err := png.Encode(&large, image.NewGray(image.Rect(0, 0, 8001, 1))); err != nil {
		t.Fatal(err)
	}
	picture := func(data string) string {
		return said(user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`))
	}
	marks := func(n int) string {
		return said(user(strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, n), ",")))
	}
	lifetimes := func(first, second string) string {
		const mark = `{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":%q}}`
		return said(user(fmt.Sprintf(mark+","+mark, first, second)))
	}
	tooling := aTool + ","
	failing := strings.Replace(aResult, `"content":"1"`, `"is_error":true,"content":%s`, 1)
	for _, r := range []row{
		{id: "A-8", broken: said(), passes: said(aPrompt), says: "messages: at least one message is required"},
		{id: "ANT-B8", broken: `"model":"claude-opus-4-8",` + said(aPrompt, assistant(`{"type":"text","text":"a"}`),
			`{"role":"system","content":"x"}`, aPrompt),
			says: "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result", at: "messages[2]"},
		{id: "A-24", broken: said(user(`{"type":"tool_use","id":"a","name":"f","input":{}}`)),
			says: "messages.0: `tool_use` blocks can only be in `assistant` messages", at: "messages[0].content[0]"},
		{id: "A-24", broken: said(aPrompt, assistant(`{"type":"tool_result","tool_use_id":"a"}`)),
			says: "messages.1: `tool_result` blocks can only be in `user` messages", at: "messages[1].content[0]"},
		{id: "A-12", broken: said(user(``)), passes: said(aPrompt, assistant(``)),
			says: "messages.0: all messages must have non-empty content except for the optional final assistant message", at: "messages[0].content"},
		{id: "A-11", broken: said(user(`{"type":"text","text":""}`)),
			passes: tooling + said(aPrompt,
				assistant(`{"type":"text","text":" "},{"type":"tool_use","id":"a","name":"f","input":{}}`), aResult),
			says: "messages: text content blocks must be non-empty"},
		{id: "A-11", broken: said(user(`{"type":"text","text":" \n"}`)),
			says: "messages: text content blocks must contain non-whitespace text", at: "messages[0].content"},
		{id: "ANT-X6", broken: said(user(`{"type":"text","text":"","cache_control":{"type":"ephemeral"}}`)),
			passes: marks(1), says: "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
			at: "messages[0].content[0]"},
		{id: "ANT-X6",
			broken: `"system":[{"type":"text","text":"","cache_control":{"type":"ephemeral"}}],` + said(aPrompt),
			passes: `"system":[{"type":"text","text":""}],` + said(aPrompt),
			says:   "system.0: cache_control cannot be set for empty text blocks", at: "system[0]"},
		{id: "A-43", broken: marks(5), passes: marks(4),
			says: "A maximum of 4 blocks with cache_control may be provided. Found 5.", at: "cache_control"},
		{id: "A-52", broken: lifetimes("5m", "1h"), passes: lifetimes("1h", "5m"),
			says: "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", at: "messages[0].content[1].cache_control.ttl"},
		{id: "A-52",
			broken: `"cache_control":{"type":"ephemeral","ttl":"1h"},"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],` + said(aPrompt), passes: `"cache_control":{"type":"ephemeral"},"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}],` + said(aPrompt), says: "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", at: "cache_control.ttl"},
		{id: "A-46", broken: picture(base64.StdEncoding.EncodeToString(large.Bytes())), passes: picture("AAAA"),
			says: "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"},
		{id: "A-46", broken: picture(""), says: "messages.0.content.0.image.source.base64: image cannot be empty"},
		{id: "A-46", broken: picture("***"),
			says: "messages.0.content.0.image.source.base64.data: Invalid base64 data"},
		{id: "A-46", broken: picture(strings.Repeat("A", maxImageBytes+4)),
			says: "messages.0.content.0.image.source.base64.data: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes"},
		{id: "A-47", broken: tooling + said(aPrompt, aCall, fmt.Sprintf(failing, `""`)),
			passes: tooling + said(aPrompt, aCall, fmt.Sprintf(failing, `"no"`)),
			says:   "messages.2.content.0.tool_result: content cannot be empty if is_error is true",
			at:     "messages[2].content[0]"},
		{id: "A-47", broken: tooling + said(aPrompt, aCall,
			fmt.Sprintf(failing, `[{"type":"image","source":{"type":"url","url":"u"}}]`)),
			says: "messages.2.content.0.tool_result: all content must be type text if is_error is true",
			at:   "messages[2].content[0]"},
		{id: "A-45", broken: said(user(`{"type":"text","text":"` + strings.Repeat("abcd", 200_000) + `"}`)),
			passes: said(user(`{"type":"text","text":"` + strings.Repeat("abcd", 190_000) + `"}`)),
			says:   "prompt is too long: 200009 tokens > 200000 maximum"},
		{id: "A-45", broken: said(user(`{"type":"text","text":"`+strings.Repeat("abcd", 199_000)+`"}`)) +
			`,"max_tokens":8000`,
			says: "input length and `max_tokens` exceed context limit: 199009 + 8000 > 200000, decrease input length or `max_tokens` and try again"},
	} {
		r.run(t)
	}
}

func TestPairing(t *testing.T) {
	const twice = `{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"a","content":"1"}`
	missing := "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	const unled = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. " +
		"When `thinking` is enabled, a final `assistant` message must start with a thinking block " +
		"(preceeding the lastmost set of `tool_use` and `tool_result` blocks). " + //nolint:misspell // the API spells it so
		"We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`." + thinkingDocs
	text := `{"type":"text","text":"x"}`
	for _, r := range []row{
		{id: "A-15", broken: said(aPrompt, aCall, aPrompt), passes: said(aPrompt, aCall, aResult), says: missing,
			at: "messages[1].content[0]"},
		{id: "A-16", broken: said(aPrompt, aCall, user(text+`,{"type":"tool_result","tool_use_id":"a"}`)),
			passes: said(aPrompt, aCall, user(`{"type":"tool_result","tool_use_id":"a"},`+text)), says: missing,
			at: "messages[2].content[1]"},
		{id: "A-17", broken: said(aPrompt, assistant(text), aResult),
			says: "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", at: "messages[2].content[0]"},
		{id: "A-18", broken: said(aPrompt, aCall, aResult, aCall, aResult),
			passes: said(aPrompt, aCall, aResult, strings.Replace(aCall, `"f"`, `"g"`, 1), aResult),
			says:   "messages.3.content.0: `tool_use` ids must be unique", at: "messages[3].content[0]"},
		{id: "A-19", broken: said(aPrompt, aCall, user(twice)),
			says: "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a", at: "messages[2].content[1]"},
		{id: "ANT-S1", broken: said(aPrompt,
			assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}},`+text), aPrompt),
			passes: said(aPrompt, assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)),
			says:   "messages.1.content.0: `web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block"},
		{id: "A-40", broken: said(aPrompt, assistant(aThought), aPrompt),
			says: "messages.1: The final block in an assistant message cannot be `thinking`.",
			at:   "messages[1].content[0]"},
		{id: "A-40", broken: said(aPrompt, assistant(aThought), assistant(text), aPrompt),
			at: "messages[1].content[0]"},
		{id: "A-14", broken: opus46 + "," + said(aPrompt,
			assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`))},
		{id: "A-38", broken: thinkOn + "," + said(aPrompt, aCall, aResult), passes: said(aPrompt, aCall, aResult),
			says: unled},
		{id: "A-38", broken: thinkOn + "," + said(aPrompt, aCall, aResult, assistant(text)), says: unled},
		{id: "A-54", broken: thinkOn + "," + said(aPrompt, assistant(text)),
			passes: said(aPrompt, assistant(text)),
			says: "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. " +
				"When `thinking` is enabled, a final `assistant` message must start with a thinking block. " +
				"We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`." +
				thinkingDocs,
			at: "messages[1].content[0]"},
		{id: "A-39", broken: said(aPrompt, assistant(aThought+","+text)),
			says: "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.", at: "messages[1].content[0]"},
		{id: "A-14", broken: opus46 + "," + said(aPrompt, assistant(text)), passes: said(aPrompt, assistant(text)),
			says: "This model does not support assistant message prefill. The conversation must end with a user message.", at: "messages[1]"},
		{id: "A-14", broken: opus46 + "," + said(aPrompt, assistant(text)),
			passes: opus46 + "," + said(aPrompt,
				assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)),
			says: "This model does not support assistant message prefill. The conversation must end with a user message."},
		{id: "A-13", broken: said(aPrompt, assistant(`{"type":"text","text":"x "}`)),
			passes: said(aPrompt, assistant(text)),
			says:   "messages: final assistant content cannot end with trailing whitespace", at: "messages[1].content"},
	} {
		r.run(t)
	}
}

func TestTransport(t *testing.T) {
	good := with(t, "")
	for _, c := range []struct {
		id, header, body string
		status           int
		says             string
	}{
		{"A-2", "X-Api-Key: ", good, 401, "x-api-key header is required"},
		{"A-2", "X-Api-Key: invalid-key", good, 401, "invalid x-api-key"},
		{"A-1", "Anthropic-Version: ", good, 400, "anthropic-version: header is required"},
		{"A-4", "Anthropic-Beta: x", good, 400,
			"Unexpected value(s) `x` for the `anthropic-beta` header. Please consult our documentation at platform.claude.com/docs or try again without the header."},
		{"A-56", "Anthropic-Beta: mcp-client-2025-11-20", with(t, `"mcp_servers":[{"type":"url","url":"https://example.com","name":"x"}]`), 400,
			"MCP server 'x' is defined but not referenced by any `mcp_toolset` in `tools`."},
		{"A-49", "", strings.Repeat(" ", maxBody+1), 413, "Request exceeds the maximum size"},
		{"ANT-X10", "", `{"a":"\ud83d"}`, 400,
			"The request body is not valid JSON: no low surrogate in string: line 1 column 7 (char 6)"},
		{"ANT-X10", "", "{\n\"a\":1", 400,
			"The request body is not valid JSON: unexpected end of data: line 2 column 6 (char 7)"},
		{"A-6", "", `[]`, 400, "Input should be a valid dictionary"},
		{"A-6", "", `{"model":1}`, 400, "model: Input should be a valid string"},
	} {
		got := check(c.body, c.header)
		if got == nil || got.Rule != c.id || got.Status != c.status || got.Message != c.says {
			t.Errorf("%s: got %+v, want %s", c.id, got, c.says)
		}
	}
	for _, header := range []string{"", "X-Api-Key: \nAuthorization: Bearer t", "Anthropic-Beta: " + betaInterleaved +
		",context-1m-2025-08-07", "Anthropic-Beta: advanced-tool-use-2025-11-20"} {
		name, more, _ := strings.Cut(header, "\n")
		if got := check(good, slices.DeleteFunc([]string{name, more}, func(h string) bool { return h == "" })...); got != nil {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// TestLevels holds that switched off rules and looser levels let pass.
func TestLevels(t *testing.T) {
	body := with(t, `"foo":1`)
	r := ask("/v1/messages", body)
	for name, e := range map[string]rule.Env{"off": {Off: map[string]bool{"A-5": true}},
		"lenient": {Level: rule.Lenient}} {
		if got := Parse(r, []byte(body)).Check(e); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Parse(r, []byte(`{"model":"x"}`)).Check(rule.Env{Level: rule.Lenient}); got == nil || got.Rule != "A-3" {
		t.Errorf("lenient: %v", got)
	}
}

// TestCount holds that counting asks the same, except for what it does not take.
func TestCount(t *testing.T) {
	body := `{"model":"claude-opus-4-5","messages":[{"role":"user","content":"four letter words"}]}`
	if got := Parse(ask("/v1/messages/count_tokens", body), []byte(body)).Check(env); got != nil {
		t.Error(got)
	}
	if got := string(Parse(ask("/v1/messages/count_tokens", body), []byte(body)).CountTokens()); got != `{"input_tokens":11}` {
		t.Error(got)
	}
	limited := with(t, "")
	if got := Parse(ask("/v1/messages/count_tokens", limited), []byte(limited)).Check(env); got == nil ||
		got.Message != "max_tokens: Extra inputs are not permitted" {
		t.Error(got)
	}
}

func TestReject(t *testing.T) {
	status, header, body := Provider{}.Reject(&rule.Refusal{Status: 404, Type: typeNotFound, Message: "model: x"})
	id := header.Get("Request-Id")
	want := `{"type":"error","error":{"type":"not_found_error","message":"model: x"},"request_id":"` + id + `"}`
	if status != 404 || string(body) != want || !strings.HasPrefix(id, "req_011C") ||
		header.Get("Anthropic-Organization-Id") == "" {
		t.Errorf("%d %v %s", status, header, body)
	}
	if _, other, _ := (Provider{}).Reject(&rule.Refusal{Status: 401, Type: typeAuth, Message: "invalid x-api-key"}); other.Get("Request-Id") == id || other.Get("Anthropic-Organization-Id") != "" {
		t.Errorf("another refusal, of nobody: %v", other)
	}
	for status, again := range map[int]string{400: "false", 401: "false", 404: "false", 413: "false", 408: "true",
		429: "true", 500: "true", 529: "true"} {
		if _, header, _ := (Provider{}).Reject(&rule.Refusal{Status: status}); header.Get("X-Should-Retry") != again {
			t.Errorf("%d says that trying again is of use: %s; want %s", status, header.Get("X-Should-Retry"), again)
		}
	}
}

// FuzzCheck holds that any bytes get an answer, the same at each asking.
func FuzzCheck(f *testing.F) {
	for _, members := range []string{"", aTool, thinkOn + "," + said(aPrompt, assistant(aThought), aResult),
		said(aResult, aResult), said(`{"role":"system"}`, `null`,
			`{"role":"assistant","content":[null,{"type":[]}]}`)} {
		f.Add(with(f, members))
	}
	f.Add(`{"model":"claude-opus-5-5","tools":[{"strict":true,"input_schema":{"$defs":{"a":{"$ref":"#/$defs/a"}}}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			for _, e := range []rule.Env{env, {Level: rule.Lenient},
				{Level: rule.Live, Off: map[string]bool{"A-5": true, "A-6": true, "A-7": true, "ANT-X10": true,
					"A-3": true}}} {
				first, again := Parse(ask(path, body), []byte(body)).Check(e),
					Parse(ask(path, body), []byte(body)).Check(e)
				if (first == nil) != (again == nil) || first != nil && first.Message != again.Message {
					t.Fatalf("%v, then %v", first, again)
				}
			}
		}
		Parse(ask("/v1/messages/count_tokens", body), []byte(body)).CountTokens()
	})
}
