package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestRuleCoverage holds that each rule is enforced on both sides or has a reason, that no
// reason outlives its gap, and that docs/rule-coverage.md says so.
func TestRuleCoverage(t *testing.T) {
	rules, err := coverRules()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, c := range rules {
		for _, id := range c.IDs {
			used[id] = true
		}
		switch {
		case c.needsReason() && c.Reason == "":
			t.Errorf("%s: known to %s; say why in rulesByReason", c.IDs[0], c.side())
		case !c.needsReason() && c.Reason != "":
			t.Errorf("%s: known to %s; take its reason out of rulesByReason", c.IDs[0], c.side())
		}
	}
	for id := range reasonsByRule() {
		if !used[id] {
			t.Errorf("rulesByReason: %s is no rule", id)
		}
	}
	duties, err := specs.Duties()
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile("../../docs/" + dutiesFile); err != nil || !bytes.Equal(is, dutiesPage(duties)) {
		t.Errorf("docs/%s is out of date (%v); run: go run ./internal/generate rules", dutiesFile, err)
	}
	if is, err := os.ReadFile("../../docs/rule-coverage.md"); err != nil || !bytes.Equal(is, rulesPage(rules)) {
		t.Errorf("docs/rule-coverage.md is out of date (%v); run: go run ./internal/generate rules", err)
	}
}

func TestRuleSides(t *testing.T) {
	judged := []string{"ORD-001"}
	for _, c := range []struct {
		rule coveredRule
		side string
		gap  bool
	}{
		{coveredRule{Enforced: true, Requirements: judged}, "both", false},
		{coveredRule{Enforced: true}, "simulator", true},
		{coveredRule{Requirements: judged}, "referee", true},
		{coveredRule{}, "neither", true},
		{coveredRule{Accepted: true}, "accepted", false},
	} {
		if c.rule.side() != c.side || c.rule.needsReason() != c.gap {
			t.Errorf("%+v: %s, gap %v", c.rule, c.rule.side(), c.rule.needsReason())
		}
	}
	page := rulesPage([]coveredRule{{WireRule: specs.WireRule{IDs: []string{"A-1"}, Section: "5.1 A"}, Reason: "x|y"}})
	if !strings.Contains(string(page),
		"1 rules: 0 on both sides, 0 of the simulator only, 0 of the referee only, 1 of neither") ||
		!strings.Contains(string(page), `| A-1 |  |  |  | x\|y |`) {
		t.Error(string(page))
	}
}
