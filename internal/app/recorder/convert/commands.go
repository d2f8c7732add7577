// Package convert is the part of the command line of recorder that turns files
// into other files: import, export and recover.
package convert

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

type app struct{ *recorderenv.Env }

// Commands returns the commands of this package.
func Commands(env *recorderenv.Env) []*cobra.Command {
	a := &app{env}
	return []*cobra.Command{a.importCommand(), a.exportCommand(), a.recoverCommand()}
}
