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
	asJSON := false
	cmd := &cobra.Command{
		Use: "seal F", Short: "Seal a cassette again that was edited by hand, and say what was changed", Args: OneFile,
		Example: "  recorder seal loop.yaml",
		Long: `Seal a cassette again that was edited by hand, and say what was changed:
which interactions are new, different, moved or gone. The seals do not hold the old text,
so a version control system shows how.

Where a body has another length, its Content-Length and its chunks follow. An interaction
that holds a key is refused, and nothing is written. --json prints recorder.written.v1.`,
		RunE: func(_ *cobra.Command, args []string) error { return a.sealFile(args[0], exempt, asJSON) },
	}
	AddExempt(cmd.Flags(), &exempt)
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) sealFile(path string, exempt []string, asJSON bool) error {
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
	if !asJSON {
		for _, change := range edited.Changes {
			fmt.Fprintf(a.Stdout, "%s: %s\n", terminal.Line(path), change)
		}
	}
	done := written{Path: path, Interactions: edited.Interactions, Changes: edited.Changes}
	switch {
	case refused != nil:
		a.Say("not sealed: %v", refused)
		return cli.Exit(ExitGate)
	case err != nil:
		return cli.Usage("%w", err)
	case len(edited.Changes) == 0:
		return a.SayWritten(asJSON, done, "%s: is as it was sealed", path)
	default:
		return a.SayWritten(asJSON, done, "%s: %s sealed again", path, Interactions(edited.Interactions))
	}
}

func (a *app) recoverCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "recover F", Short: "Finish a recording that was interrupted, with what is whole", Args: OneFile,
		Example: "  recorder recover loop.yaml",
		Long:    "Finish a recording that was interrupted, with what is whole.\n\n--json prints recorder.written.v1.",
		RunE: func(_ *cobra.Command, args []string) error {
			done := a.ShowElapsed("recovering " + args[0])
			kept, err := cassette.Recover(args[0])
			done()
			if err != nil {
				return cli.Usage("%w", err)
			}
			path := strings.TrimSuffix(args[0], ".partial")
			result := written{Path: path, Interactions: kept}
			loss, err := cassette.LossIn(path)
			isIncomplete := err == nil && loss != (cassette.Loss{})
			if isIncomplete {
				result.Lost = []string{loss.String()}
			}
			err = a.SayWritten(asJSON, result, "%s: %s kept", path, Interactions(kept))
			if isIncomplete {
				a.Say("%s: is incomplete: %v", path, loss)
			}
			return err
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}
