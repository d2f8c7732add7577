// Package inspect holds the commands of recorder that read files: inspect, diff, textconv and
// verify look into cassettes; import, export, recover and seal make one file from another. Package
// serve uses its output for what a refresh of a cassette changed.
package inspect

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

type app struct{ *recorderenv.Env }

// Commands returns the commands of this package.
func Commands(env *recorderenv.Env) []*cobra.Command {
	a := &app{env}
	return []*cobra.Command{a.inspectCommand(), a.diffCommand(), a.textconvCommand(), a.verifyCommand(),
		a.importCommand(), a.exportCommand(), a.recoverCommand(), a.sealCommand()}
}
