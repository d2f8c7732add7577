package mutate

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// TestCheckExamples holds that an example which shows the opposite of what it is
// called turns the self-test red.
func TestCheckExamples(t *testing.T) {
	const open = `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}}]},{"role":"user","content":[RESULT{"type":"text","text":"go on"}]}]}`
	failing := specs.Example{Provider: "anthropic",
		Exchanges: []specs.ExampleExchange{{Request: strings.ReplaceAll(open, "RESULT", "")}}}
	passing := specs.Example{Provider: "anthropic", Exchanges: []specs.ExampleExchange{{
		Request: strings.ReplaceAll(open, "RESULT", `{"type":"tool_result","tool_use_id":"t1","content":"x"},`)}}}
	empty := specs.Example{Provider: "anthropic",
		Exchanges: []specs.ExampleExchange{{Request: `{"model":"m","messages":[]}`}}}
	var rule report.Rule
	for _, c := range check.All() {
		if c.ID == "ORD-001/answered" {
			rule = report.Rule{Requirement: specs.Requirement{ID: "ORD-001", Consequence: specs.Refused}, Check: c}
		}
	}
	for _, c := range []struct {
		name     string
		examples specs.Examples
		want     []string
	}{
		{"as they should be", specs.Examples{Failing: failing, Passing: passing}, nil},
		{"none", specs.Examples{}, []string{"has no examples"}},
		{"swapped", specs.Examples{Failing: passing, Passing: failing},
			[]string{"the failing example is judged pass", "the passing example is judged fail"}},
		{"nothing to see", specs.Examples{Failing: empty, Passing: empty},
			[]string{"failing example is judged not-testable", "passing example is judged not-testable"}},
	} {
		rule.Requirement.Examples = c.examples
		var table Table
		table.checkExamples([]report.Rule{rule})
		got := strings.Join(table.Faults, "\n")
		if len(table.Faults) != len(c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.name, got, want)
			}
		}
	}
}
