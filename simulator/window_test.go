package simulator

import (
	"encoding/json"
	"strings"
	"testing"
)

const compactURL = "/openai/v1/responses/compact"

// POST /responses/compact returns the messages of the user and one compaction. They begin
// the next input as they are, and are compacted again in their turn.
func TestCompactedWindow(t *testing.T) {
	h := New(Config{})
	words := strings.Repeat("word ", 2000)
	window := func(input string) string {
		t.Helper()
		w := answer(t, h, "POST", compactURL, `{"model":"gpt-5.5","instructions":"Be brief.","input":`+input+`}`)
		var reply struct {
			Object string
			Output []json.RawMessage
			Usage  struct {
				Input int `json:"input_tokens"`
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != 200 ||
			reply.Object != "response.compaction" || reply.Usage.Input == 0 {
			t.Fatalf("%d %v %s", w.Code, err, w.Body)
		}
		var items []string
		for _, item := range reply.Output {
			items = append(items, string(item))
		}
		return strings.Join(items, ",")
	}
	first := window(`[{"role":"user","content":"Say hi."},{"role":"assistant","content":"` + words +
		`"},{"role":"developer","content":"Be kind."},{"role":"user","content":[{"type":"input_text","text":"Again."}]}]`)
	if strings.Count(first, `"role":"user"`) != 2 || strings.Count(first, `"type":"compaction"`) != 1 ||
		!strings.HasPrefix(first[strings.LastIndex(first, "gAAAA"):], "gAAAAAB") || strings.Contains(first, "word") ||
		strings.Contains(first, "kind") {
		t.Fatalf("the window is %s", first)
	}
	next := first + `,{"role":"user","content":"And now?"}`
	if w := answer(t, h, "POST", "/openai/v1/responses", `{"model":"gpt-5.5","store":false,"input":[`+next+`]}`); w.Code != 200 {
		t.Errorf("the window is not taken: %s", w.Body)
	}
	if again := window("[" + next + "]"); strings.Count(again, `"role":"user"`) != 3 ||
		strings.Count(again, `"type":"compaction"`) != 1 ||
		!strings.HasPrefix(again, first[:strings.Index(first, `,{"id":"cmp_`)]) {
		t.Errorf("compacted again: %s", again)
	}
}

// The call takes its own parameters and holds its input to the rules of every input.
func TestCompactIsStrict(t *testing.T) {
	h := New(Config{})
	for body, want := range map[string]string{
		`{"model":"gpt-5.5","input":"a","store":false}`: "Unknown parameter: 'store'.",
		`{"model":"gpt-5.5","input":"a","stream":true}`: "Unknown parameter: 'stream'.",
		`{"model":"gpt-5.5"}`:                           "Missing required parameter: 'input'.",
		`{"input":"a"}`:                                 "Missing required parameter: 'model'.",
		`{"model":"gpt-5.5","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`:    "No tool call found for function call output with call_id c.",
		`{"model":"gpt-5.5","input":[{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA"}]}`: "could not be verified",
	} {
		if w := answer(t, h, "POST", compactURL, body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s; want %s", body, w.Code, w.Body, want)
		}
	}
}
