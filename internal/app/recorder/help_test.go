package recorder_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder"
)

// TestHelpFits holds that no help has a line that a terminal breaks, and that each command shows how it is called.
func TestHelpFits(t *testing.T) {
	commands := 0
	cli.WalkCommands(recorder.Command(), func(cmd *cobra.Command) {
		if cmd.Hidden || !cmd.HasParent() {
			return
		}
		if commands++; cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s: its help lacks an example or a summary", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 100 {
				t.Errorf("%s: a line is longer than 100 characters: %s", cmd.CommandPath(), line)
			}
		}
	})
	if commands < 8 {
		t.Errorf("%d commands", commands)
	}
}
