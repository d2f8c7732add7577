package rule_test

import (
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
)

func TestFirst(t *testing.T) {
	refuse := func(text string) func(int, rule.Env) *rule.Refusal {
		return func(n int, _ rule.Env) *rule.Refusal {
			if n == 0 {
				return nil
			}
			return &rule.Refusal{Message: text}
		}
	}
	rules := []rule.Rule[int]{
		{Info: rule.Info{ID: "A", Least: rule.Strict}, Broken: refuse("first")},
		{Info: rule.Info{ID: "B", Least: rule.Live}, Broken: refuse("second")},
		{Info: rule.Info{ID: "C", Least: rule.Lenient}, Broken: refuse("third")},
	}
	for _, tt := range []struct {
		request int
		env     rule.Env
		want    string
	}{
		{1, rule.Env{Level: rule.Strict}, "A: first"},
		{1, rule.Env{Level: rule.Strict, Off: map[string]bool{"A": true}}, "B: second"},
		{1, rule.Env{Level: rule.Live}, "B: second"},
		{1, rule.Env{Level: rule.Lenient}, "C: third"},
		{0, rule.Env{}, ""},
	} {
		got := ""
		if r := rule.First(rules, tt.request, tt.env); r != nil {
			got = r.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.env, got, tt.want)
		}
	}
	if infos := rule.Infos(rules); len(infos) != 3 || infos[1].ID != "B" {
		t.Errorf("infos %+v", infos)
	}
}

func TestLevels(t *testing.T) {
	for level, name := range map[rule.Level]string{rule.Strict: "strict", rule.Live: "live", rule.Lenient: "lenient"} {
		if got, err := rule.ParseLevel(name); err != nil || got != level || level.String() != name {
			t.Errorf("%s: %v, %v, written %s", name, got, err, level)
		}
	}
	if _, err := rule.ParseLevel("harsh"); err == nil {
		t.Error("another level is known")
	}
}

// TestModelInPath: the name of a model ends before the version that Bedrock counts, however it is escaped.
func TestModelInPath(t *testing.T) {
	for address, want := range map[string]string{
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-opus-4-6-v1:0/invoke":   "anthropic.claude-opus-4-6-v1",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-opus-4-6-v1%3A0/invoke": "anthropic.claude-opus-4-6-v1",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/arn:aws:bedrock:us-east-1/invoke":        "",
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:generateContent":        "gemini-3-flash",
		"https://api.anthropic.com/v1/messages":                                                         "",
	} {
		if got := rule.ModelInPath(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
