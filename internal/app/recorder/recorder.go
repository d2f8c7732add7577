// Package recorder is the command line of the proxy: it reads flags, wires
// proxy/* together and prints. Decisions are made there, not here.
package recorder

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// Exit codes; cli.ExitCodes says what they mean.
const (
	exitOK         = 0
	exitGate       = 1 // unused, missed, or a secret found
	exitUsage      = 2 // the command line, or what it names
	exitIncomplete = 3 // the recording lacks something
	exitInternal   = 4
)

// Run executes one command and returns the process's exit code. env is a list
// of K=V; nothing is read from the process's own environment. When ctx ends, a
// recording is finished and saved. Errors are one line on stderr:
// "recorder: object: what is wrong; what to do".
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	f := cli.New(program, stdin, stdout, stderr, env)
	return f.Run(ctx, Command(f), args) //nolint:contextcheck // commands take theirs from cobra
}

var program = cli.Program{
	Name: "recorder", Short: "Record and replay what an agent and its provider say to each other", Long: long,
	UsageCode: exitUsage, InternalCode: exitInternal,
	Settings: &cli.Settings{Files: []string{"recorder.yaml", ".recorder.yaml"}, Variables: []string{credentialVariable}, Refuse: refuseSecret},
}

type app struct {
	*cli.Frame
	refused    int          // how often a session's proxy refused a host or a caller
	turnedAway atomic.Int64 // how often it said why somebody did not get through
}

const long = `Record and replay what an agent and its provider say to each other.

  recorder run --cassette F -- CMD…       run CMD and record its traffic; in CI, replay it
  recorder run --mode M … -- CMD…         record, record-missing, replay, refresh or pass
  recorder record | replay | refresh --cassette F, recorder pass
                                          the same, for programs started elsewhere
  recorder inspect F [-i N] | diff A B    look into cassettes, compare what they say
  recorder verify PATH…                   check every byte, and that no key is in them
  recorder refresh --check --cassette F   ask the provider again, report drift
  recorder textconv F                     what git diff shows of a cassette
  recorder import F | export F            from and to other tools' recordings
  recorder recover F                      finish a recording that was interrupted
  recorder ca show | export | rotate      the authority that clients must trust
  recorder doctor [-- CMD…]               prove that clients, or CMD, can be intercepted
  recorder simulate [--scenario S]        be the providers, without a key or a network

Every flag can also be set in recorder.yaml (--config) or as RECORDER_FLAG_NAME.
run passes CMD's exit code on when its own is 0.`

// Command returns the tree of commands.
func Command(f *cli.Frame) *cobra.Command {
	a := &app{Frame: f}
	root := f.Root()
	root.AddCommand(a.runCommand(), a.recordCommand(), a.replayCommand(), a.refreshCommand(), a.passCommand(),
		a.inspectCommand(), a.diffCommand(), a.textconvCommand(), a.verifyCommand(), a.recoverCommand(), a.importCommand(), a.exportCommand(), a.caCommand(), a.doctorCommand(), a.simulateCommand())
	return root
}

// refuseSecret says why a value must not stand in a file or a variable of settings.
func refuseSecret(f *cli.Frame, value string) string {
	guard := gate.New()
	for _, secret := range secrets(f.Env) {
		guard.Learn(secret)
	}
	if guard.Check(cassette.Interaction{Request: cassette.Request{URL: value}}) != nil {
		return "holds a secret, which belongs in the environment of the program that needs it"
	}
	return ""
}
