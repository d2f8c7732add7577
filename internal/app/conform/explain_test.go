package conform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

// TestExplainKnowsEveryID walks what our programs print and looks each id up.
func TestExplainKnowsEveryID(t *testing.T) {
	g := newGlossary()
	for from, ids := range map[string][]string{
		"requirements": requirementIDs(t), "findings": findingIDs(t), "the simulator": simulatorIDs(),
		"verdicts": verdictNames(), "exit codes": exitCodes(), "hand-off": handoffNames(),
	} {
		if len(ids) < len(report.Verdicts) {
			t.Errorf("%s: only %d ids", from, len(ids))
		}
		for _, id := range ids {
			if _, err := g.find(id); err != nil {
				t.Errorf("%s: %v", from, err)
			}
		}
	}
}

// ruleID is the form of the ids of specs/wire-rules.md.
var ruleID = regexp.MustCompile(`\b(?:[AOGD]-\d{1,2}|(?:ANT|OAI|GEM)-[A-Z]\d{1,2}|[RHDEX]\d{1,2})\b`)

// requirementIDs lists what conform list, explain, selftest and reports name.
func requirementIDs(t *testing.T) (ids []string) {
	t.Helper()
	all, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		ids = append(append(append(ids, r.ID), r.Checks...), r.Mutants...)
		for _, s := range r.Sources {
			ids = append(ids, ruleID.FindAllString(s.Section, -1)...)
		}
	}
	return ids
}

// findingIDs lists the rules that checks cite, from the literals of their code.
func findingIDs(t *testing.T) (ids []string) {
	t.Helper()
	files, err := filepath.Glob("../../../conform/check/*.go")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`"(?:[AOGD]-\d{1,2}|(?:ANT|OAI|GEM)-[A-Z]\d{1,2}|§[\d.]+)"`)
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, quoted := range literal.FindAllString(string(code), -1) {
			ids = append(ids, strings.Trim(quoted, `"`))
		}
	}
	return ids
}

func simulatorIDs() (ids []string) {
	for _, provider := range simulator.Providers() {
		for _, r := range append(simulator.Rules(provider), simulator.Accepted(provider)...) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func verdictNames() (names []string) {
	for _, v := range report.Verdicts {
		names = append(names, string(v))
	}
	return names
}

func exitCodes() (ids []string) {
	for _, c := range cli.ExitCodes("") {
		ids = append(ids, fmt.Sprintf("%s:%d", c.Program, c.Code), fmt.Sprintf("exit-%d", c.Code),
			fmt.Sprintf("%s exit %d", c.Program, c.Code), fmt.Sprint(c.Code))
	}
	return ids
}

func handoffNames() (names []string) {
	for _, r := range handoff.Rules() {
		names = append(append(names, r.Name), r.Provider...)
	}
	return names
}

// TestExplainEntries holds that every explanation can be written in both forms
// and that links lead to entries and back.
func TestExplainEntries(t *testing.T) {
	g := newGlossary()
	for _, e := range g.entries {
		var text, doc bytes.Buffer
		writeEntry(&text, e)
		if e.Title == "" || !strings.HasPrefix(text.String(), e.ID+"  ") {
			t.Errorf("%s %s: %q", e.Kind, e.ID, text.String())
		}
		if err := report.WriteJSON(&doc, explanation{report.ExplainSchema, []*entry{e}}); err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate(schemas.Explain, doc.Bytes()); err != nil {
			t.Errorf("%s: %v", e.ID, err)
		}
		for _, c := range e.Cites {
			to, err := g.find(c.ID)
			if err != nil || !slices.ContainsFunc(to, func(to *entry) bool { return cites(to.CitedBy, e.ID) }) {
				t.Errorf("%s cites %s, which does not say so", e.ID, c.ID)
			}
		}
	}
}

func cites(list []citedID, id string) bool {
	for _, c := range list {
		if c.ID == id {
			return true
		}
	}
	return false
}

func TestExplainLinks(t *testing.T) {
	g := newGlossary()
	for _, c := range []struct{ from, to string }{
		{"SIG-001", "A-34"}, {"R44", "A-41"}, {"A-16", "A-15"}, {"thinking-tool-loop", "SIG-001"},
		{"drop-thinking", "SIG-002"},
		{"SIG-001/signature-bytes", "SIG-001"}, {"RES-003", "R44"},
		{"not-testable", "conform:3"}, {"torn-reply", "A-37"}, {"STR-004", "§3.2"},
	} {
		e, err := g.find(c.from)
		if err != nil || !cites(e[0].Cites, c.to) {
			t.Errorf("%s does not cite %s: %v", c.from, c.to, err)
		}
	}
}

func TestExplainUnknown(t *testing.T) {
	g := newGlossary()
	for name, want := range map[string]string{"SGI-001": "SIG-001", "ORD-0001": "ORD-001",
		"not-testible": "not-testable"} {
		if _, err := g.find(name); err == nil ||
			!strings.HasPrefix(err.Error(), name+": no such id; did you mean "+want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
