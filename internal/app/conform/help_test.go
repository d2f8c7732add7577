package conform

import (
	"testing"

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
