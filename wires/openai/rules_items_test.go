package openai

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
)

// TestReported holds where the referee reports a rule, and that it does not report it of the
// nearest request that keeps to the rule.
func TestReported(t *testing.T) {
	for _, c := range []struct{ rule, at, breaks, keeps string }{
		{"O-7", "input[0]", `{"type":"function_call","name":"f","call_id":"","arguments":"{}"}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`},
		{"O-8", "input[0]", `{"type":"function_call","name":"f","call_id":"c","arguments":"{}","id":"fc_0:1"}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`},
		{"O-8", "input[0]", `{"type":"function_call","name":"f","call_id":"c","arguments":"{}","id":"call_1"}`,
			`{"type":"item_reference","id":"call_1"}`},
		{"O-5", "input[0].role", `{"role":"tool","content":"a"}`,
			`{"role":"user","content":"hi"}`},
		{"O-5", "input[0]", `{"type":"function_call","name":"f","call_id":"c","arguments":{}}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`},
		{"O-16", "input[0].content[0]", `{"role":"assistant","content":[{"type":"input_text","text":"a"}]}`,
			`{"role":"assistant","content":[{"type":"output_text","text":"a"}]}`},
		{"O-16", "input[0].content[0]", `{"role":"user","content":[{"type":"output_text","text":"a"}]}`,
			`{"role":"user","content":[{"type":"input_text","text":"a"}]}`},
		{"O-17", "input[0].content",
			`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"a"}]}`,
			`{"type":"reasoning","summary":[],"content":[]}`},
		{"O-3", "input[0]", `{"type":"reasoning"}`,
			`{"type":"reasoning","summary":[]}`},
		{"O-9", "input[1]",
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call","name":"f","call_id":"d","arguments":"{}","id":"fc_1"}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call","name":"f","call_id":"d","arguments":"{}","id":"fc_2"}`},
		{"O-10", "input[1]",
			`{"type":"function_call_output","call_id":"c","output":"1"},{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}`},
		{"O-10", "input[0]", `{"type":"shell_call","call_id":"c","environment":{"type":"local"}}`,
			`{"type":"shell_call","call_id":"c","environment":{"type":"container_auto"}}`},
		{"O-11", "input[0]", `{"type":"function_call_output","call_id":"c","output":"1"}`,
			`{"type":"item_reference","id":"fc_1"},{"type":"function_call_output","call_id":"c","output":"1"}`},
		{"OAI-P6", "input[2]",
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"},{"type":"function_call_output","call_id":"c","output":"1"}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}`},
		{"OAI-P6", "input[1]",
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call","name":"f","call_id":"c","arguments":"{}"}`,
			`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call","name":"f","call_id":"d","arguments":"{}"}`},
	} {
		if got := placesOf(c.rule, about(c.breaks)); !slices.Equal(got, []string{c.at}) ||
			placesOf(c.rule, about(c.keeps)) != nil {
			t.Errorf("%s: reported at %q, want %s, and nowhere in the neighbour", c.rule, got, c.at)
		}
	}
}

func placesOf(id, body string) (places []string) {
	root, _ := parseObject([]byte(body))
	seen := rule.Seen{Root: root, Kept: map[string]bool{}}
	for _, passes := range judgeRequest(seen, func(rule.Hosts) bool { return true }) {
		for _, p := range passes {
			for _, b := range p.Breaches {
				if b.Rule == id && b.Form != "" {
					places = append(places, b.Path)
				}
			}
		}
	}
	return places
}
