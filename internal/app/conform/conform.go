// Package conform is the command line of the referee: it reads flags, calls the
// packages below conform/ and prints. Decisions are made there, not here.
//
// [Run] executes one command. The agent under test is rkat, which is a part of
// this program: new sessions run in this process, resumed ones in a process of
// their own, for which the program starts itself again.
package conform

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	_ "github.com/meerkat-go/conformance/wires/all" // the built-in wires
)

// Run executes one command and returns the exit code of the process. env is a
// list of K=V; nothing is read from the process's own environment. Results go to
// stdout, everything else to stderr. Errors are one line on stderr:
// "conform: object: what is wrong; what to do".
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	if code, isSubject := harness.RunIfSubject(ctx, rkat.Run, args, stdin, stdout, stderr, env); isSubject {
		return code
	}
	f := cli.New(program, stdin, stdout, stderr, env)
	return f.Run(ctx, rootCommand(f), args) //nolint:contextcheck // commands take theirs from cobra
}

var program = cli.Program{
	Name: "conform", Short: "Judge whether an agent talks to its provider correctly", Long: long,
	UsageCode: report.ExitUsage, InternalCode: report.ExitHarness,
	Settings: &cli.Settings{Files: []string{"conform.yaml"}, Variables: []string{harness.ToolLogVariable}},
	Scrub:    gate.Mask,
}

const long = `Judge whether an agent talks to its provider correctly.

  conform run -- CMD       run an agent through every case and judge what it sent
  conform observe -- CMD   explain what an agent sends for one prompt
  conform init -- CMD      write a profile of an agent
  conform check FILE|DIR   judge traffic that any tool recorded
  conform lint tools FILE  say what a provider would refuse, before it is sent
  conform server URL       judge a server that claims to speak a wire
  conform gateway -- CMD   judge a gateway from both sides
  conform matrix REPORT    put shards of a run together, and agents side by side
  conform baseline update  keep the list of failures that are known
  conform list             the requirements
  conform explain ID       what an id means that any of our programs prints
  conform serve FILE       show reports and recordings in a browser
  conform selftest         break evidence on purpose and see every check notice

Results go to stdout, progress and errors to stderr. With --json, stdout holds
the report as JSON and nothing else; -v then shows the table on stderr.

Every flag can also be set in conform.yaml (--config) or as CONFORM_FLAG_NAME, but for
--json, -q and -v, which belong on the command line.`

type app struct{ *cli.Frame }

// Command returns the tree of commands, for their documentation.
func Command() *cobra.Command {
	return rootCommand(cli.New(program, nil, io.Discard, io.Discard, nil))
}

func rootCommand(f *cli.Frame) *cobra.Command {
	a := &app{f}
	root := f.Root()
	root.Example = "  conform run\n  conform check loop.yaml"
	root.AddCommand(a.runCommand(), a.checkCommand(), a.listCommand(), a.explainCommand(), a.selftestCommand(),
		a.toolsCommand(), a.matrixCommand(), a.baselineCommand(), a.serveCommand(), a.initCommand(), a.observeCommand(),
		a.lintCommand(), a.gatewayCommand(), a.serverCommand())
	completeFlags(root)
	return root
}

// asUsage makes an error one of wrong usage, and leaves nil as it is.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return cli.Usage("%w", err)
}

// noArgument refuses arguments; wrong is the format of what is said of the first.
func noArgument(wrong string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.Usage(wrong, args[0])
		}
		return nil
	}
}

// oneArgument demands one argument; wrong is the format of what is said of another number.
func oneArgument(wrong string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.Usage(wrong, len(args))
		}
		return nil
	}
}

// printReport writes a result to stdout: the report as JSON, or show for people.
// With JSON and -v, people get theirs on stderr.
func (a *app) printReport(asJSON bool, doc any, show func(*report.Terminal)) error {
	if asJSON {
		if a.Verbose {
			show(report.NewTerminal(a.Stderr, false))
		}
		return report.WriteJSON(a.JSON(), doc)
	}
	t := report.NewTerminal(a.Stdout, false)
	if a.HasColor() {
		_, stdout, _ := a.ChildStreams() // the terminal itself, whose colours are asked for
		t = report.NewTerminal(stdout, true)
	}
	t.Width = a.Width()
	show(t)
	return nil
}
