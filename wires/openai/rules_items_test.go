package openai

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// TestReported holds where the referee reports a rule, and that it does not report it of the
// nearest request that keeps to the rule.
func TestReported(t *testing.T) {
	const (
		aCall  = `{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`
		answer = `{"type":"function_call_output","call_id":"c","output":"1"}`
		shell  = `{"type":"shell_call","call_id":"c","environment":{"type":"`
	)
	with := func(members string) string { return `{"type":"function_call","name":"f",` + members + `}` }
	says := func(role, kind string) string {
		return `{"role":"` + role + `","content":[{"type":"` + kind + `","text":"a"}]}`
	}
	for _, c := range []struct {
		rule, at      string
		breaks, keeps []string
	}{
		{"O-7", "input[0]", []string{with(`"call_id":"","arguments":"{}"`)}, []string{aCall}},
		{"O-8", "input[0]", []string{with(`"call_id":"c","arguments":"{}","id":"fc_0:1"`)}, []string{aCall}},
		{"O-8", "input[0]", []string{with(`"call_id":"c","arguments":"{}","id":"call_1"`)}, []string{`{"type":"item_reference","id":"call_1"}`}},
		{"O-5", "input[0].role", []string{`{"role":"tool","content":"a"}`}, []string{prompt}},
		{"O-5", "input[0]", []string{with(`"call_id":"c","arguments":{}`)}, []string{aCall}},
		{"O-16", "input[0].content[0]", []string{says("assistant", "input_text")}, []string{says("assistant", "output_text")}},
		{"O-16", "input[0].content[0]", []string{says("user", "output_text")}, []string{says("user", "input_text")}},
		{"O-17", "input[0].content", []string{`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"a"}]}`}, []string{`{"type":"reasoning","summary":[],"content":[]}`}},
		{"O-3", "input[0]", []string{`{"type":"reasoning"}`}, []string{`{"type":"reasoning","summary":[]}`}},
		{"O-9", "input[1]", []string{aCall, with(`"call_id":"d","arguments":"{}","id":"fc_1"`)}, []string{aCall, with(`"call_id":"d","arguments":"{}","id":"fc_2"`)}},
		{"O-10", "input[1]", []string{answer, aCall}, []string{aCall, answer}},
		{"O-10", "input[0]", []string{shell + `local"}}`}, []string{shell + `container_auto"}}`}},
		{"O-11", "input[0]", []string{answer}, []string{`{"type":"item_reference","id":"fc_1"}`, answer}},
		{"OAI-P6", "input[2]", []string{aCall, answer, answer}, []string{aCall, answer}},
		{"OAI-P6", "input[1]", []string{aCall, with(`"call_id":"c","arguments":"{}"`)}, []string{aCall, with(`"call_id":"d","arguments":"{}"`)}},
	} {
		if got := placesOf(t, c.rule, about(c.breaks...)); !slices.Equal(got, []string{c.at}) {
			t.Errorf("%s: reported at %q, want %s: %s", c.rule, got, c.at, c.breaks)
		}
		if got := placesOf(t, c.rule, about(c.keeps...)); got != nil {
			t.Errorf("%s: reported at %q: %s", c.rule, got, c.keeps)
		}
	}
}

func placesOf(t *testing.T, id, body string) (places []string) {
	t.Helper()
	root, err := tree.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	seen := rule.Seen{Root: root, Model: "gpt-5.2", Takes: specs.FindCapability("openai", "gpt-5.2"), Kept: map[string]bool{}}
	for _, passes := range Judge(seen, func(rule.Hosts) bool { return true }) {
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
