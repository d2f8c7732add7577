package freetext

import (
	"strings"
	"testing"

	_ "github.com/meerkat-go/conformance/wires/all"
)

// escapings are ways in which a text stands in a message.
var escapings = map[string]func(string) string{
	"plain":   func(s string) string { return s },
	"in JSON": escapeOnce,
	"in JSON in JSON": func(s string) string {
		return escapeOnce(escapeOnce(s))
	},
}

func escapeOnce(s string) string {
	return `{"output":"` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`, "\t", `\t`).Replace(s) + `"}`
}

// found returns what a search finds, each value behind the id of its rule.
func found(text string) string {
	var out []string
	secrets, _ := Search([]byte(text))
	for _, s := range secrets {
		out = append(out, s.Rule+" "+string(s.Value.In([]byte(text))))
	}
	return strings.Join(out, ", ")
}

// Each rule finds the secret of its example, at any depth of escapes.
func TestExamples(t *testing.T) {
	for _, r := range append(loadRules().all, tableRule) {
		before, rest, _ := strings.Cut(r.Example, "‹")
		secret, after, _ := strings.Cut(rest, "›")
		for name, escape := range escapings {
			if got, want := found(escape(before+secret+after)), r.ID+" "+secret; got != want {
				t.Errorf("%s, %s: found %q, want %q", r.ID, name, got, want)
			}
		}
	}
}

// FuzzSearch holds that any text can be searched, and that what is found lies in it.
func FuzzSearch(f *testing.F) {
	for _, r := range loadRules().all {
		f.Add(strings.NewReplacer("‹", "", "›", "").Replace(r.Example))
	}
	f.Add("My password is " + strings.Repeat("a b, ", 80) + "tangerine-9-lamp")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, escapeOnce(text)} {
			secrets, _ := Search([]byte(text))
			for _, s := range secrets {
				if s.Value.Start >= s.Value.End || s.Value.Start < 0 || s.Value.End > len(text) {
					t.Errorf("%q: %v", text, s)
				}
			}
		}
	})
}
