package simulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// passing is a request that looks faulty, or a fault put into the second request
// of a talk, which was not faulty.
type passing struct {
	id, url, body string
	edit          func(again map[string]any)
	says          string // in the answer
}

const (
	toClaude = `{"model":"claude-opus-4-5","max_tokens":2048,"messages":[%s]}`
	toGPT    = `{"model":"gpt-5.2","input":[{"role":"user","content":"x"},%s],"tools":[{"type":"function","name":"f"%s}]}`
	toGemini = `{"contents":[{"role":"user","parts":[{"text":"x"}]},%s]}`

	asks1   = `{"role":"user","content":"x"},`
	calls1  = `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},`
	result1 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"1"}]}`
	signed1 = `{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"}]},`
	bare1   = `{"role":"model","parts":[{"functionCall":{"name":"f"}}]},`
	back1   = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`
	called1 = `{"type":"function_call","call_id":"1","name":"f","arguments":%q},{"type":"function_call_output","call_id":"1","output":"1"}`
)

// passings are by provider.
var passings = map[string][]passing{
	"anthropic": {
		{id: "A-8", body: fmt.Sprintf(toClaude, `{"role":"assistant","content":"y"},{"role":"user","content":"x"}`)},
		{id: "A-10", body: fmt.Sprintf(toClaude, asks1+asks1+
			`{"role":"assistant","content":"y"},{"role":"assistant","content":"z"},{"role":"user","content":"x"}`)},
		{id: "A-11", body: fmt.Sprintf(toClaude,
			asks1+
				`{"role":"assistant","content":[{"type":"text","text":" "},{"type":"text","text":"y"}]},{"role":"user","content":"x"}`)},
		{id: "ANT-S1", body: fmt.Sprintf(toClaude, asks1+strings.Replace(calls1, `[{`,
			`[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{`, 1)+result1)},
		{id: "A-18", body: fmt.Sprintf(toClaude,
			asks1+calls1+result1+","+strings.Replace(calls1, `"f"`, `"g"`, 1)+result1)},
		{id: "A-42",
			edit: func(again map[string]any) { again["model"] = "claude-opus-4-5"; delete(again, "thinking") }},
		{id: "ANT-P6", body: fmt.Sprintf(toClaude, asks1+calls1+result1)},
		{id: "ANT-T8", edit: func(again map[string]any) {
			closeTurn(again)
			said := again["messages"].([]any)[1].(map[string]any)
			said["content"] = said["content"].([]any)[1:]
		}},
		{id: "ANT-I3", body: fmt.Sprintf(toClaude, asks1+calls1+result1)},
		{id: "ANT-X12", body: fmt.Sprintf(toClaude,
			asks1+strings.Replace(calls1, `}]`, `},{"type":"text","text":"y"}]`, 1)+result1)},
		{id: "ANT-S2",
			body: strings.Replace(fmt.Sprintf(toClaude,
				asks1+
					`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}`), "4-5", "4-6", 1)},
		{id: "ANT-B3", body: `{"model":"claude-opus-5-5"}`, edit: func(again map[string]any) {
			said := again["messages"].([]any)[1].(map[string]any)
			said["content"] = said["content"].([]any)[1:]
		}},
	},
	"openai": {
		{id: "O-4", body: fmt.Sprintf(toGPT, `{"role":"user","content":"x"}`, `,"function":{"name":"f"}`)},
		{id: "O-4", body: `{"model":"gpt-5.2","input":"x","client_metadata":{"session_id":"1"}}`},
		{id: "O-11", body: fmt.Sprintf(toGPT,
			`{"type":"tool_search_call","call_id":"1","execution":"client","arguments":{"query":"f"}},{"type":"function_call_output","call_id":"1","output":"f"},{"role":"user","content":"x"}`, "")},
		{id: "O-12", edit: func(again map[string]any) { lacking(again, "id", 2) }},
		{id: "O-15", edit: func(again map[string]any) {
			lacking(again, "id", 1)
			again["input"].([]any)[1].(map[string]any)["summary"] = []any{}
		}},
		{id: "OAI-I5", body: fmt.Sprintf(toGPT,
			fmt.Sprintf(called1, "{}")+
				`,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"y"}]},{"role":"user","content":"x"}`, "")},
		{id: "OAI-A2", body: fmt.Sprintf(toGPT, fmt.Sprintf(called1, `{"a`), "")},
		{id: "OAI-B1", body: `{"model":"gpt-6-sol"}`,
			edit: func(again map[string]any) { again["tools"] = again["tools"].([]any)[1:] },
			says: `"reason":"prefix_mismatch"`},
	},
	"gemini": {
		{id: "G-7", body: fmt.Sprintf(toGemini, `{"role":"user","parts":[{"text":""}]}`)},
		{id: "G-12", body: strings.Replace(fmt.Sprintf(toGemini, `{"parts":[{"text":"x"}]}`), "{",
			`{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}],`, 1)},
		{id: "G-13", body: fmt.Sprintf(toGemini, `{"role":"model","parts":[{"text":"y"}]},`+signed1+back1)},
		{id: "G-14", url: "2.5-flash",
			body: fmt.Sprintf(toGemini, bare1+back1+`,{"role":"user","parts":[{"text":"x"}]},`+back1)},
		{id: "G-14", body: fmt.Sprintf(toGemini, strings.Replace(signed1, "}]},",
			`},{"functionResponse":{"name":"f","response":{}}}]},`, 1)+`{"role":"user","parts":[{"text":"x"}]}`)},
		{id: "G-15", url: "2.5-flash", body: fmt.Sprintf(toGemini, bare1+`{"role":"user","parts":[{"text":"x"}]}`)},
		{id: "G-17", body: fmt.Sprintf(toGemini,
			bare1+back1+`,{"role":"model","parts":[{"text":"y"}]},{"role":"user","parts":[{"text":"x"}]}`)},
		{id: "G-17", body: fmt.Sprintf(toGemini, strings.Replace(signed1, "]", `,{"functionCall":{"name":"f"}}]`,
			1)+strings.Replace(back1, "]", `,{"functionResponse":{"name":"f","response":{}}}]`, 1))},
		{id: "G-18", url: "2.5-flash",
			body: fmt.Sprintf(toGemini, strings.Replace(signed1, "skip_thought_signature_validator", "AAAA", 1)+back1)},
		{id: "G-20", body: fmt.Sprintf(toGemini, signed1+back1)},
		{id: "G-22", edit: func(again map[string]any) {
			for _, c := range again["contents"].([]any) {
				for _, p := range c.(map[string]any)["parts"].([]any) {
					if p := p.(map[string]any); p["functionCall"] == nil {
						delete(p, "thoughtSignature")
					}
				}
			}
		}},
		{id: "G-31", body: fmt.Sprintf(toGemini, `{"role":"user","parts":[{"text":"x"}]}`)},
		{id: "G-32", body: fmt.Sprintf(toGemini, strings.Replace(signed1, `"name"`, `"id":"mine","name"`,
			1)+strings.Replace(back1, `"name"`, `"id":"mine","name"`, 1))},
		{id: "G-32", body: fmt.Sprintf(toGemini, signed1+strings.Replace(back1, `"name"`, `"id":"mine","name"`, 1))},
		{id: "G-27",
			body: `{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}`},
		{id: "GEM-C4", url: "2.5-flash", body: fmt.Sprintf(toGemini, bare1+strings.Replace(back1, `"f"`, `"1"`, 1))},
	},
}

// TestAccepted holds, over HTTP and at the strictest level, that what must not be
// refused is not (regressions §3.4), and that each entry of the table is tried.
func TestAccepted(t *testing.T) {
	for name, tried := range passings {
		h := New(Config{})
		for _, p := range tried {
			url, body := talks[name].url, p.body
			if p.url != "" {
				url = strings.Replace(url, "3.5-flash", p.url, 1)
			}
			if p.edit != nil {
				ask := object(t, talks[name].ask)
				if p.body != "" { // another model
					ask["model"] = object(t, p.body)["model"]
				}
				again := talks[name].reply(object(t, asJSON(ask)),
					object(t, answer(t, h, "POST", url, asJSON(ask)).Body.String()))
				p.edit(again)
				body = asJSON(again)
			}
			if w := answer(t, h, "POST", url, body); w.Code != 200 || !strings.Contains(w.Body.String(), p.says) {
				t.Errorf("%s: %d %s\nfor %s", p.id, w.Code, w.Body, body)
			}
		}
		for _, r := range Accepted(name) {
			if !slices.ContainsFunc(tried, func(p passing) bool { return p.id == r.ID }) {
				t.Errorf("%s is said to be accepted, and not tried", r.ID)
			}
		}
	}
}

// closeTurn ends the turn of a talk and asks anew.
func closeTurn(again map[string]any) {
	again["messages"] = append(again["messages"].([]any), map[string]any{"role": "assistant", "content": "y"},
		map[string]any{"role": "user", "content": "x"})
}

// lacking takes a member from the input's items from one on.
func lacking(again map[string]any, name string, from int) {
	for _, item := range again["input"].([]any)[from:] {
		delete(item.(map[string]any), name)
	}
}
