package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
)

func TestScoreboardIsWritten(t *testing.T) {
	reports, docs := t.TempDir(), t.TempDir()
	if err := writeScoreboard(reports, docs); err == nil || !strings.Contains(err.Error(), "holds no report") {
		t.Errorf("without reports: %v", err)
	}
	run := report.NewRun(report.Run{
		Tool: report.Tool{Name: "conform", Version: "1"}, Subject: report.Subject{Name: "agent", Version: "2", Kind: "command"},
		Set: report.NewSet("current", []string{"ORD-001"}), Policy: report.Policy{FailOn: report.Fail}, Source: []string{"simulator"}, Ingress: []string{"mitm"}, Started: time.Unix(0, 0).UTC(),
		Cases: []report.CaseSummary{{Name: "a/openai@simulator", Provider: "openai", Ingress: "mitm"}},
	}, []report.Result{{Requirement: "ORD-001", Consequence: "refused", Check: "ORD-001/answered", Case: "a/openai@simulator", Verdict: report.Pass, Findings: []report.Finding{}}})
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"agent.json": data, "agent.html": []byte("<page>")} {
		if err := os.WriteFile(filepath.Join(reports, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeScoreboard(reports, docs); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(docs, "scoreboard.md"))
	if err != nil || !strings.Contains(string(text), "| <code>agent 2</code> | openai | mitm | 1 | [1 pass](scoreboard/agent.html) |") {
		t.Errorf("%s %v", text, err)
	}
	for _, name := range []string{"scoreboard.json", "scoreboard/agent.html"} {
		if _, err := os.Stat(filepath.Join(docs, name)); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(reports, "agent.html"), make([]byte, maxPage+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeScoreboard(reports, docs); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(filepath.Join(docs, "scoreboard.md"))
	if err != nil || !strings.Contains(string(text), "| 1 pass |") {
		t.Errorf("with a large page: %s %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(docs, "scoreboard", "agent.html")); !os.IsNotExist(err) {
		t.Errorf("a large page is kept: %v", err)
	}
}
