package report

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestSpecificFindingFirst holds that the finding which says why a request was refused stands
// before the one that repeats the provider's words, quotes them, and that no report says that
// the rule is unknown beside it.
func TestSpecificFindingFirst(t *testing.T) {
	rules, err := RulesOf(specs.CurrentSet)
	if err != nil {
		t.Fatal(err)
	}
	request := `{"model":"gpt-5.2","store":false,"temperature":-1,"input":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		name, request, words, param string
		checks                      []string
		quoted                      bool   // by the specific finding
		general                     string // end of what ERR-001 says
	}{
		{"words of the rule", request,
			"Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
			`"temperature"`,
			[]string{"PAR-007/range", "ERR-001/form"}, true, "; rule O-6"},
		{"unknown words about the same member", request, "It is too cold.", `"temperature"`,
			[]string{"PAR-007/range", "ERR-001/form"}, true, "; PAR-007/range says why"},
		{"unknown words about nothing", request, "No.", `null`, []string{"PAR-007/range", "ERR-001/form"}, false,
			"; PAR-007/range says why"},
		{"unknown words and no breach", strings.Replace(request, "-1", "1", 1), "No.", `null`, []string{"ERR-001/form"},
			false, "; no rule of ours is known for it"},
	} {
		x := evidence.Exchange{Provider: evidence.OpenAI, Process: -1, Provenance: evidence.ProvenanceUndeclared,
			Request: evidence.Request{Method: http.MethodPost, URL: "https://api.openai.com/v1/responses",
				Body: []byte(c.request), Header: http.Header{}},
			Response: evidence.Response{Status: 400,
				Body: []byte(`{"error":{"message":"` + c.words + `","type":"invalid_request_error","param":` + c.param +
					`,"code":null}}`), Header: http.Header{}}}
		rec := JudgeRecording(rules, evidence.Recording{Path: "a",
			Evidence: evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{x}}})
		var checks []string
		for _, f := range rec.Findings {
			checks = append(checks, f.Check)
			quotes := strings.Contains(f.Message, `OpenAI refused the request: "`+c.words)
			if f.Check == "PAR-007/range" && quotes != c.quoted ||
				f.Check == "ERR-001/form" && !strings.HasSuffix(f.Message, c.words+c.general) {
				t.Errorf("%s: %s: %s", c.name, f.Check, f.Message)
			}
		}
		if !slices.Equal(checks, c.checks) {
			t.Errorf("%s: %q, want %q", c.name, checks, c.checks)
		}
		run := NewRun(Run{Subject: Subject{Name: "rkat"}}, rec.results)
		last := run.Results[len(run.Results)-1]
		if last.Requirement != "ERR-002" && last.Requirement != "ERR-001" {
			t.Errorf("%s: a run ends with %s", c.name, last.Check)
		}
	}
}

// TestCauses holds which findings of a case follow from another one, and that none hides that is
// worse than its cause, stands elsewhere too, or breaks a rule of the team.
func TestCauses(t *testing.T) {
	f := func(check, path string, v Verdict, exchanges ...decide.Ordinal) *Finding {
		f := &Finding{Check: check, Requirement: strings.Split(check, "/")[0], Path: path, Verdict: v,
			Exchange: exchanges[0]}
		for _, x := range exchanges[1:] {
			f.Places = append(f.Places, Place{Exchange: x, Path: path})
		}
		return f
	}
	refused := f("SRV-006/asked", "input[1]", Fail, 1)
	refused.Answer = decide.AnswerRefused
	lost, follower := f("SIG-002/kept", "messages[3].content[0]", Fail, 2),
		f("SIG-004/leads", "messages[3].content[0]", Fail, 2)
	words, others := f("ERR-001/form", "messages[3].content[0].type", Fail, 2),
		f("ERR-001/form", "messages[3].content[0].type", Fail, 2)
	milder := f("ORD-008/block-order", "messages[1].content[1]", Warn, 2, 3)
	milder.Consequence = specs.Degraded
	lost.Rule, follower.Rule, words.Rule, others.Rule = "A-37", "A-38", "A-38", "A-41"
	for name, c := range map[string]struct {
		findings []*Finding
		want     string
	}{
		"one block": {[]*Finding{f("HYG-001/schema", "messages[1].content[0]", Fail, 1),
			f("SIG-005/fields", "messages[1].content[0]", Fail, 1)}, "SIG-005/fields#0,"},
		"another block": {[]*Finding{f("HYG-001/schema", "messages[1].content[1]", Fail, 1),
			f("SIG-005/fields", "messages[1].content[0]", Fail, 1)}, ","},
		"another exchange": {[]*Finding{f("HYG-001/schema", "x", Fail, 1, 2),
			f("SIG-005/fields", "x", Fail, 1)}, ","},
		"worse than the cause": {[]*Finding{f("HYG-001/schema", "x", Fail, 1), f("SIG-005/fields", "x", Warn, 1)},
			","},
		"a result that is missing": {[]*Finding{f("ORD-001/answered", "messages[1].content[0]", Fail, 1),
			f("ORD-016/user-ends", "messages[1]", Fail, 1)}, ",ORD-001/answered#0"},
		"over two steps": {[]*Finding{f("ORD-001/answered", "input[2]", Fail, 2),
			f("ORD-003/no-orphan", "input[3]", Fail, 2), f("ORD-005/unique-calls", "input[2]", Fail, 2)},
			"ORD-005/unique-calls#0,,"},
		"two answers of one call": {[]*Finding{f("ORD-006/one-content", "contents[2].parts[0]", Fail, 2),
			f("ORD-002/single-result", "contents[2].parts[1]", Fail, 2)}, "ORD-002/single-result#0,"},
		"a part of a turn": {[]*Finding{f("SIG-009/followed", "input[7]", Warn, 3),
			f("STR-007/partial-turn", "input[7]", Warn, 3)}, "STR-007/partial-turn#0,"},
		"a refused message of a part": {[]*Finding{f("PAR-003/history", "messages[1].content[0]", Fail, 1),
			f("STR-007/partial-turn", "messages[1].content[0]", Fail, 1)}, "STR-007/partial-turn#0,"},
		"a refused part": {[]*Finding{f("SIG-009/followed", "input[7]", Fail, 3),
			f("STR-007/partial-turn", "input[7]", Warn, 3)}, ",SIG-009/followed#0"},
		"the provider's words":  {[]*Finding{f("ERR-001/form", "", Fail, 1), refused}, "SRV-006/asked#0,"},
		"words of what follows": {[]*Finding{lost, follower, words}, ",SIG-002/kept#0,SIG-002/kept#0"},
		"words of another rule": {[]*Finding{lost, follower, others}, ",SIG-002/kept#0,"},
		"two faults of one tool": {[]*Finding{f("PAR-008/names", "tools", Fail, 0),
			f("BET-002/tool-version", "tools", Fail, 0)}, ","},
		"milder when sent again": {[]*Finding{f("ORD-008/block-order", "messages[1].content[1]", Fail, 1), milder},
			",ORD-008/block-order#0"},
		"sent again elsewhere": {[]*Finding{f("ORD-008/block-order", "messages[3].content[1]", Fail, 1), milder},
			","},
		"a lost call": {[]*Finding{f("ORD-003/no-orphan", "input[5]", Fail, 1),
			f("ORD-009/calls-kept", "input[1]", Fail, 1)}, "ORD-009/calls-kept#0,"},
		"a moved signature": {[]*Finding{f("SIG-014/call-signed", "contents[1].parts[1]", Fail, 1),
			f("SIG-016/same-part", "contents[1].parts[2]", Fail, 1, 2),
			f("SIG-017/signed-parts", "contents[1].parts[1]", Warn, 2)}, "SIG-016/same-part#0,,SIG-016/same-part#0"},
		"a lost signature": {[]*Finding{f("SIG-014/call-signed", "contents[1].parts[1]", Fail, 1),
			f("SIG-017/signed-parts", "contents[1].parts[1]", Warn, 3)}, ",SIG-014/call-signed#0"},
		"a turn sent twice": {[]*Finding{f("ORD-005/unique-calls", "input[9]", Fail, 1),
			f("ORD-010/sent-once", "input[7]", Fail, 1), f("ORD-010/sent-once", "input[8]", Warn, 1)},
			"ORD-010/sent-once#0,,ORD-010/sent-once#0"},
		"an error in other words": {[]*Finding{f("GW-14", "error.message", Fail, 1, 3),
			f("GW-15", "x-ratelimit", Warn, 0, 1), f("SV-E1", "", Fail, 1), f("SV-E2", "error.type", Warn, 1),
			f("SV-E2", "error.type", Warn, 2), f("SV-H14", "request-id", Warn, 0, 1)}, ",,GW-14#0,GW-14#0,,GW-15#0"},
		"an error of its own": {[]*Finding{f("GW-14", "status", Fail, 1), f("GW-14", "error.message", Fail, 1),
			f("GW-14", "status", Fail, 2)}, ",GW-14#0,GW-14#0"},
		"tokens and calls": {[]*Finding{f("SV-A9", "message.usage.input_tokens", Fail, 0), f("GW-24", "usage", Fail, 0),
			f("GW-30", "calls", Fail, 1), f("SV-A13", "", Fail, 1), f("GW-24", "usage", Fail, 1)},
			"GW-24#0,,,GW-30#0,GW-24#0"},
		"a rule of the team": {[]*Finding{f("SIG-001/x", "x", Fail, 0), f("TEAM-001/x", "x", Fail, 0)}, ","},
		"a process":          {[]*Finding{f("RES-001/x", "p", Fail, -1), f("STR-008/x", "p", Fail, -1)}, ","},
	} {
		causes(c.findings)
		var got []string
		for _, f := range c.findings {
			got = append(got, f.Cause)
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
