// Package conform is the command line of the referee: it reads flags, calls
// conform/* and suites, and prints. Decisions are made there, not here.
package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/app/version"
)

// Run executes one command and returns the process's exit code (DESIGN §6).
// env is a list of K=V; nothing is read from the process's own environment.
// Errors are one line on stderr: "conform: object: what is wrong; what to do".
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	if code, isSubject := harness.RunIfSubject(ctx, rkat.Run, args, stdin, stdout, stderr, env); isSubject {
		return code
	}
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	root := a.command() //nolint:contextcheck // commands take theirs from cobra
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.exit(root.ExecuteContext(ctx))
}

type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "conform",
		Short:         "Judge whether an agent talks to its provider correctly",
		Long:          long,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          a.unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("conform {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: %v; run: %s --help", cmd.Name(), err, cmd.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.runCommand(), a.checkCommand(), a.listCommand(), a.explainCommand(), a.selftestCommand())
	for _, c := range absentCommands() {
		root.AddCommand(c)
	}
	return root
}

const long = `Judge whether an agent talks to its provider correctly.

  conform run              play the suites against an agent and judge what it sent
  conform check FILE|DIR   judge traffic that any tool recorded
  conform list             the requirements
  conform explain ID       what an id means that any of our programs prints
  conform selftest         break evidence on purpose and see every check notice

Exit codes: 0 ok, 1 a failure, 2 wrong usage or nothing to judge, 3 incomplete,
4 the harness broke, 5 a guard tripped.`

func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
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

// failure is an error with the exit code it ends in. An empty text has been
// said already, by the report.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is a failure of the command line or of what it names.
func usage(format string, args ...any) error {
	return &failure{report.ExitUsage, fmt.Errorf(format, args...)}
}

var errReported = errors.New("reported")

// code ends with an exit code after the report has said why.
func code(exit int) error {
	if exit == report.ExitOK {
		return nil
	}
	return &failure{exit, errReported}
}

func (a *app) exit(err error) int {
	if err == nil {
		return report.ExitOK
	}
	exit := report.ExitHarness
	if f := (*failure)(nil); errors.As(err, &f) {
		exit = f.code
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(a.stderr, "conform: %s\n", oneLine(err))
	}
	return exit
}

// oneLine keeps the first of several joined errors and counts the others.
func oneLine(err error) string {
	first, rest, more := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if more {
		first += fmt.Sprintf(" (and %d more)", 1+strings.Count(rest, "\n"))
	}
	return first
}
