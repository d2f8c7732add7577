package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

var testEnv = rule.Env{Key: seal.NewKey("test")}

// ask checks a body under a key.
func ask(env rule.Env, key, body string) *rule.Refusal {
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return Parse(r, []byte(body)).Check(env)
}

// body is a request to a model with members beside it.
func body(model string, members ...string) string {
	return `{"model":"` + model + `",` + strings.Join(members, ",") + `}`
}

// about is a request of gpt-5.2 with these input items.
func about(items ...string) string {
	return body("gpt-5.2", `"input":[`+strings.Join(items, ",")+`]`)
}

const prompt = `{"role":"user","content":"hi"}`

// want is a refusal to expect; its message may leave out the end.
type want struct {
	rule        string
	status      int
	code, param string
	message     string
}

func (w want) compare(t *testing.T, got *rule.Refusal) {
	t.Helper()
	if got == nil {
		t.Errorf("accepted; want %s %s", w.rule, w.message)
		return
	}
	kind := "invalid_request_error"
	if w.status == http.StatusTooManyRequests {
		kind = "insufficient_quota"
	}
	if w.status == 0 {
		w.status = http.StatusBadRequest
	}
	if got.Rule != w.rule || got.Status != w.status || got.Type != kind || got.Code != w.code || got.Param != w.param ||
		!strings.HasPrefix(got.Message, w.message) {
		t.Errorf("got  %s %d %s code %q param %q\n     %s\nwant %s %d %s code %q param %q\n     %s", got.Rule,
			got.Status, got.Type, got.Code, got.Param,
			got.Message, w.rule, w.status, kind, w.code, w.param, w.message)
	}
}

// trial is the smallest request that breaks a rule and the nearest that does
// not.
type trial struct {
	breaks, passes string
	want           want
}

func try(t *testing.T, trials []trial) {
	t.Helper()
	for _, c := range trials {
		t.Run(c.want.rule, func(t *testing.T) {
			c.want.compare(t, ask(testEnv, "test-key", c.breaks))
			if got := ask(testEnv, "test-key", c.passes); got != nil {
				t.Errorf("%s\nrefused: %v", c.passes, got)
			}
		})
	}
}

func TestAccess(t *testing.T) {
	ok := about(prompt)
	for _, c := range []struct {
		key, body string
		want      want
	}{
		{"", ok, want{"O-1", 401, "invalid_api_key", "", "You didn't provide an API key."}},
		{"invalid_key", ok, want{"O-1", 401, "invalid_api_key", "",
			"Incorrect API key provided: invalid_key. You can find your API key at https://platform.openai.com/account/api-keys."}},
		{"test-invalid-key", ok, want{"O-1", 401, "invalid_api_key", "",
			"Incorrect API key provided: test-inv****-key."}},
		{"test-key@exhausted", ok, want{"O-31", 429, "insufficient_quota", "",
			"You exceeded your current quota, please check your plan and billing details."}},
		{"test-key", "{", want{"O-5", 400, "", "", "We could not parse the JSON body of your request."}},
		{"test-key", `[{"model":"gpt-5.2"}]`,
			want{"O-5", 400, "", "", "We could not parse the JSON body of your request."}},
		{"test-key", body("gpt-5.2", `"input":"x","prompt_cache_options":`+strings.Repeat(`{"mode":`, 300)+"1"+
			strings.Repeat("}", 300)), want{"O-5", 400, "", "", "We could not parse"}},
		{"test-key", ok + "{}", want{"O-5", 400, "", "", "We could not parse the JSON body of your request."}},
		{"test-key", strings.Replace(ok, "hi", "\xff", 1),
			want{"O-5", 400, "", "", "We could not parse the JSON body of your request."}},
	} {
		c.want.compare(t, ask(testEnv, c.key, c.body))
	}
	for _, accepted := range []string{ok, " " + ok + "\n",
		strings.Replace(ok, "{", `{"model":"gpt-9",`, 1)} { // the last of two counts
		if got := ask(testEnv, "test-key", accepted); got != nil {
			t.Errorf("%s: %v", accepted, got)
		}
	}
}

func TestShape(t *testing.T) {
	call := func(members string) string {
		return about(`{"type":"function_call",`+members+`}`,
			`{"type":"function_call_output","call_id":"c","output":"1"}`)
	}
	tool := func(members string) string {
		return body("gpt-5.2", `"input":"x"`, `"tools":[{"type":"function",`+members+`}]`)
	}
	good := call(`"call_id":"c","name":"f","arguments":"{"`) // OAI-A2: not JSON, and accepted
	try(t, []trial{
		{`{"input":"x"}`, `{"model":"gpt-5.2","input":"x"}`,
			want{"O-3", 0, "missing_required_parameter", "model", "Missing required parameter: 'model'."}},
		{`{"prompt":{"id":"p"},"input":"x"}`, `{"model":"gpt-5.2","prompt":{"id":"p"}}`,
			want{"O-3", 404, "", "prompt", "Prompt with id 'p' not found."}},
		{`{"model":"gpt-5.2"}`, `{"model":"gpt-5.2","prompt":{"id":"p"}}`,
			want{"O-3", 0, "missing_required_parameter", "input", "Missing required parameter: 'input'."}},
		{tool(`"parameters":null`), tool(`"name":"f"`), want{"O-3", 0, "missing_required_parameter", "tools[0].name",
			"Missing required parameter: 'tools[0].name'."}},
		{about(prompt, `{"type":"reasoning"}`, `{"role":"assistant","content":"a"}`),
			about(prompt, `{"type":"reasoning","summary":[]}`, `{"role":"assistant","content":"a"}`),
			want{"O-3", 0, "missing_required_parameter", "input[1].summary",
				"Missing required parameter: 'input[1].summary'."}},
		{body("gpt-5.2", `"input":"x","tools":[{"name":"f"}]`), tool(`"name":"f"`),
			want{"O-3", 0, "missing_required_parameter", "tools[0].type",
				"Missing required parameter: 'tools[0].type'."}},
		{about(`{"role":"user","content":[{"type":"input_image","detail":"low"}]}`),
			about(`{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}`),
			want{"O-3", 0, "missing_mutually_exclusive_parameters", "input[0].content[0]",
				"Missing mutually exclusive parameters: 'input[0].content[0]'. Ensure you are providing exactly one of: 'file_id' or 'image_url'."}},
		{about(`{"role":"user","content":"hi","foo":1}`), about(prompt),
			want{"O-4", 0, "unknown_parameter", "input[0].foo", "Unknown parameter: 'input[0].foo'."}},
		{body("gpt-5.2", `"input":"x","seed":1`), body("gpt-5.2", `"input":"x","user":"u"`),
			want{"O-4", 0, "unknown_parameter", "seed", "Unknown parameter: 'seed'."}},
		{about(prompt,
			`{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[{"type":"file_path","x":1}]}]}`),
			about(prompt,
				`{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[{"type":"file_path","index":1}]}]}`),
			want{"O-4", 0, "unknown_parameter", "input[1].content[0].annotations[0].x",
				"Unknown parameter: 'input[1].content[0].annotations[0].x'."}},
		{about(prompt, `{"type":"web_search_call","id":"ws_1","action":{"type":"find_in_page","pattern":"a","query":null}}`),
			about(prompt, `{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"a","queries":["a"]}}`),
			want{"O-4", 0, "unknown_parameter", "input[1].action.query", "Unknown parameter: 'input[1].action.query'."}},
		{body("gpt-5.2", `"input":"x","reasoning":{"efort":"low"}`),
			body("gpt-5.2", `"input":"x","reasoning":{"effort":"low"}`),
			want{"O-4", 0, "unknown_parameter", "reasoning.efort", "Unknown parameter: 'reasoning.efort'."}},
		{about(`{"role":"tool","content":"1"}`), about(`{"role":"developer","content":"1"}`),
			want{"O-5", 0, "invalid_value", "input[0].role",
				"Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'."}},
		{call(`"call_id":"c","name":"f","arguments":{}`), good, want{"O-5", 0, "invalid_type", "input[0].arguments",
			"Invalid type for 'input[0].arguments': expected a string, but got an object instead."}},
		{body("gpt-5.2", `"input":1`), body("gpt-5.2", `"input":"1"`), want{"O-5", 0, "invalid_type", "input",
			"Invalid type for 'input': expected one of a string or array of objects, but got an integer instead."}},
		{body("gpt-5.2", `"input":null`), body("gpt-5.2", `"input":[]`),
			want{"O-3", 0, "missing_required_parameter", "input", "Missing required parameter: 'input'."}},
		{about(prompt, `{"type":"message","role":"assistant"}`, prompt),
			about(prompt, `{"type":"message","role":"assistant","content":[]}`, prompt),
			want{"O-3", 0, "missing_required_parameter", "input[1].content",
				"Missing required parameter: 'input[1].content'."}},
		{body("gpt-5.2", `"input":"x","stream":"yes"`), body("gpt-5.2", `"input":"x","stream":true`),
			want{"O-5", 0, "invalid_type", "stream",
				"Invalid type for 'stream': expected a boolean, but got a string instead."}},
		{body("gpt-5.2", `"input":"x","max_output_tokens":16.5`),
			body("gpt-5.2", `"input":"x","max_output_tokens":null`),
			want{"O-5", 0, "invalid_type", "max_output_tokens",
				"Invalid type for 'max_output_tokens': expected an integer, but got a decimal instead."}},
		{about(prompt, `{"type":"tool_result"}`), about(prompt), want{"O-5", 0, "invalid_value", "input[1]",
			"Invalid value: 'tool_result'. Supported values are: 'message', 'reasoning', "}},
		{body("gpt-5.2", `"input":"x","max_output_tokens":10`), body("gpt-5.2", `"input":"x","max_output_tokens":16`),
			want{"O-6", 0, "integer_below_min_value", "max_output_tokens",
				"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead."}},
		{body("gpt-5.2", `"input":"x","context_management":[{"type":"compaction","compact_threshold":999}]`),
			body("gpt-5.2", `"input":"x","context_management":[{"type":"compaction","compact_threshold":1000}]`),
			want{"O-6", 0, "integer_below_min_value", "context_management[0].compact_threshold",
				"Invalid 'context_management[0].compact_threshold': integer below minimum value. Expected a value >= 1000, but got 999 instead."}},
		{body("gpt-4o", `"input":"x","temperature":-1`), body("gpt-4o", `"input":"x","temperature":0`),
			want{"O-6", 0, "decimal_below_min_value", "temperature",
				"Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead."}},
		{body("gpt-4o", `"input":"x","temperature":2.1`), body("gpt-4o", `"input":"x","temperature":2`),
			want{"O-6", 0, "decimal_above_max_value", "temperature",
				"Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.1 instead."}},
		{call(`"call_id":"` + strings.Repeat("c", 73) + `","name":"f","arguments":""`), good,
			want{"O-7", 0, "string_above_max_length", "input[0].call_id",
				"Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 73 instead."}},
		{call(`"call_id":"","name":"f","arguments":""`), good, want{"O-7", 0, "empty_string", "input[0].call_id",
			"Invalid 'input[0].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead."}},
		{call(`"call_id":"c","name":"f","arguments":"","id":"fc_` + strings.Repeat("é", 62) + `"`),
			call(`"call_id":"c","name":"f","arguments":"","id":"fc_` + strings.Repeat("e", 61) + `"`),
			want{"O-7", 0, "string_above_max_length", "input[0].id",
				"Invalid 'input[0].id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."}},
		{body("gpt-5.2", `"input":"x","metadata":{`+seventeen()+`}`),
			body("gpt-5.2", `"input":"x","metadata":{"a":"b"}`),
			want{"O-7", 0, "object_above_max_properties", "metadata",
				"Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object with 17 properties instead."}},
		{call(`"call_id":"c","name":"f","arguments":"","id":"toolu_X"`),
			call(`"call_id":"c","name":"f","arguments":"","id":"fc_X"`),
			want{"O-8", 0, "invalid_value", "input[0].id",
				"Invalid 'input[0].id': 'toolu_X'. Expected an ID that begins with 'fc'."}},
		{about(prompt, `{"type":"message","role":"assistant","content":"a","id":"msg:1"}`),
			about(prompt, `{"type":"message","role":"assistant","content":"a","id":"msg_1"}`),
			want{"O-8", 0, "invalid_value", "input[1].id",
				"Invalid 'input[1].id': 'msg:1'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters."}},
		{about(prompt, `{"role":"assistant","content":[{"type":"input_text","text":"a"}]}`),
			about(prompt, `{"role":"assistant","content":[{"type":"output_text","text":"a"}]}`),
			want{"O-16", 0, "invalid_value", "input[1].content[0]",
				"Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."}},
		{about(`{"role":"user","content":[{"type":"output_text","text":"a"}]}`),
			about(`{"role":"user","content":[{"type":"input_text","text":"a"}]}`),
			want{"O-16", 0, "invalid_value", "input[0].content[0]",
				"Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and 'input_file'."}},
		{tool(`"name":"a.b"`), tool(`"name":"a_b","function":{"name":"other"}`),
			want{"O-18", 0, "invalid_value", "tools[0].name",
				"Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."}},
	})
}

func seventeen() string {
	var pairs []string
	for i := range 17 {
		pairs = append(pairs, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return strings.Join(pairs, ",")
}

func TestModelRules(t *testing.T) {
	x := `"input":"x"`
	encrypted := `"include":["reasoning.encrypted_content"]`
	effort := func(e string) string { return `"reasoning":{"effort":"` + e + `"}` }
	try(t, []trial{
		{body("gpt-5.2-proo", x), body("gpt-5.2-pro", x),
			want{"O-2", 0, "model_not_found", "model", "The requested model 'gpt-5.2-proo' does not exist."}},
		{body("gpt-4.1", x, encrypted), body("o3", x, encrypted),
			want{"O-21", 0, "", "include", "Encrypted content is not supported with this model."}},
		{body("gpt-4o", x, effort("low")), body("gpt-5.2", x, effort("low")), want{"O-22", 0, "unsupported_parameter",
			"reasoning.effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model."}},
		{body("gpt-5.5", x, `"reasoning":{"mode":"pro"}`), body("gpt-5.6", x, `"reasoning":{"mode":"pro"}`),
			want{"O-22", 0, "unsupported_parameter", "reasoning.mode", "Unsupported parameter: 'reasoning.mode'"}},
		{body("gpt-5.3-codex", x, effort("minimal")), body("gpt-5.3-codex", x, effort("xhigh")),
			want{"O-23", 0, "unsupported_value", "reasoning.effort",
				"Unsupported value: 'minimal' is not supported with the 'gpt-5.3-codex' model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'."}},
		{body("gpt-5.2", x, effort("max")), body("gpt-5.6", x, effort("max")),
			want{"O-23", 0, "unsupported_value", "reasoning.effort", "Unsupported value: 'max'"}},
		{body("gpt-5.2-pro", x, effort("none")), body("gpt-5.2-pro", x, effort("medium")),
			want{"O-23", 0, "unsupported_value", "reasoning.effort", "Unsupported value: 'none'"}},
		{body("gpt-5", x, effort("minimal"), `"tools":[{"type":"web_search"}]`),
			body("gpt-5", x, effort("low"), `"tools":[{"type":"web_search"}]`),
			want{"O-36", 0, "", "tools",
				"The following tools cannot be used with reasoning.effort 'minimal': web_search."}},
		{body("gpt-5.2", x, effort("low"), `"temperature":0.5`), body("gpt-5.2", x, `"temperature":0.5`),
			want{"O-24", 0, "unsupported_parameter", "temperature",
				"Unsupported parameter: 'temperature' is not supported with this model."}},
		{body("gpt-5-mini", x, `"include":["message.output_text.logprobs"]`),
			body("gpt-5.2", x, `"include":["message.output_text.logprobs"],"top_logprobs":3`),
			want{"O-34", 0, "unsupported_parameter", "include", "logprobs are not supported with reasoning models."}},
		{body("gpt-5.5", x, `"top_p":0.5`), body("gpt-5.5", x, effort("none"), `"top_p":0.5`),
			want{"O-24", 0, "unsupported_parameter", "top_p", "Unsupported parameter: 'top_p'"}},
		{body("gpt-4", `"input":"`+strings.Repeat("word ", 7000)+`"`),
			body("gpt-4", `"input":"`+strings.Repeat("word ", 6000)+`"`),
			want{"O-27", 0, "context_length_exceeded", "input",
				"Your input exceeds the context window of this model. Please adjust your input and try again."}},
	})
	bare := `"text":{"format":{"type":"json_object"}}`
	try(t, []trial{
		{body("gpt-5.2", x, bare, `"instructions":"Answer in JSON."`),
			body("gpt-5.2", `"input":"Answer in JSON."`, bare), want{"O-33", 0, "", "input",
				"Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."}},
		{body("gpt-5.2", `"input":[{"role":"user","content":"hi"}]`, bare),
			body("gpt-5.2",
				`"input":[{"role":"developer","content":[{"type":"input_text","text":"as json"}]},{"role":"user","content":"hi"}]`, bare), want{"O-33", 0, "", "input", ""}},
		{body("gpt-5.2", x, bare), body("gpt-5.2", x, strings.Replace(bare, `json_object"`,
			`json_schema","name":"a","schema":{"type":"object"}`, 1)), want{"O-33", 0, "", "input", ""}},
	})
	if got := ask(testEnv, "test-key",
		body("gpt-4", `"truncation":"auto","input":"`+strings.Repeat("word ", 7000)+`"`)); got != nil {
		t.Errorf("truncated: %v", got)
	}
	summary := body("gpt-5.2", x, `"reasoning":{"summary":"auto"}`)
	want{"O-28", 0, "unsupported_value", "reasoning.summary",
		"Your organization must be verified to generate reasoning summaries."}.compare(t,
		ask(testEnv, "test-key@unverified", summary))
	if got := ask(testEnv, "test-key", summary); got != nil {
		t.Error(got)
	}
}

func TestToolRules(t *testing.T) {
	x := `"input":"x"`
	tool := func(parameters string) string {
		return body("gpt-5.2", x, `"tools":[{"type":"function","name":"f","strict":true,"parameters":`+parameters+`}]`)
	}
	choose := func(choice string) string {
		return body("gpt-5.2", x, `"tools":[{"type":"function","name":"f"}]`, `"tool_choice":`+choice)
	}
	closed := `{"type":"object","properties":{"x":{"type":"object","properties":{},"additionalProperties":false}},"required":["x"],"additionalProperties":false}`
	format := func(schema string) string {
		return body("gpt-5.2", x, `"text":{"format":{"type":"json_schema","name":"r","strict":true,"schema":`+
			schema+`}}`)
	}
	inside := func(x, beside string) string {
		return `{"type":"object","properties":{` + x + `},"required":["x"],"additionalProperties":false` + beside + `}`
	}
	loose := func(properties string) string {
		return strings.Replace(tool(`{"type":"object","properties":{`+properties+`}}`), `"strict":true`,
			`"strict":false`, 1)
	}
	code := "invalid_function_parameters"
	try(t, []trial{
		{tool(`{}`), tool(`null`), want{"O-20", 0, code, "tools[0].parameters",
			`Invalid schema for function 'f': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`}},
		{tool(`{"type":"string"}`), tool(closed),
			want{"O-20", 0, code, "tools[0].parameters",
				`Invalid schema for function 'f': schema must be a JSON Schema of 'type: "object"', got 'type: "string"'.`}},
		{loose(`"x":{"type":"text"}`), loose(`"x":{"type":"string"}`), want{"O-20", 0, code, "tools[0].parameters",
			`Invalid schema for function 'f': 'text' is not valid under any of the given schemas.`}},
		{loose(`"x":{"type":["string","text"]}`), loose(`"x":{"type":["string","null"]}`),
			want{"O-20", 0, code, "tools[0].parameters",
				`Invalid schema for function 'f': ['string','text'] is not valid under any of the given schemas.`}},
		{loose(`"x":{"type":"array"}`), loose(`"x":{"type":"array","items":{}}`),
			want{"O-20", 0, code, "tools[0].parameters",
				`Invalid schema for function 'f': In context=('properties', 'x'), array schema missing items.`}},
		{loose(`"x":{"type":["string","array"]}`), loose(`"x":{"type":["string","array"],"items":{"type":"string"}}`),
			want{"O-20", 0, code, "tools[0].parameters",
				`Invalid schema for function 'f': In context=('properties', 'x', 'type', '1'), array schema missing items.`}},
		{loose(`"x":{"$ref":"#/$defs/y"}`), loose(`"x":{"$ref":"#"},"type":{"type":"string"}`),
			want{"O-20", 0, code, "tools[0].parameters",
				`Invalid schema for function 'f': In context=('properties', 'x'), reference to component '#/$defs/y' which was not found in the schema.`}},
		{tool(`{"type":"object","anyOf":[{"required":["x"]}]}`), tool(inside(`"x":{"anyOf":[{"type":"string"}]}`, "")),
			want{"O-20", 0, code, "tools[0].parameters",
				"Invalid schema for function 'f': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."}},
		{tool(inside(`"x":{"oneOf":[{"type":"string"}]}`, "")), tool(inside(`"x":{"anyOf":[{"type":"string"}]}`, "")),
			want{"O-19", 0, code, "tools[0].parameters",
				"Invalid schema for function 'f': In context=('properties', 'x'), 'oneOf' is not permitted."}},
		{body("gpt-5.2", x, `"tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}]`),
			body("gpt-5.2", x,
				`"tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f"}]}]`),
			want{"O-18", 0, "invalid_value", "tools",
				"Duplicate tool name 'f' in 'tools'. Tool names must be unique."}},
		{tool(`{"type":"object","properties":{}}`), tool(closed), want{"O-19", 0, code, "tools[0].parameters",
			"Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false."}},
		{tool(strings.Replace(closed, `["x"]`, `[]`, 1)), tool(closed), want{"O-19", 0, code, "tools[0].parameters",
			"Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'x'."}},
		{tool(strings.Replace(closed, `{},"additionalProperties":false`, `{}`, 1)), tool(closed),
			want{"O-19", 0, code, "tools[0].parameters",
				"Invalid schema for function 'f': In context=('properties', 'x'), 'additionalProperties' is required to be supplied and to be false."}},
		{tool(inside(`"x":{"type":"array","items":{"type":"object"}}`, "")),
			tool(inside(`"x":{"type":"array","items":`+closed+`}`, "")), want{"O-19", 0, code, "tools[0].parameters",
				"Invalid schema for function 'f': In context=('properties', 'x', 'items'), 'additionalProperties' is required to be supplied and to be false."}},
		{tool(inside(`"x":{"$ref":"#/$defs/d"}`, `,"$defs":{"d":{"type":"object"}}`)),
			tool(inside(`"x":{"$ref":"#/$defs/d"}`, `,"$defs":{"d":`+closed+`}`)),
			want{"O-19", 0, code, "tools[0].parameters",
				"Invalid schema for function 'f': In context=('$defs', 'd'), 'additionalProperties' is required to be supplied and to be false."}},
		{tool(inside(`"x":{"anyOf":[{"type":"null"},{"type":"object"}]}`, "")),
			tool(inside(`"x":{"anyOf":[{"type":"null"},`+closed+`]}`, "")), want{"O-19", 0, code, "tools[0].parameters",
				"Invalid schema for function 'f': In context=('properties', 'x', 'anyOf', '1'), 'additionalProperties'"}},
		{format(`{"type":"object","properties":{}}`), format(closed),
			want{"O-19", 0, "invalid_json_schema", "text.format.schema",
				"Invalid schema for response_format 'r': In context=(), 'additionalProperties' is required to be supplied and to be false."}},
		{called("", true), called(`,"namespace":"f"`, true),
			want{"O-32", 0, "", "input",
				"Missing namespace for function_call 'f'. It does not exist in the default namespace."}},
		{called("", true), called("", false), want{"O-32", 0, "", "input", "Missing namespace for function_call 'f'."}},
		{choose(`{"type":"function","name":"g"}`), choose(`{"type":"function","name":"f"}`),
			want{"O-29", 0, "", "tool_choice", "Tool choice 'g' not found in 'tools' parameter."}},
		{choose(`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]}`),
			choose(`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`),
			want{"O-29", 0, "", "tool_choice", "Tool choice 'g' not found in 'tools' parameter."}},
	})
}

func TestFileRules(t *testing.T) {
	file := func(member string) string {
		return about(prompt, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"c","output":[{"type":"input_file",`+member+`}]}`)
	}
	try(t, []trial{
		{file(`"filename":"a","file_data":"data:audio/mpeg;base64,AA=="`),
			file(`"filename":"a","file_data":"data:application/pdf;base64,AA=="`),
			want{"O-30", 0, "invalid_value", "input[2].output[0].file_data",
				"Invalid file data: 'input[2].output[0].file_data'. Expected a base64-encoded data URL with a valid file MIME type " +
					"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got unsupported MIME type 'audio/mpeg'. Please see"}},
		{file(`"filename":"a","file_data":"AA=="`), file(`"file_id":"file-1"`),
			want{"O-30", 0, "invalid_value", "input[2].output[0].file_data", "Invalid file data: "}},
		{file(`"file_url":"https://example.org/a.mp3?x=1"`), file(`"file_url":"https://example.org/a.pdf"`),
			want{"O-30", 0, "unsupported_file", "input",
				"The file type you uploaded is not supported. Please try again with a pdf"}},
	})
}

// TestOrder holds which of several broken rules answers.
func TestOrder(t *testing.T) {
	for text, want := range map[string]string{
		`{"input":[{"role":"tool"}],"foo":1}`:                       "O-3", // before the schema
		`{"model":"gpt-9","input":[{"role":"tool","content":"a"}]}`: "O-5", // schema before model
		body("gpt-9", `"input":"x"`,
			`"reasoning":{"effort":"none"}`): "O-2",
		body("gpt-4o", `"input":"x"`, `"reasoning":{"effort":"low"}`,
			`"previous_response_id":"resp_x"`): "O-22",
		about(prompt, `{"type":"function_call_output","call_id":"c","output":"1"}`,
			`{"type":"reasoning","summary":[],"encrypted_content":"x"}`): "O-11",
	} {
		if got := ask(testEnv, "test-key", text); got == nil || got.Rule != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// TestLevels holds what is let through, and that a rule can be switched off.
func TestLevels(t *testing.T) {
	lone := about(prompt, `{"type":"reasoning","summary":[],"id":"rs_1","encrypted_content":"x"}`)
	for _, c := range []struct {
		env  rule.Env
		body string
		want string
	}{
		{rule.Env{Level: rule.Live, ForeignTokens: true}, lone, ""},
		{rule.Env{Level: rule.Strict, ForeignTokens: true}, lone, "O-12"},
		{rule.Env{Level: rule.Strict, SkipsLow: true, ForeignTokens: true}, lone, ""},
		{rule.Env{Level: rule.Strict, SkipsLow: true}, lone, "O-15"},
		{rule.Env{Level: rule.Strict, ForeignTokens: true, Off: map[string]bool{"O-12": true}}, lone, ""},
		{rule.Env{Level: rule.Strict}, lone, "O-12"},
		{rule.Env{Level: rule.Live}, lone, "O-15"},
		{rule.Env{Level: rule.Lenient}, lone, ""},
		{rule.Env{Level: rule.Lenient}, `{"input":"x"}`, "O-3"},
		{rule.Env{Level: rule.Lenient}, `{"model":"m","input":[{"role":"x","y":1}]}`, ""},
		{rule.Env{Off: map[string]bool{"O-4": true}}, body("gpt-5.2", `"input":"x","a":1,"b":1,"stream":1`), "O-5"},
	} {
		got := ""
		if r := ask(c.env, "test-key", c.body); r != nil {
			got = r.Rule
		}
		if got != c.want {
			t.Errorf("level %d, off %v: %q, want %q", c.env.Level, c.env.Off, got, c.want)
		}
	}
}

// TestRules holds that every rule that the reference numbers is there.
func TestRules(t *testing.T) {
	var ids []string
	for _, i := range Rules() {
		if i.Demand == "" || i.Source == "" || i.Confidence == "" {
			t.Errorf("%+v says too little", i)
		}
		ids = append(ids, i.ID)
	}
	for n := 1; n <= 31; n++ {
		id := fmt.Sprintf("O-%d", n)
		if !slices.Contains(ids, id) {
			t.Errorf("%s is no rule", id)
		}
	}
}

func TestReject(t *testing.T) {
	status, header, text := Provider{}.Reject(ask(testEnv, "", about(prompt)))
	var got struct{ Error map[string]any }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if status != 401 || header.Get("Www-Authenticate") != `Bearer realm="OpenAI API"` ||
		header.Get("X-Request-Id") == "" ||
		got.Error["type"] != "invalid_request_error" || got.Error["code"] != "invalid_api_key" ||
		got.Error["param"] != nil {
		t.Errorf("%d %v %s", status, header, text)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(about(prompt))
	f.Add(body("gpt-5.2",
		`"input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object"}}]}]`))
	f.Add(about(`{"type":"reasoning","summary":[],"encrypted_content":"gAAAAA"}`, `{"id":"rs_1"}`))
	f.Add(`{"model":"gpt-6-sol","input":"\ud83e\udda9","metadata":{"a":"b","a":"c"},"temperature":1e999}`)
	f.Add(strings.Repeat(`{"input":[`, 300))
	f.Add(`{"prompt":{"id":"p"}}`)
	f.Add(`{"model":"gpt-5.2","conversation":"conv_1","input":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := ask(testEnv, "test-key", text)
		if again := ask(testEnv, "test-key", text); (got == nil) != (again == nil) ||
			got != nil && got.Error() != again.Error() {
			t.Fatalf("%v, then %v", got, again)
		}
		if got != nil && (got.Status < 400 || got.Message == "" || got.Rule == "") {
			t.Fatalf("%+v", got)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
		r.Header.Set("Authorization", "Bearer test-key")
		if _, refusal := Parse(r, []byte(text)).Turn(); refusal != nil && got == nil {
			t.Fatalf("accepted, then not understood: %v", refusal)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	text := body("gpt-5.2", `"store":false,"include":["reasoning.encrypted_content"],"input":[`+
		prompt+strings.Repeat(`,{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"c","output":"1"}`, 1)+`]`,
		`"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}]`)
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
	r.Header.Set("Authorization", "Bearer test-key")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if got := Parse(r, []byte(text)).Check(testEnv); got != nil {
			b.Fatal(got)
		}
	}
}

// TestForeignPrompt: where tokens of others are taken, so are their prompts,
// and they are answered.
func TestForeignPrompt(t *testing.T) {
	body := []byte(`{"prompt":{"id":"pmpt_1"},"input":"x"}`)
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer test")
	r.Header.Set("Content-Type", "application/json")
	q := Parse(r, body)
	if refusal := q.Check(rule.Env{ForeignTokens: true}); refusal != nil {
		t.Error(refusal)
	}
	if turn, refusal := q.Turn(); refusal != nil || turn.Model != promptModel {
		t.Errorf("%q, %v", turn.Model, refusal)
	}
}

// What codex, OpenAI's own client, sends to OpenAI is never an unknown parameter.
func TestVendorMembers(t *testing.T) {
	for _, q := range []string{
		about(`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t"}}`),
		about(`{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}","internal_chat_message_metadata_passthrough":{}},{"type":"function_call_output","call_id":"c","output":"1","internal_chat_message_metadata_passthrough":{}}`),
		body("gpt-5.2",
			`"input":"x","tools":[{"type":"namespace","name":"mcp__srv","description":"","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}]}]`),
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
		r.Header.Set("Authorization", "Bearer test-key")
		if got := Parse(r, []byte(q)).Check(rule.Env{}); got != nil {
			t.Errorf("%s: %v", q, got)
		}
	}
}

// called is a conversation with a call that has further members, of a tool that is deferred
// or not.
func called(members string, deferred bool) string {
	tool := `{"type":"function","name":"f"` + map[bool]string{true: `,"defer_loading":true`}[deferred] + `}`
	return body("gpt-5.5", `"input":[`+prompt+`,{"type":"function_call","call_id":"c","name":"f","arguments":"{}"`+
		members+`},{"type":"function_call_output","call_id":"c","output":"1"}]`,
		`"tools":[{"type":"tool_search"},`+tool+`]`)
}
