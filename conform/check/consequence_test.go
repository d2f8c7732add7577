package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// TestConsequences holds what a breach leads to where that depends on the model, the
// provider or the place: the failing example of one requirement is altered and judged by
// another or the same one.
func TestConsequences(t *testing.T) {
	const budget, adaptive = `"type": "enabled", "budget_tokens": 1024`, `"type": "adaptive"`
	for _, c := range []struct {
		name, example, judged string
		edits                 []string // old, new, old, new …
		want                  specs.Consequence
	}{
		{"a call on Gemini 2", "ORD-006", "ORD-006", []string{"gemini-3-flash-preview", "gemini-2.5-flash"},
			specs.Degraded},
		{"a call on Gemini 3", "ORD-006", "ORD-006", nil, specs.Refused},
		{"unsigned on Gemini 3", "SIG-014", "SIG-014", nil, specs.Refused},
		{"unsigned on Gemini 2", "SIG-014", "SIG-014", []string{"gemini-3-flash-preview", "gemini-2.5-flash"}, ""},
		{"thinking behind text", "ORD-008", "ORD-008", nil, specs.Refused},
		{"a call repeated", "ORD-010", "ORD-010", nil, specs.Refused},
		{"another number", "ORD-011", "ORD-011", nil, specs.Unsafe},
		{"another spelling", "ORD-011", "ORD-011",
			[]string{`{\"record\":9007199254740992}`, `{\"record\": 9007199254740993}`}, specs.Degraded},
		{"text trimmed", "ORD-013", "ORD-013", nil, specs.Degraded},
		{"text trimmed where thinking is bound", "ORD-013", "ORD-013", []string{"claude-sonnet-4-5", "claude-fable-5-1",
			`{"type": "text", "text": "I will read it`,
			`{"type": "thinking", "thinking": "", "signature": "EsYB"}, {"type": "text", "text": "I will read it`},
			specs.Refused},
		{"text trimmed where thinking could be bound", "ORD-013", "ORD-013",
			[]string{"claude-sonnet-4-5", "claude-fable-5-1"}, specs.Degraded},
		{"words invented", "ORD-013", "ORD-013",
			[]string{`"I will read it."`, `"All tests have passed, nothing is left."`}, specs.Unsafe},
		{"JSON written anew", "ORD-013", "ORD-013", []string{`I will read it.\n\n`, `{\"name\": \"Ada\", \"age\": 28}`,
			`I will read it.`, `{\"name\":\"Ada\",\"age\":28}`}, specs.Degraded},
		{"JSON with other values", "ORD-013", "ORD-013",
			[]string{`I will read it.\n\n`, `{\"name\": \"Ada\", \"age\": 28}`,
				`I will read it.`, `{\"title\":\"Bob\",\"size\":31}`}, specs.Unsafe},
		{"the model spoke last", "ORD-016", "ORD-016", nil, specs.Refused},
		{"the model spoke last, prefilled", "ORD-016", "ORD-016", []string{"claude-opus-4-6", "claude-sonnet-4-5"}, ""},
		{"system changed where thinking is bound", "RES-002", "RES-002", nil, specs.Refused},
		{"thinking left out, with a budget", "SIG-002", "SIG-002", nil, specs.Refused},
		{"thinking left out, adaptive", "SIG-002", "SIG-002",
			[]string{budget, adaptive, "claude-sonnet-4-5", "claude-opus-4-6"}, specs.Degraded},
		{"thinking left out in part", "SIG-006", "SIG-002", []string{"claude-fable-5-1", "claude-opus-4-7"},
			specs.Refused},
		{"a hole where thinking is bound", "SIG-006", "SIG-006", nil, specs.Refused},
		{"a hole elsewhere", "SIG-006", "SIG-006", []string{"claude-fable-5-1", "claude-opus-4-7"}, specs.Degraded},
		{"reasoning left out", "SIG-008", "SIG-008", nil, specs.Degraded},
		{"reasoning left out of what is stored", "SIG-008", "SIG-008", []string{`"store": false, `, ""}, specs.Refused},
		{"reasoning alone", "SIG-009", "SIG-009", nil, specs.Refused},
		{"reasoning alone, which is not stored", "SIG-009", "SIG-009",
			[]string{`"model": "gpt-5.4"`, `"model": "gpt-5.4", "store": false`}, specs.Degraded},
		{"no summary", "SIG-010", "SIG-010", nil, specs.Refused},
		{"another summary", "SIG-010", "SIG-010", []string{`"id": "rs_01", "encrypted_content"`,
			`"id": "rs_01", "summary": [{"type": "summary_text", "text": "x"}], "encrypted_content"`}, specs.Degraded},
		{"a bare id", "SIG-013", "SIG-013", nil, specs.Refused},
		{"a cut call that ran", "STR-009", "STR-009", nil, specs.Unsafe},
		{"a cut call that failed, without the mark", "STR-009", "STR-009",
			[]string{`"removed"`, `"the arguments are truncated; not executed"`}, specs.Degraded},
		{"a bare id, newest models", "SIG-013", "SIG-013", []string{"gpt-5.4", "gpt-6-astra"}, specs.Degraded},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := specs.FindRequirement(c.example)
			if err != nil {
				t.Fatal(err)
			}
			example := altered(t, r.Examples.Failing, c.edits)
			if got := worstOf(t, c.judged, r, example); got != c.want {
				t.Errorf("%s: %q, want %q", c.judged, got, c.want)
			}
		})
	}
}

// altered is the example with every edit made wherever it applies, at least once.
func altered(t *testing.T, e specs.Example, edits []string) specs.Example {
	t.Helper()
	exchanges := make([]specs.ExampleExchange, len(e.Exchanges))
	copy(exchanges, e.Exchanges)
	for i := 0; i < len(edits); i += 2 {
		found := strings.Contains(e.Model, edits[i])
		e.Model = strings.ReplaceAll(e.Model, edits[i], edits[i+1])
		for k := range exchanges {
			x := &exchanges[k]
			found = found || strings.Contains(x.Request+x.Reply, edits[i])
			x.Request = strings.ReplaceAll(x.Request, edits[i], edits[i+1])
			x.Reply = strings.ReplaceAll(x.Reply, edits[i], edits[i+1])
		}
		if !found {
			t.Fatalf("the example holds no %q", edits[i])
		}
	}
	e.Exchanges = exchanges
	return e
}

// worstOf is what the findings of a requirement lead to at worst, "" without one.
func worstOf(t *testing.T, id string, owner specs.Requirement, e specs.Example) specs.Consequence {
	t.Helper()
	catalogue, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		t.Fatal(err)
	}
	ev := evidence.FromExample(owner, e)
	worst := specs.Consequence("")
	for _, res := range report.Judge(rules, &ev) {
		if res.Requirement == id && len(res.Findings) > 0 {
			worst = res.Consequence
		}
	}
	return worst
}
