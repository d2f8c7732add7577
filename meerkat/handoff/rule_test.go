package handoff

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const wireRules = "../../specs/wire-rules.md"

// TestRulesAreDocumented holds that each rule has a name of its own and a
// sentence, and that the documents list the same rules in the same words.
func TestRulesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(wireRules)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var rows []string
	for _, r := range Rules() {
		if seen[r.Name] {
			t.Errorf("%s: two rules have this name", r.Name)
		}
		seen[r.Name] = true
		if !strings.HasSuffix(r.Sentence, ".") {
			t.Errorf("%s: %q is not a sentence", r.Name, r.Sentence)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", r.Name, r.Sentence, strings.Join(r.Provider, ", ")))
	}
	for _, r := range replyRules {
		if !seen[r.Name] {
			t.Errorf("%s: a step of no rule", r.Name)
		}
	}
	if want := strings.Join(rows, "\n"); !strings.Contains(string(text), want) {
		t.Errorf("%s must list the rules as they are:\n%s", wireRules, want)
	}
}
