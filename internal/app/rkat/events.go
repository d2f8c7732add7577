package rkat

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/schemas"
)

func (a *app) eventsCommand() *cobra.Command {
	cmd := cli.Group("events", "Describe the lines of --output json-stream", "")
	cmd.Example = "  rkat events schema"
	cmd.AddCommand(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema (draft-07) of the lines of --output json-stream",
		Example: "  rkat events schema > event.schema.json",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := schemas.Source(schemas.RkatEvent)
			if err != nil {
				return err
			}
			if _, err := a.JSON().Write(text); err != nil {
				return fmt.Errorf("stdout: %w", err)
			}
			return nil
		},
	})
	return cmd
}
