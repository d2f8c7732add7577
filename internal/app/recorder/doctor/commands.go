// Package doctor is the recorder command that proves that clients can be
// intercepted on this machine.
package doctor

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

type app struct{ *recorderenv.Env }

// Commands returns the commands of this package.
func Commands(env *recorderenv.Env) []*cobra.Command {
	a := &app{env}
	return []*cobra.Command{a.doctorCommand()}
}
