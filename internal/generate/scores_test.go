package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
)

func TestScoreboard(t *testing.T) {
	run := &report.Run{
		Subject: report.Subject{Name: "agent", Version: "1 | <b>"}, Set: report.NewSet("current", []string{"ORD-001"}), Started: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC),
		Cases: []report.CaseSummary{
			{Name: "a/openai@simulator", Provider: "openai", Ingress: "mitm", DurationMS: 1600},
			{Name: "b/openai@simulator", Provider: "openai", Ingress: "mitm", DurationMS: 400},
			{Name: "a/openai@simulator@base-url", Provider: "openai", Ingress: "base-url"},
			{Name: "d/openai@simulator@base-url", Provider: "openai", Ingress: "base-url", Verdict: report.NotTestable},
			{Name: "c/openai@simulator", Provider: "openai", Ingress: "mitm", Reason: "needs resume"},
		},
		Results: []report.Result{
			{Requirement: "ORD-001", Case: "a/openai@simulator", Verdict: report.Pass},
			{Requirement: "ORD-001", Case: "b/openai@simulator", Verdict: report.Fail},
			{Requirement: "ORD-002", Case: "b/openai@simulator", Verdict: report.Pass},
			{Requirement: "ORD-003", Case: "b/openai@simulator", Verdict: report.Warn},
			{Requirement: "SIG-001", Case: "a/openai@simulator", Verdict: report.NotTestable},
			{Requirement: "ORD-001", Case: "a/openai@simulator@base-url", Verdict: report.Pass},
			{Requirement: "PAR-001", Check: "PAR-001/x", Case: "a/openai@simulator@base-url", Verdict: report.KnownFail, Findings: []report.Finding{{}}},
			{Requirement: "PAR-003", Case: "a/openai@simulator@base-url", Verdict: report.KnownFail},
			{Requirement: "PAR-002", Case: "a/openai@simulator@base-url", Verdict: report.Warn},
			{Requirement: "STR-001", Case: "a/openai@simulator@base-url", Verdict: report.Pass, OfSource: true},
		},
		Baseline: []report.UsedExcuse{{Excuse: report.Excuse{Pattern: "PAR-001/**", Issue: "https://example.com/blob/main/docs/bugs/agent-parameters.md"}, Verdict: report.KnownFail}},
	}
	board := newScoreboard([]*report.Run{run}, "linux/amd64", func(*report.Run) string { return "scoreboard/agent.html" })
	if len(board.Runs) != 2 {
		t.Fatalf("%+v", board)
	}
	mitm, byURL := board.Runs[0], board.Runs[1]
	ord := mitm.Results["ORD"]
	if mitm.Cases != 2 || mitm.Seconds != 2 || mitm.Date != "2026-11-23" || ord.Verdict != report.Fail || !slices.Equal(ord.Failed, []string{"ORD-001"}) || !slices.Equal(ord.Passed, []string{"ORD-002"}) {
		t.Errorf("%+v", mitm)
	}
	if len(mitm.Results) != 1 || len(byURL.Results) != 2 || byURL.Results["ORD"].Verdict != report.Pass {
		t.Errorf("%+v %+v", mitm.Results, byURL.Results)
	}
	var out strings.Builder
	if err := board.writeMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`| <code>agent 1 &#124; &#60;b&#62;</code> | openai | mitm | 2 | [fail ORD-001; warn ORD-003](scoreboard/agent.html#/matrix?area=ORD&ingress=mitm&provider=openai) |  |  |`,
		"| openai | base-url | 2, 1 not testable | [1 pass](scoreboard/agent.html#/matrix?area=ORD&ingress=base-url&provider=openai) | [known-fail PAR-001; warn PAR-002](scoreboard/agent.html#/matrix?area=PAR&ingress=base-url&provider=openai) | [<code>agent-parameters</code>](bugs/agent-parameters.md) |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %s", out.String(), want)
		}
	}
}
