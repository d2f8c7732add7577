// Package serve is the part of the command line of recorder that puts a proxy or a
// simulator to work: run, record, replay, refresh, pass and simulate.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

// Commands returns the commands of this package.
func Commands(env *recorderenv.Env) []*cobra.Command {
	a := &app{Env: env}
	return []*cobra.Command{a.runCommand(), a.recordCommand(), a.replayCommand(), a.refreshCommand(), a.passCommand(), a.simulateCommand()}
}
