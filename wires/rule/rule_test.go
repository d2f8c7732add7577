package rule

import "testing"

func TestFirst(t *testing.T) {
	refuse := func(text string) func(int, Env) *Refusal {
		return func(n int, _ Env) *Refusal {
			if n == 0 {
				return nil
			}
			return &Refusal{Message: text}
		}
	}
	rules := []Rule[int]{
		{Info: Info{ID: "A", Least: Strict}, Broken: refuse("first")},
		{Info: Info{ID: "B", Least: Live}, Broken: refuse("second")},
		{Info: Info{ID: "C", Least: Lenient}, Broken: refuse("third")},
	}
	for _, tt := range []struct {
		request int
		env     Env
		want    string
	}{
		{1, Env{Level: Strict}, "A: first"},
		{1, Env{Level: Strict, Off: map[string]bool{"A": true}}, "B: second"},
		{1, Env{Level: Live}, "B: second"},
		{1, Env{Level: Lenient}, "C: third"},
		{0, Env{}, ""},
	} {
		got := ""
		if r := First(rules, tt.request, tt.env); r != nil {
			got = r.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.env, got, tt.want)
		}
	}
	if infos := Infos(rules); len(infos) != 3 || infos[1].ID != "B" {
		t.Errorf("infos %+v", infos)
	}
}

func TestLevels(t *testing.T) {
	for level, name := range map[Level]string{Strict: "strict", Live: "live", Lenient: "lenient"} {
		if got, err := ParseLevel(name); err != nil || got != level || level.String() != name {
			t.Errorf("%s: %v, %v, written %s", name, got, err, level)
		}
	}
	if _, err := ParseLevel("harsh"); err == nil {
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
		if got := ModelInPath(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
