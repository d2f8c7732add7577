package lint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/conform/report"
	_ "github.com/meerkat-go/conformance/wires/all"
)

const (
	brokenSchema = `{"type":"object","properties":{"filter[id]":{"type":"string"}}}`
	soundSchema  = `{"type":"object","properties":{"filter.id":{"type":"string"}}}`
)

// TestForms: a tool is found in every form that people have it in, and a finding's path
// leads to it there.
func TestForms(t *testing.T) {
	for _, c := range []struct{ name, list, path string }{
		{"MCP", `{"tools":[{"name":"a","inputSchema":SCHEMA}]}`, "tools[0].inputSchema.properties"},
		{"JSON-RPC", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":SCHEMA}]}}`,
			"result.tools[0].inputSchema.properties"},
		{"a list", `[{"name":"z","inputSchema":{"type":"object"}},{"name":"a","inputSchema":SCHEMA}]`,
			"[1].inputSchema.properties"},
		{"one tool", `{"name":"a","inputSchema":SCHEMA}`, ".inputSchema.properties"},
		{"Anthropic",
			`{"model":"m","messages":[],"tools":[{"type":"web_search_20250305","name":"w"},{"name":"a","input_schema":SCHEMA}]}`, "tools[1].input_schema.properties"},
		{"OpenAI", `[{"type":"function","name":"a","parameters":SCHEMA}]`, "[0].parameters.properties"},
		{"a namespace",
			`[{"type":"namespace","name":"n","tools":[{"type":"function","name":"a","parameters":SCHEMA}]}]`,
			"[0].tools[0].parameters.properties"},
		{"Chat Completions", `[{"type":"function","function":{"name":"a","parameters":SCHEMA}}]`,
			"[0].function.parameters.properties"},
		{"among OpenAI's input",
			`{"input":[{"role":"user","content":"hi"},{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"a","parameters":SCHEMA}]}]}]}`, "input[1].tools[0].tools[0].parameters.properties"},
		{"Gemini",
			`{"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"a","parametersJsonSchema":SCHEMA}]}]}`,
			"tools[1].functionDeclarations[0].parametersJsonSchema.properties"},
		{"Gemini's parameters", `{"functionDeclarations":[{"name":"z"},{"name":"a","parameters":SCHEMA}]}`,
			".functionDeclarations[1].parameters.properties"},
	} {
		found, err := lint.Tools([]byte(strings.Replace(c.list, "SCHEMA", brokenSchema, 1)), "anthropic")
		if err != nil || found.Verdict() != report.Fail || !hasFinding(found, "TSC-002/argument-names", "a", c.path) {
			t.Errorf("%s: %+v, %v", c.name, found, err)
		}
		sound, err := lint.Tools([]byte(strings.Replace(c.list, "SCHEMA", soundSchema, 1)), "anthropic")
		if err != nil || hasFinding(sound, "TSC-002/argument-names", "a", c.path) {
			t.Errorf("%s, mended: %+v, %v", c.name, sound, err)
		}
	}
}

// TestManyTools: OpenAI takes 128 tools.
func TestManyTools(t *testing.T) {
	list := make([]map[string]any, 129)
	for i := range list {
		list[i] = map[string]any{"name": "t" + strconv.Itoa(i), "inputSchema": map[string]any{"type": "object"}}
	}
	for n, want := range map[int]bool{128: false, 129: true} {
		data, err := json.Marshal(list[:n])
		if err != nil {
			t.Fatal(err)
		}
		found, err := lint.Tools(data)
		if err != nil || hasFinding(found, "PAR-007/range", "", "tools") != want {
			t.Errorf("%d tools: %+v, %v", n, found.Findings, err)
		}
	}
}

func hasFinding(r lint.Result, check, tool, path string) bool {
	for _, f := range r.Findings {
		if f.Check == check && f.Tool == tool && f.Path == path {
			return true
		}
	}
	return false
}

// TestEachProvider: one list, and what each of the providers says of it.
func TestEachProvider(t *testing.T) {
	found, err := lint.Tools([]byte(`[
		{"name":"root","inputSchema":{"type":"object","anyOf":[{"required":["a"]}]}},
		{"name":"array","inputSchema":{"type":"object","properties":{"a":{"type":"array"}}}},
		{"name":"draft","inputSchema":{"type":"object","properties":{"a":{"exclusiveMinimum":true}}}},
		{"name":"ref","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},
		{"name":"unclosed","inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","additionalProperties":false}},
		{"name":"none"}]`))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, f := range found.Findings {
		got = append(got, fmt.Sprintf("%s %s %s", f.Provider, f.Tool, f.Check))
		if strings.Contains(f.Message, "tools[0].functionDeclarations") || f.Fix == "" {
			t.Errorf("speaks of a request that nobody has seen, or does not say how to mend it: %+v", f)
		}
	}
	want := []string{
		"anthropic root TSC-001/root", "anthropic draft TSC-003/keywords", "anthropic none PAR-006/required",
		"openai root TSC-001/root", "openai array PAR-008/schema", "openai ref TSC-004/references",
		"gemini ref TSC-004/references", "chat array PAR-008/schema",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if notes := strings.Join(found.Notes, "\n"); notes != "gemini takes these as parametersJsonSchema only, not as parameters: root, array, draft, unclosed" {
		t.Errorf("notes: %s", notes)
	}
}

// TestNothingToJudge: what holds no tool is an error, never a pass.
func TestNothingToJudge(t *testing.T) {
	for list, want := range map[string]string{
		``:                      "is empty",
		`{`:                     "is not JSON: line 1, byte 1: ends too early",
		"{\"a\":1,\n\"b\" 2}":   "is not JSON: line 2, byte 12: invalid character '2' after object name",
		"[] []":                 "is not JSON: line 1, byte 2: more than one value",
		"\xEF\xBB\xBF[]":        "begins with a byte order mark",
		"\xFF\xFE[\x00]\x00":    "is UTF-16; save it as UTF-8",
		`7`:                     "holds no list of tools",
		`{"tools":7}`:           "holds no list of tools",
		`[]`:                    "holds no tool that a client runs",
		`{"tools":[]}`:          "holds no tool that a client runs",
		`[{"googleSearch":{}}]`: `[0] is not judged: "googleSearch" is run by its provider`,
		`[7]`:                   "[0]: is not an object",
		`[{"a":1}]`:             "[0]: is not a tool",
		`{"tools":[{"type":"namespace","tools":[{}]}]}`: "tools[0].tools[0]: is not a tool",
	} {
		if _, err := lint.Tools([]byte(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
	if _, err := lint.Tools([]byte(`[{"name":"a","inputSchema":{}}]`), "mistral"); err == nil ||
		!strings.Contains(err.Error(), `provider "mistral" is unknown`) {
		t.Error(err)
	}
}

func TestRequest(t *testing.T) {
	const unled = `{"model":"claude-sonnet-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":2048},` +
		`"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01ab","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01ab","content":"1"}]}`
	for _, c := range []struct{ provider, model, body, want string }{
		{"", "", `{"model":"claude-opus-4-7","max_tokens":9,"top_k":5,"messages":[{"role":"user","content":"hi"}]}`,
			"anthropic PAR-002/model top_k"},
		{"", "", `{"model":"claude-opus-4-7","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, ""},
		{"", "", `{"model":"gpt-5.2","max_tokens":9,"input":"hi"}`, "openai PAR-006/known max_tokens"},
		{"", "", `{"model":"gpt-5.2","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`,
			"openai ORD-003/no-orphan input[0]"},
		{"", "",
			`{"model":"gpt-5.2","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, ""},
		{"", "gemini-2.5-flash",
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}`, "gemini PAR-013/level generationConfig.thinkingConfig.thinkingLevel"},
		{"", "",
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}`, ""},
		{"", "",
			`{"model":"claude-opus-5-5","max_tokens":9,"top_k":5,"messages":[{"role":"user","content":"hi"},{"role":"system","content":"Be brief."}]}`, "anthropic PAR-002/model top_k"},
		{"", "",
			`{"model":"gpt-5.2","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"a.b","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}]}]}`, "openai PAR-008/names input[0].tools[0]"},
		{"", "",
			`{"model":"gpt-5.2","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"a","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}]}]}`, "openai PAR-008/schema input[0].tools[0].parameters.properties.a.items"},
		{"anthropic", "", `{"model":"claude-opus-4-6","max_tokens":9}`, "anthropic PAR-006/required messages"},
		{"", "", `{"model":"kimi-k2.6","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"2a"}}]}`, "chat PAR-008/names tools[0].function.name"},
		{"", "", unled + `]}`, "anthropic SIG-004/leads messages[1].content[0]"},
		{"", "", unled + `,{"role":"assistant","content":"It is"}]}`, "anthropic SIG-004/leads messages[1].content[0]"},
		{"", "", unled + `,{"role":"user","content":"and?"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"It is"}]}]}`, ""},
		{"anthropic", "",
			`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"a","input":{}}]},{"role":"user","content":"and?"}],"tools":[{"name":"a","input_schema":{"type":"object"}}]}`, "anthropic ORD-001/answered messages[1].content[0]"},
	} {
		found, err := lint.Request(lint.Target{Provider: c.provider, Model: c.model}, []byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		got := []string{}
		for _, f := range found.Findings {
			got = append(got, fmt.Sprintf("%s %s %s", f.Provider, f.Check, f.Path))
		}
		if (len(got) == 0) != (c.want == "") || c.want != "" && !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.body, got, c.want)
		}
	}
	misspelt, err := lint.Request(lint.Target{},
		[]byte(`{"model":"claude-opus-4-6","max_tokens":9,"temprature":1,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil || len(misspelt.Findings) != 1 ||
		!strings.Contains(misspelt.Findings[0].Message, "(did you mean temperature?)") {
		t.Errorf("misspelt: %+v, %v", misspelt, err)
	}
	silent, err := lint.Request(lint.Target{},
		[]byte(`{"model":"kimi-k2.6","messages":[{"role":"system","content":"x"},{"role":"assistant","content":""}]}`))
	if err != nil || len(silent.Findings) != 1 ||
		!strings.Contains(silent.Findings[0].Message, "where the model's vendor refuses this") {
		t.Errorf("silent: %+v, %v", silent, err)
	}
	for body, want := range map[string]string{
		`[]`: "is not a JSON object", `{}`: "name the provider",
		`{"log":{"entries":[]}}`: "is a HAR and no request; judge it with: conform check",
	} {
		if _, err := lint.Request(lint.Target{}, []byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

var pathStep = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// leadsSomewhere reports whether a path leads into a document. Its last step may name what
// is missing there.
func leadsSomewhere(doc any, path string) bool {
	steps := pathStep.FindAllString(path, -1)
	for i, step := range steps {
		next, ok := any(nil), false
		switch at := doc.(type) {
		case map[string]any:
			next, ok = at[step]
		case []any:
			n, err := strconv.Atoi(strings.Trim(step, "[]"))
			if ok = err == nil && n < len(at); ok {
				next = at[n]
			}
		}
		if !ok {
			return i == len(steps)-1
		}
		doc = next
	}
	return true
}

// TestEmptyContent: nothing says whether OpenAI takes a message without content, and our
// simulator takes it. Anthropic is known to refuse one (A-12).
func TestEmptyContent(t *testing.T) {
	const hi = `{"role":"user","content":"hi"}`
	for body, want := range map[string]string{
		`{"model":"gpt-5.2","input":[` + hi + `,{"type":"message","role":"assistant","content":[]},` + hi +
			`]}`: "PAR-006/required warn",
		`{"model":"gpt-5.2","input":[` + hi + `,{"type":"message","role":"assistant"},` + hi +
			`]}`: "PAR-006/required fail",
		`{"model":"gpt-5.2","input":[` + hi + `,{"type":"message","role":"assistant","content":""},` + hi +
			`]}`: "",
		`{"model":"claude-opus-4-6","max_tokens":9,"messages":[` + hi + `,{"role":"assistant","content":[]},` + hi +
			`]}`: "ORD-014/nothing-empty fail",
		`{"model":"claude-opus-4-5","max_tokens":9,"messages":[` + hi + `,{"role":"assistant","content":[]}]}`: "",
		`{"model":"gpt-5.2","input":[` + hi + `,{"type":"function_call_output","call_id":"c","output":[]},` + hi +
			`]}`: "ORD-003/no-orphan fail PAR-006/required warn",
		`{"model":"gpt-5.2","input":[` + hi +
			`,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` + hi + `]}`: "",
	} {
		found, err := lint.Request(lint.Target{}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range found.Findings {
			if !strings.HasPrefix(f.Check, "SIG") {
				got += " " + f.Check + " " + string(f.Verdict)
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func FuzzTools(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":` + brokenSchema + `}]}`))
	f.Add([]byte(`[{"type":"namespace","tools":[{"type":"function","name":"b","strict":true,"parameters":{"oneOf":[{}]}}]}]`))
	f.Add([]byte(`{"functionDeclarations":[{"name":"a","parameters":{"type":"STRING","enum":[1]}}]}`))
	f.Fuzz(func(t *testing.T, list []byte) {
		found, err := lint.Tools(list)
		if (err == nil) != (found.Tools > 0) {
			t.Fatalf("%d tools, %v", found.Tools, err)
		}
		var doc any
		plain := !strings.ContainsAny(string(list), `.\`) && json.Unmarshal(list, &doc) == nil
		for _, f := range found.Findings {
			if plain && f.Tool != "" && !strings.Contains(f.Path, "parametersJsonSchema") &&
				!leadsSomewhere(doc, f.Path) {
				t.Errorf("%s: %s leads nowhere in %s", f.Check, f.Path, list)
			}
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"claude-opus-4-7","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`))
	f.Add([]byte(`{"contents":[{"parts":[{}]}],"tools":{"functionDeclarations":{}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if found, err := lint.Request(lint.Target{}, body); err == nil && len(found.Providers) != 1 {
			t.Errorf("%+v", found)
		}
	})
}

func ExampleTools() {
	found, err := lint.Tools([]byte(`[{"name":"list","inputSchema":{"type":"object","properties":{"$top":{"type":"integer"}}}}]`))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for _, f := range found.Findings {
		fmt.Println(f.Provider, f.Tool, f.Path)
		fmt.Println(f.Message)
	}
	// Output:
	// anthropic list [0].inputSchema.properties
	// the schema of tool "list": the provider does not take the argument name "$top"; where Anthropic refuses this it says "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'" (A-7)
}

// TestOneCause holds that one mistake is one finding, and that two are two.
func TestOneCause(t *testing.T) {
	for body, want := range map[string]string{
		// an id in call and result
		`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"f.x:0","name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"f.x:0","content":"x"}]}]}`: "ORD-015/id-form messages[1].content[0] [messages[2].content[0]]",
		// a signature where no member of this name is
		`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{},"thoughtSignature":"EjQK"},"thoughtSignature":"EjQK"}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`: "SIG-016/beside-the-call contents[1].parts[0].functionCall.thoughtSignature []",
		// two members that are unknown
		`{"model":"gpt-5.2","foo":1,"bar":2,"input":"hi"}`: "PAR-006/known bar []\nPAR-006/known foo []",
	} {
		found, err := lint.Request(lint.Target{}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range found.Findings {
			got = append(got, fmt.Sprintf("%s %s %s", f.Check, f.Path, f.Also))
		}
		if slices.Sort(got); strings.Join(got, "\n") != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, strings.Join(got, "\n"), want)
		}
	}
}
