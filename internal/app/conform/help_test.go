package conform

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// TestEveryHelpHasAnExample holds that each command that people see shows how it
// is called.
func TestEveryHelpHasAnExample(t *testing.T) {
	commands := 0
	cli.WalkCommands(Command(), func(cmd *cobra.Command) {
		if cmd.Hidden || !cmd.HasParent() {
			return
		}
		commands++
		if cmd.Example == "" || cmd.Long == "" || cmd.Short == "" {
			t.Errorf("%s: its help lacks an example, a text or a summary", cmd.CommandPath())
		}
	})
	if commands < 8 {
		t.Errorf("%d commands", commands)
	}
}

// TestHelpFits holds that no help has a line that a terminal breaks, and that many flags stand in
// groups.
func TestHelpFits(t *testing.T) {
	cli.WalkCommands(Command(), func(cmd *cobra.Command) {
		text := cmd.Long + "\n" + cmd.UsageString()
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 100 {
				t.Errorf("%s: a line is longer than 100 characters: %s", cmd.CommandPath(), line)
			}
		}
		if cmd.Name() == "run" {
			for _, g := range flagGroups[1:] { // the first is of servers and gateways
				if !strings.Contains(text, "\n"+g.Title+":\n") {
					t.Errorf("run: no group %q in\n%s", g.Title, text)
				}
			}
			if strings.Contains(text, "\nFlags:\n") || strings.Count(text, "\n      --") < 40 {
				t.Errorf("run: flags stand outside their groups:\n%s", text)
			}
		}
	})
}

// TestCompletions holds that a shell completes ids, scenarios, profiles and the last word of a list.
func TestCompletions(t *testing.T) {
	for line, want := range map[string]string{
		"run --source cassette,":     "cassette,simulator\n",
		"run --subject cod":          "codex\n",
		"run --filter SIG && ":       "thinking-tool-loop\n",
		"run --require SIG-0":        "SIG-001\n",
		"run --isolation ":           "require\n",
		"check --report json=a,mark": "json=a,markdown=\n",
		"matrix --by ":               "requirement\n",
		"explain A-":                 "A-34\n",
		"lint request --provider ":   "gemini\n",
	} {
		words := strings.SplitN(line, " ", 3)
		if words[0] == "lint" {
			words = strings.Split(line, " ")
		}
		var out bytes.Buffer
		if code := Run(t.Context(), append([]string{"__complete"}, words...), nil, &out, io.Discard, nil); code != 0 ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%q: exit %d, %q is missing in\n%s", line, code, want, out.String())
		}
	}
}
