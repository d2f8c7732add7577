// Package recorderenv is what the commands of recorder share: the user's folder with the
// authority and the key of the pseudonyms, redaction and its gate, programs that run with the
// proxy in their environment, and reports of how a recording went. Start with [Env].
package recorderenv

import (
	"github.com/meerkat-go/conformance/internal/app/cli"
)

// Exit codes; cli.ExitCodes says what they mean.
const (
	ExitOK         = 0
	ExitGate       = 1 // unused, missed, or a secret found
	ExitUsage      = 2 // the command line, or what it names
	ExitIncomplete = 3 // the recording lacks something
	ExitInternal   = 4
)

// Env is what all commands share: the frame of the command line, with the environment, and
// methods for the user's folder and for redaction.
type Env struct {
	*cli.Frame
}
