package replay

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/redact"
)

// A cassette in which an older build redacted what is not a secret to this one (a folder, an
// argument called token) still answers at exact. Where it was several words: at the level that leaves
// them out, and at exact with the rule that redacts as that build did.
func TestBroaderRedactionOfAnOlderBuild(t *testing.T) {
	const now = `{"model":"m","stream":true,"system":"You work in /srv/heron/project.","messages":[{"role":"user","content":"List all my files."},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"a1","name":"ls","input":{"page":"page-7-of-herons"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"x"}]}]}`
	for name, c := range map[string]struct {
		plain string // what the older build replaced
		level Level
	}{
		"in the system prompt":     {"/srv/heron/project", Exact},
		"in an argument":           {"page-7-of-herons", Exact},
		"in the words of the user": {"List all my files", Nth},
	} {
		pseudonym := ("REDACTEDnMaxelnm5tzhz3")[:len(c.plain)]
		recorded := pair(strings.Replace(now, c.plain, pseudonym, 1), "ok")
		isAnswered := func(level Level, rules ...string) bool {
			own, err := redact.ParseOwn(rules, nil)
			if err != nil {
				t.Fatal(err)
			}
			redactor := redact.New([]byte("another user's key"))
			redactor.Use(own)
			p := newReplayer(t, Config{Match: level, Redactor: redactor}, recorded)
			w, _ := ask(p, endpoint, now)
			return w.Code == 200
		}
		for level := Exact; level < levels; level++ {
			if got := isAnswered(level); got != (level >= c.level) {
				t.Errorf("%s: answered %t at %v, want it from %v on", name, got, level, c.level)
			}
		}
		if !isAnswered(Exact, "/"+c.plain+"/") {
			t.Errorf("%s: not answered at exact with the rule /%s/", name, c.plain)
		}
	}
}
