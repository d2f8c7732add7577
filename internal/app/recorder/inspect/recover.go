package inspect

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

func (a *app) recoverCommand() *cobra.Command {
	return &cobra.Command{
		Use: "recover F", Short: "Finish a recording that was interrupted, with what is whole", Args: recorderenv.OneFile,
		Example: "  recorder recover loop.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			done := a.ShowElapsed("recovering " + args[0])
			kept, err := cassette.Recover(args[0])
			done()
			if err != nil {
				return cli.Usage("%w", err)
			}
			path := strings.TrimSuffix(args[0], ".partial")
			a.Note("%s: %s kept", path, recorderenv.Interactions(kept))
			if loss, err := cassette.LossIn(path); err == nil && loss != (cassette.Loss{}) {
				a.Say("%s: is incomplete: %v", path, loss)
			}
			return nil
		},
	}
}
