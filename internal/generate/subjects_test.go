package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
)

func TestSubjectsTable(t *testing.T) {
	result := func(name string, v report.Verdict, findings int) report.Result {
		return report.Result{Requirement: "ORD-001", Consequence: "refused", Check: "ORD-001/answered", Case: name,
			Verdict: v,
			Findings: slices.Repeat([]report.Finding{{Requirement: "ORD-001", Verdict: v, Check: "ORD-001/answered",
				Consequence: "refused", Message: "m", Fix: "f"}}, findings)}
	}
	run := report.NewRun(report.Run{
		Tool:    report.Tool{Name: "conform", Version: "1"},
		Subject: report.Subject{Name: "a|gent", Version: "2", Kind: "command"},
		Set:     report.NewSet("current", []string{"ORD-001"}), Policy: report.Policy{FailOn: report.Fail},
		Source: []string{"simulator"}, Ingress: []string{"mitm", "base-url"}, Started: time.Unix(0, 0).UTC(),
		Cases: []report.CaseSummary{
			{Name: "a/openai@simulator", Provider: "openai", Ingress: "mitm", DurationMS: 1400},
			{Name: "b/openai@simulator", Provider: "openai", Ingress: "mitm", DurationMS: 1400},
			{Name: "a/openai@simulator@base-url", Provider: "openai", Ingress: "base-url", DurationMS: 900},
			{Name: "a/gemini@simulator", Provider: "gemini", Ingress: "mitm"},
			{Name: "c/openai@simulator", Provider: "openai", Ingress: "mitm", Verdict: report.NotApplicable,
				Reason: "needs resume"},
		},
	}, []report.Result{
		result("a/openai@simulator", report.Pass, 0), result("b/openai@simulator", report.Fail, 2),
		result("a/openai@simulator@base-url", report.NotTestable, 0), result("a/gemini@simulator", report.Pass, 0),
	})
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "agent.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := writeSubjects(&out, []string{file}); err != nil {
		t.Fatal(err)
	}
	want := `| agent  | version | provider | ingress  | cases | passed | findings | known | not testable | seconds |
| ------ | ------- | -------- | -------- | ----- | ------ | -------- | ----- | ------------ | ------- |
| a\|gent | 2       | gemini   | mitm     | 1     | 1      | 0        | 0     | 0            | 0       |
| a\|gent | 2       | openai   | mitm     | 2     | 1      | 2        | 0     | 0            | 3       |
| a\|gent | 2       | openai   | base-url | 1     | 0      | 0        | 0     | 1            | 1       |
`
	want = strings.Replace(strings.Replace(want, "| agent  |", "| agent   |", 1), "| ------ |", "| ------- |", 1)
	if out.String() != want {
		t.Errorf("the table is\n%s\nnot\n%s", out.String(), want)
	}
	if err := writeSubjects(&out, []string{"nowhere.json"}); err == nil ||
		!strings.Contains(err.Error(), "nowhere.json") {
		t.Errorf("a missing report: %v", err)
	}
}
