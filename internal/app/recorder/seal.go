package recorder

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

func (a *app) sealCommand() *cobra.Command {
	var exempt []string
	cmd := &cobra.Command{
		Use: "seal F", Short: "Seal a cassette again that was edited by hand, and say what was changed", Args: OneFile,
		Example: "  recorder seal loop.yaml",
		Long: `Seal a cassette again that was edited by hand, and say what was changed: which interactions are
new, different, moved or gone. The seals do not hold the old text, so a version control system shows how.

Where a body has another length, its Content-Length and its chunks follow. An interaction that holds a key
is refused, and nothing is written.`,
		RunE: func(_ *cobra.Command, args []string) error { return a.sealFile(args[0], exempt) },
	}
	AddExempt(cmd.Flags(), &exempt)
	return cmd
}

func (a *app) sealFile(path string, exempt []string) error {
	if err := CheckExempt(exempt); err != nil {
		return err
	}
	guard := gate.New(exempt...)
	for _, secret := range redact.EnvironmentSecrets(a.Environ) {
		guard.Learn(secret)
	}
	var refused error
	edited, err := cassette.Reseal(path, func(i int, in cassette.Interaction) error {
		if why := guard.Check(in); why != nil {
			refused = fmt.Errorf("%s: interaction %d: %w", path, i, why)
		}
		return refused
	})
	for _, change := range edited.Changes {
		fmt.Fprintf(a.Stdout, "%s: %s\n", terminal.Line(path), change)
	}
	switch {
	case refused != nil:
		a.Say("not sealed: %v", refused)
		return cli.Exit(ExitGate)
	case err != nil:
		return cli.Usage("%w", err)
	case len(edited.Changes) == 0:
		a.Note("%s: is as it was sealed", path)
	default:
		a.Note("%s: %s sealed again", path, Interactions(edited.Interactions))
	}
	return nil
}

func (a *app) recoverCommand() *cobra.Command {
	return &cobra.Command{
		Use: "recover F", Short: "Finish a recording that was interrupted, with what is whole", Args: OneFile,
		Example: "  recorder recover loop.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			done := a.ShowElapsed("recovering " + args[0])
			kept, err := cassette.Recover(args[0])
			done()
			if err != nil {
				return cli.Usage("%w", err)
			}
			path := strings.TrimSuffix(args[0], ".partial")
			a.Note("%s: %s kept", path, Interactions(kept))
			if loss, err := cassette.LossIn(path); err == nil && loss != (cassette.Loss{}) {
				a.Say("%s: is incomplete: %v", path, loss)
			}
			return nil
		},
	}
}
