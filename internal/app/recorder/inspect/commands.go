// Package inspect is the part of the command line of recorder that looks into
// cassettes: inspect, diff, textconv and verify. It also gives the refresh of a
// cassette the words for what changed.
package inspect

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

type app struct{ *recorderenv.Env }

// Commands returns the commands of this package.
func Commands(env *recorderenv.Env) []*cobra.Command {
	a := &app{env}
	return []*cobra.Command{a.inspectCommand(), a.diffCommand(), a.textconvCommand(), a.verifyCommand()}
}
