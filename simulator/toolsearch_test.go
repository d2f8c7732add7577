package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

const searchedScenario = `A tool that is not listed.
requirements: ORD-001
-- scenario.yaml --
title: a tool behind a search
providers:
  openai: {model: gpt-5.5}
player:
  - prompt: Call the awkward tool.
turns:
  - emit:
      - thinking: Awkward.
      - call: {role: awkward, args: '{"id":1}'}
  - emit: [{text: It came back.}]
`

// codexTools are offered by an agent that hides its MCP tools behind a search of its own.
const codexTools = `{"type":"function","name":"list_birds","parameters":{"type":"object"}},
	{"type":"tool_search","execution":"client","description":"finds tools","parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}`

// lenientOpenAI answers conversations of an agent of which nothing is known.
func lenientOpenAI(t *testing.T) func(input ...string) []map[string]any {
	t.Helper()
	s, err := specs.ParseScenario("searched.txtar", []byte(searchedScenario))
	if err != nil {
		t.Fatal(err)
	}
	h := New(Config{Scenario: s.Lenient(), Seed: "search"})
	prompt := `{"role":"user","content":"Call the awkward tool. (Reference: ` + specs.Nonce("search", "step-a") + `)"}`
	return func(input ...string) []map[string]any {
		body := `{"model":"gpt-5.5","store":false,"include":["reasoning.encrypted_content"],"tools":[` + codexTools +
			`],"input":[` +
			strings.Join(append([]string{prompt}, input...), ",") + `]}`
		r := httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer fake")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var reply struct {
			Output []map[string]any `json:"output"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		return reply.Output
	}
}

func itemJSON(t *testing.T, item map[string]any) string {
	t.Helper()
	out, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestClientToolSearch holds that a tool which is not listed is looked for first, and
// called by its namespace once the client has found it.
func TestClientToolSearch(t *testing.T) {
	answer := lenientOpenAI(t)
	said := answer()
	search := said[len(said)-1]
	if arguments, ok := search["arguments"].(map[string]any); search["type"] != "tool_search_call" ||
		search["execution"] != "client" || !ok || arguments["query"] != "conform_awkward" {
		t.Fatalf("the tool is not looked for: %v", search)
	}
	found := `{"type":"tool_search_output","call_id":"` + search["call_id"].(string) +
		`","status":"completed","execution":"client","tools":[
		{"type":"namespace","name":"mcp__conform","description":"ours","tools":[{"type":"function","name":"conform_awkward","parameters":{"type":"object"}}]}]}`
	var history []string
	for _, item := range said {
		history = append(history, itemJSON(t, item))
	}
	said = answer(append(history, found)...)
	if call := said[len(said)-1]; call["type"] != "function_call" || call["name"] != "conform_awkward" ||
		call["namespace"] != "mcp__conform" {
		t.Errorf("the tool that was found is not called: %v", call)
	}
}

// TestLoneReasoningIsNoTurn holds that an agent which keeps the reasoning of a reply that
// broke off, and asks again, gets the same turn and no refusal.
func TestLoneReasoningIsNoTurn(t *testing.T) {
	answer := lenientOpenAI(t)
	first := answer()
	again := answer(itemJSON(t, first[0]))
	if first[0]["type"] != "reasoning" || again[len(again)-1]["type"] != "tool_search_call" {
		t.Errorf("after %v the turn is not repeated: %v", first[0]["type"], again)
	}
}

// TestSearchFunctionsEnd holds that a function of the client's own which is called like a search
// for tools, and finds none, does not keep the model searching.
func TestSearchFunctionsEnd(t *testing.T) {
	s, err := specs.ParseScenario("searched.txtar",
		[]byte(strings.Replace(searchedScenario, "gpt-5.5}", "gpt-5.5}\n  gemini: {model: gemini-3.5-flash}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	prompt := "Call the conform_awkward tool. Call the awkward tool. (Reference: " +
		specs.Nonce("search", "step-a") + ")"
	const parameters = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
	for _, provider := range []struct {
		name, path, head, first string
		next                    func(reply map[string]any) (history []any, goesOn bool)
	}{
		{"openai", "/v1/responses",
			`{"model":"gpt-5.5","store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"tool_search","parameters":` +
				parameters + `}],"input":`, `{"role":"user","content":"` + prompt + `"}`,
			func(reply map[string]any) (history []any, goesOn bool) {
				history, _ = reply["output"].([]any)
				for _, item := range history {
					if call := item.(map[string]any); call["type"] == "function_call" {
						goesOn = true
						history = append(history, map[string]any{"type": "function_call_output",
							"call_id": call["call_id"], "output": "nothing found"})
					}
				}
				return history, goesOn
			}},
		{"gemini", "/v1beta/models/gemini-3.5-flash:generateContent",
			`{"tools":[{"functionDeclarations":[{"name":"tool_search","description":"d","parameters":` +
				parameters + `}]}],"contents":`, `{"role":"user","parts":[{"text":"` + prompt + `"}]}`,
			func(reply map[string]any) ([]any, bool) {
				content := reply["candidates"].([]any)[0].(map[string]any)["content"].(map[string]any)
				var parts []any
				for _, part := range content["parts"].([]any) {
					if call, ok := part.(map[string]any)["functionCall"].(map[string]any); ok {
						parts = append(parts, map[string]any{"functionResponse": map[string]any{"id": call["id"],
							"name": call["name"], "response": map[string]any{"result": "nothing found"}}})
					}
				}
				return []any{content, map[string]any{"role": "user", "parts": parts}}, parts != nil
			}},
	} {
		for name, h := range map[string]http.Handler{"a scenario": New(Config{Scenario: s.Lenient(), Seed: "search"}),
			"no scenario": New(Config{Seed: "search"})} {
			var history []any
			for range 6 {
				body, _ := json.Marshal(append([]any{json.RawMessage(provider.first)}, history...))
				r := httptest.NewRequest(http.MethodPost, provider.path,
					strings.NewReader(provider.head+string(body)+"}"))
				r.Header = http.Header{"Authorization": {"Bearer fake"}, "X-Goog-Api-Key": {"fake"}}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				var reply map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != http.StatusOK {
					t.Fatalf("%s, %s: %d %s", provider.name, name, w.Code, w.Body)
				}
				more, goesOn := provider.next(reply)
				if history = append(history, more...); !goesOn {
					history = nil
					break
				}
			}
			if history != nil {
				t.Errorf("%s, %s: the model still searches after 6 requests", provider.name, name)
			}
		}
	}
}
