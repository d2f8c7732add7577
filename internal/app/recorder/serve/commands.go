// Package serve holds the commands of recorder that start a proxy or a simulator:
// run, record, replay, refresh, pass and simulate. doctor starts a proxy, too, to
// prove that clients can be intercepted on this machine.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

// Commands returns the commands of this package.
func Commands(env *recorderenv.Env) []*cobra.Command {
	a := &app{Env: env}
	return []*cobra.Command{a.runCommand(), a.recordCommand(), a.replayCommand(), a.refreshCommand(), a.passCommand(), a.simulateCommand(), a.doctorCommand()}
}
