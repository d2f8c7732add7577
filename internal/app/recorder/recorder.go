// Package recorder is the command line of the proxy: it reads flags, wires
// proxy/* together and prints. Decisions are made there, not here.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/version"
)

// Exit codes (DESIGN §6).
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
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	root := a.command() //nolint:contextcheck // commands take theirs from cobra
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.exit(root.ExecuteContext(ctx))
}

type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	scrub          func(string) string
	given          []string     // flags of the command line
	refused        int          // how often a session's proxy refused a host or a caller
	turnedAway     atomic.Int64 // how often it said why somebody did not get through
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

Exit codes: 0 ok; 1 a gate failed: unused, missed, stale, empty, nothing asked for,
or a secret found; 2 wrong usage; 3 the recording is incomplete; 4 internal. run
passes CMD's code on when its own is 0.`

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:               "recorder",
		Short:             "Record and replay what an agent and its provider say to each other",
		Long:              long,
		Version:           version.String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.configure(cmd) },
	}
	root.PersistentFlags().String("config", "", "`file` of settings named like flags (default recorder.yaml or .recorder.yaml, where there is one)")
	root.SetVersionTemplate("recorder {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: %v; run: %s --help", cmd.Name(), err, cmd.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.runCommand(), a.recordCommand(), a.replayCommand(), a.refreshCommand(), a.passCommand(),
		a.inspectCommand(), a.diffCommand(), a.textconvCommand(), a.verifyCommand(), a.recoverCommand(), a.importCommand(), a.exportCommand(), a.caCommand(), a.doctorCommand(), a.simulateCommand())
	return root
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usage("%s: unknown command; one of %s", args[0], strings.Join(names, ", "))
}

// failure is an error with the exit code it ends in. Without a text all has
// been said.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// gateFailed is a failure of what was asked to hold.
func gateFailed(format string, args ...any) error {
	return &failure{exitGate, fmt.Errorf(format, args...)}
}

// usage is a failure of the command line or of what it names.
func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

var errReported = errors.New("reported")

// code ends with an exit code after the reason was printed.
func code(exit int) error {
	if exit == exitOK {
		return nil
	}
	return &failure{exit, errReported}
}

func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	exit := exitInternal
	if f := (*failure)(nil); errors.As(err, &f) {
		exit = f.code
	}
	if !errors.Is(err, errReported) {
		a.say("%s", oneLine(err))
	}
	return exit
}

// oneLine is what an error says, several joined ones side by side.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// say prints one line for people, without what a session knows to be secret and
// without what would steer a terminal.
func (a *app) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.scrub != nil {
		text = a.scrub(text)
	}
	fmt.Fprintf(a.stderr, "recorder: %s\n", printableLine(text))
}

// getenv returns the last value of a variable, as shells would.
func (a *app) getenv(name string) (value string) {
	for _, kv := range a.env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
