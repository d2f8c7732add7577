// Package recorder is the command line of the proxy: it reads flags, wires proxy/* together and
// prints. Decisions are made there, not here. [Run] is the whole program.
//
// Every command is a method of app. Those that start a proxy build one modeFlags into a proxyRun,
// whose modeHandler records, replays or refreshes one cassette (run.go, proxy_run.go, modes.go);
// doctor starts a proxy, too, to prove that clients can be intercepted. Those that read files look
// into cassettes (inspect.go, diff.go, textconv.go, verify.go) or make one file from another
// (import.go, export.go, seal.go).
package recorder

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/proxy/replay"
	"github.com/meerkat-go/conformance/simulator"
	_ "github.com/meerkat-go/conformance/wires/all" // the built-in wires
	"github.com/meerkat-go/conformance/wires/rule"
)

// Run executes one command and returns the process's exit code. env is a list
// of K=V; nothing is read from the process's own environment. When ctx ends, a
// recording is finished and saved. Errors are one line on stderr:
// "recorder: object: what is wrong; what to do".
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	f := cli.New(program, stdin, stdout, stderr, env)
	return f.Run(ctx, rootCommand(f), args) //nolint:contextcheck // commands take theirs from cobra
}

// Exit codes; cli.ExitCodes says what they mean.
const (
	ExitOK         = 0
	ExitGate       = 1 // unused, missed, or a secret found
	ExitUsage      = 2 // the command line, or what it names
	ExitIncomplete = 3 // the recording lacks something
	ExitInternal   = 4
)

var program = cli.Program{
	Name: "recorder", Short: "Record and replay what an agent and its provider say to each other", Long: long,
	UsageCode: ExitUsage, InternalCode: ExitInternal, Prepare: refuseEmptyLists,
	Settings: &cli.Settings{Files: []string{"recorder.yaml", ".recorder.yaml"},
		Variables: []string{CredentialVariable, ViaLoginVariable}, Refuse: RefuseSecret},
	Scrub: gate.Mask,
}

// refuseEmptyLists refuses --allow-host "", which a variable that is not set leaves: it names nothing.
func refuseEmptyLists(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if list, ok := flag.Value.(pflag.SliceValue); ok && err == nil &&
			(len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")) {
			err = cli.Usage("--%s: an empty value names nothing; leave the flag out", flag.Name)
		}
	})
	return err
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
  recorder seal F                         seal a cassette again that was edited by hand
  recorder ca show | export | rotate      the authority that clients must trust
  recorder doctor [-- CMD…]               prove that clients, or CMD, can be intercepted
  recorder simulate [--scenario S]        simulate the providers, without a key or a network

Every flag can also be set in recorder.yaml (--config) or as RECORDER_FLAG_NAME, but for
--json, -q and -v, which belong on the command line.
run passes CMD's exit code on when its own is 0.`

// Command returns the tree of commands, for their documentation.
func Command() *cobra.Command {
	return rootCommand(cli.New(program, nil, io.Discard, io.Discard, nil))
}

func rootCommand(f *cli.Frame) *cobra.Command {
	a := &app{Frame: f}
	root := f.Root()
	root.Example = "  recorder run --cassette loop.yaml -- my-agent \"count the herons\"\n  recorder inspect loop.yaml"
	root.AddCommand(
		// These start a proxy or a simulator.
		a.runCommand(), a.recordCommand(), a.replayCommand(), a.refreshCommand(), a.passCommand(), a.simulateCommand(),
		a.doctorCommand(),
		// These read cassettes, or make one file from another.
		a.inspectCommand(), a.diffCommand(), a.textconvCommand(), a.verifyCommand(),
		a.importCommand(), a.exportCommand(), a.recoverCommand(), a.sealCommand(),
		a.caCommand(),
	)
	cli.WalkCommands(root, func(cmd *cobra.Command) {
		for name, values := range map[string][]string{
			"mode": modes, "match": replay.LevelNames, "ingress": {proxy.MITM, proxy.BaseURL}, "level": rule.Levels,
			"provider": simulator.Providers(), "wire": simulator.Providers(), "dialect": simulator.Dialects(),
		} {
			complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
			_ = cmd.RegisterFlagCompletionFunc(name, complete) // fails where the command has no such flag
		}
	})
	return root
}
