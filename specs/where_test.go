package specs

import (
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// TestConsequenceAt holds that the first row that matches decides, and what a row
// matches.
func TestConsequenceAt(t *testing.T) {
	var r Requirement
	if err := yaml.Unmarshal([]byte(`
consequence: refused
since: "2026-01-10"
where:
  - {models: "claude < 4.6", consequence: none}
  - {provider: [anthropic], checks: [X/a], consequence: wasteful}
  - {host: other, consequence: none}
  - {provider: [gemini], until: "2026-03-01", consequence: degraded}
  - {provider: [gemini], since: "2026-05-01", consequence: unsafe}
`), &r); err != nil {
		t.Fatal(err)
	}
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		name string
		at   Place
		want Consequence
	}{
		{"no row", Place{Provider: "anthropic", Model: "claude-opus-4-6", Check: "X/b"}, Refused},
		{"by model", Place{Provider: "anthropic", Model: "claude-opus-4-5-20251101", Check: "X/b"}, None},
		{"the first row that matches", Place{Provider: "anthropic", Model: "claude-opus-4-5", Check: "X/a"}, None},
		{"by provider and check", Place{Provider: "anthropic", Model: "claude-opus-4-6", Check: "X/a"}, Wasteful},
		{"by provider only", Place{Provider: "openai", Model: "gpt-6", Check: "X/a"}, Refused},
		{"by host", Place{Provider: "openai", Model: "gpt-6", Check: "X/b", OtherHost: true}, None},
		{"before the rule", Place{Provider: "openai", Date: day("2026-01-09")}, None},
		{"the first day", Place{Provider: "openai", Date: day("2026-01-10")}, Refused},
		{"before the end of a row", Place{Provider: "gemini", Date: day("2026-02-28")}, Degraded},
		{"the day of the end", Place{Provider: "gemini", Date: day("2026-03-01")}, Refused},
		{"since the start of a row", Place{Provider: "gemini", Date: day("2026-05-01")}, Unsafe},
		{"an unknown day is today", Place{Provider: "gemini"}, Unsafe},
		{"an unknown model", Place{Provider: "anthropic", Model: "claude-next"}, Refused},
	} {
		if got := r.ConsequenceAt(c.at); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestModelPredicate(t *testing.T) {
	for _, c := range []struct {
		predicate, yes, no string
	}{
		{"claude >= 4.7", "claude-opus-4-7", "claude-opus-4-6"},
		{"claude >= 4.7", "us.anthropic.claude-sonnet-5-20260101-v1:0", "claude-opus-4-20250514"},
		{"claude < 4.7", "claude-3-7-sonnet-20250219", "claude-mythos"},
		{"claude = 4.5", "claude-sonnet-4-5@20250929", "claude-sonnet-4-6"},
		{"claude > 4.5 <= 5.1", "claude-fable-5-1", "claude-opus-5-5"},
		{"claude opus >= 5.5 or claude fable >= 5.1", "claude-fable-5-1", "claude-sonnet-5-5"},
		{"claude opus >= 5.5 or claude fable >= 5.1", "claude-opus-5-5", "claude-opus-5"},
		{"gemini < 3", "models/gemini-2.5-pro", "models/gemini-3-pro-preview"},
		{"gemini >= 3 !image", "gemini-3.1-pro-preview", "gemini-3-pro-image-preview"},
		{"gemini", "gemini-flash-latest", "gpt-5"},
		{"gpt >= 5.4", "gpt-6-astra", "gpt-5.2-codex"},
		{"o >= 3", "o4-mini-2025-04-16", "gpt-4o"},
		{"", "anything", ""},
	} {
		var p ModelPredicate
		if c.predicate != "" {
			var err error
			if p, err = ParseModelPredicate(c.predicate); err != nil {
				t.Fatal(err)
			}
		}
		if !p.Matches(ParseModel(c.yes)) || c.no != "" && p.Matches(ParseModel(c.no)) {
			t.Errorf("%q: %s %v, %s %v", c.predicate, c.yes, p.Matches(ParseModel(c.yes)), c.no,
				p.Matches(ParseModel(c.no)))
		}
	}
}

// TestParseModel holds that names of one model have one bare form.
func TestParseModel(t *testing.T) {
	for bare, names := range map[string][]string{
		"claude-sonnet-4-5": {"claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5",
			"eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"},
		"gemini-2.5-pro": {"models/gemini-2.5-pro", "gemini-2.5-pro-001", "gemini-2.5-pro-latest"},
		"gpt-5.2":        {"gpt-5.2-2025-12-11", "openai/gpt-5.2"},
	} {
		for _, name := range names {
			if got := ParseModel(name).Bare; got != bare {
				t.Errorf("%s: %s, want %s", name, got, bare)
			}
		}
	}
	if a, b := ParseModel("gpt-5.2-codex").Bare, ParseModel("gpt-5.2").Bare; a == b {
		t.Error("two models have one bare name")
	}
}

func TestConsequences(t *testing.T) {
	for c, fails := range map[Consequence]bool{Refused: true, Unsafe: true, Degraded: false, Wasteful: false} {
		if c.IsFailure() != fails || c.Meaning() == "" {
			t.Errorf("%s: %v %q", c, c.IsFailure(), c.Meaning())
		}
	}
}
