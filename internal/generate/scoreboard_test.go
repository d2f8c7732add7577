package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/inspector"
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
	page := inspector.NewBuilder(inspector.Options{Share: true}).Page(inspector.RunHead(run))
	var html bytes.Buffer
	if err := inspector.Write(&html, page); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"agent.json": data, "agent.html": html.Bytes()} {
		if err := os.WriteFile(filepath.Join(reports, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeScoreboard(reports, docs); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(docs, "scoreboard.md"))
	if err != nil || !strings.Contains(string(text), "| <code>agent 2</code> | openai | mitm | 1 | [1 pass](scoreboard/agent.html#/matrix?area=ORD&ingress=mitm&provider=openai) |") {
		t.Errorf("%s %v", text, err)
	}
	if !strings.Contains(string(text), "\nMade on 1970-01-01.\n") {
		t.Errorf("no day: %s", text)
	}
	for _, name := range []string{"scoreboard.json", "scoreboard/agent.html"} {
		if _, err := os.Stat(filepath.Join(docs, name)); err != nil {
			t.Error(err)
		}
	}
	// What a page without hashes holds is not published.
	html.Reset()
	page.Shared = false
	if err := inspector.Write(&html, page); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(reports, "agent.html"), html.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeScoreboard(reports, docs); err == nil || !strings.Contains(err.Error(), "write it with --share") {
		t.Errorf("with a page that holds content: %v", err)
	}
}
