package recorder

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// human is where tables for people go: to the terminal, or to stderr when
// stdout is a pipe, which carries nothing but machine output (DESIGN §6).
func (a *app) human() io.Writer {
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return a.stdout
	}
	return a.stderr
}

func (a *app) json(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s: name one cassette", cmd.Name())
	}
	return nil
}

func (a *app) recoverCommand() *cobra.Command {
	return &cobra.Command{
		Use: "recover F", Short: "Finish a recording that was interrupted, with what is whole", Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			kept, err := cassette.Recover(args[0])
			if err != nil {
				return usage("%w", err)
			}
			path := strings.TrimSuffix(args[0], ".partial")
			a.say("%s: %s kept", path, interactions(kept))
			if tape, err := cassette.Open(path); err == nil {
				a.sayLoss(tape)
			}
			return nil
		},
	}
}
