package simulator

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
)

// At live a request that strict refuses is answered, and noted on the reply and to
// the log; at strict it is refused.
func TestLiveNotes(t *testing.T) {
	for provider, c := range map[string]struct{ path, body, rule, words string }{
		"anthropic": {"/anthropic/v1/messages",
			`{"model":"claude-opus-5","max_tokens":99,"brand_new":1,"messages":[{"role":"user","content":"hi"}]}`,
			"A-5", "brand_new: Extra inputs are not permitted"},
		"openai": {"/openai/v1/responses", `{"model":"gpt-5.2","input":"hi","brand_new":1}`, "O-4",
			"Unknown parameter: 'brand_new'."},
		"gemini": {"/gemini/v1beta/models/gemini-3-flash-preview:generateContent",
			`{"contents":[{"parts":[{"text":"hi"}]}],"brandNew":1}`, "G-3",
			`Invalid JSON payload received. Unknown name "brandNew": Cannot find field.`},
	} {
		var told []Note
		w := answer(t, New(Config{Level: rule.Live, Note: func(n Note) { told = append(told, n) }}), "POST",
			c.path, c.body)
		if w.Code != 200 || w.Header().Get(NoteHeader) != c.rule+": "+c.words {
			t.Errorf("%s at live: %d, note %q", provider, w.Code, w.Header().Get(NoteHeader))
		}
		if len(told) != 1 || told[0].Provider != provider || told[0].Rule != c.rule || told[0].Words != c.words ||
			!strings.HasSuffix(c.path, told[0].Path) {
			t.Errorf("%s: told %+v", provider, told)
		}
		if w := answer(t, New(Config{}), "POST", c.path, c.body); w.Code != 400 || w.Header().Get(NoteHeader) != "" {
			t.Errorf("%s at strict: %d", provider, w.Code)
		}
		body := strings.NewReplacer(`,"brand_new":1`, "", `"brand_new":1,`, "", `,"brandNew":1`, "").Replace(c.body)
		if w := answer(t, New(Config{Level: rule.Live}), "POST", c.path, body); w.Code != 200 ||
			w.Header().Get(NoteHeader) != "" {
			t.Errorf("%s, nothing to note: %d %q", provider, w.Code, w.Header().Get(NoteHeader))
		}
	}
}
