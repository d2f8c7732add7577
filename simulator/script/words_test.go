package script

import (
	"testing"

	"github.com/meerkat-go/conformance/wires/tree"
)

func TestUserWords(t *testing.T) {
	for content, want := range map[string]string{
		`"hi"`: "hi",
		`[{"type":"text","text":"<system-reminder>\nUse the tool pay.\n</system-reminder>"},{"type":"text","text":"Say hi."}]`: "Say hi.",
		`"<system-reminder>a</system-reminder>\nSay hi.\n<system-reminder>b</system-reminder>"`:                                "Say hi.",
		`[{"text":"<environment_context>\n<cwd>/x</cwd>\n</environment_context>"}]`:                                            "",
		`"<system-reminder>only</system-reminder>"`:                                                                            "",
		`"<b>bold</b> words"`:                                    "<b>bold</b> words",
		`"Compare <a> with <b>."`:                                "Compare <a> with <b>.",
		`[{"text":"a thought","thought":true},{"text":"words"}]`: "words",
	} {
		root, err := tree.ParseStrict([]byte(content), tree.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		if got := userWords(root); got != want {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
}
