package recorder

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// serveMode runs a proxy until ctx ends, or stdin with --stop-on-eof. It prints the variables for
// the clients and writes them to --env-file.
func (a *app) serveMode(ctx context.Context, f *modeFlags, given []string) error {
	if err := a.chooseMode(f, given); err != nil {
		return err
	}
	s, err := a.openProxy(ctx, f)
	if err != nil {
		return err
	}
	variables := ClientVariables(s.proxy, s.trust, f.ingress)
	if f.envFile != "" {
		if err := fileutil.WriteFile(f.envFile, []byte(ShellLines(variables)), 0o600); err != nil {
			s.undoStart(ctx)
			return cli.Usage("--env-file %s: cannot be written: %w", f.envFile, fileutil.Reason(err))
		}
	}
	if err := f.starter.SayReady(a, s.proxy.URL(), variables); err != nil {
		s.undoStart(ctx)
		return cli.Fail(ExitInternal, "stdout: the variables for clients cannot be written: %w", fileutil.Reason(err))
	}
	a.Note("%s%s at %s; interrupt to finish", pathPrefix(f.cassette), modeActivity[f.mode], s.proxy.URL())
	f.starter.Wait(ctx, a)
	return cli.Exit(s.closeProxy(ctx, false))
}

// pathPrefix returns what a sentence about a file begins with.
func pathPrefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

func (a *app) runCommand() *cobra.Command {
	f := &modeFlags{}
	cmd := &cobra.Command{
		Use: "run --cassette F [flags] -- CMD…", Short: "Run a program with its provider traffic recorded or replayed",
		Long: runLong, DisableFlagsInUseLine: true,
		Example: "  recorder run --cassette loop.yaml -- my-agent \"count the herons\"\n  recorder run --mode replay --cassette loop.yaml -- my-agent \"count the herons\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runProgram(cmd.Context(), f, cli.GivenFlags(cmd), args)
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&f.isolate, "isolate", false, "let the program reach the recorder and nothing else (Linux)")
	cmd.Flags().SetInterspersed(false) // what follows CMD is CMD's
	return cmd
}

const runLong = `Run a program with its provider traffic recorded or replayed.

The modes:
  record          record into a new cassette; one that exists is replaced only with --force
  record-missing  answer what the cassette knows from it, record the rest into it
  replay          answer from the cassette only; the recorder connects to nothing
  refresh         record afresh, show what changed, then replace the cassette
  pass            pass everything on and keep nothing

The program's environment makes it use the proxy and trust it. Signals are passed
on to it, a second one kills it; the recording is finished either way. The exit
code is the program's, unless the recording or the replay itself failed.

With --isolate the program is in a network of its own (Linux), in which there is
the recorder and nothing else. In replay nothing leaves the machine then.`

func (a *app) runProgram(ctx context.Context, f *modeFlags, given, args []string) error {
	if len(args) == 0 {
		return cli.Usage("run: no program; put it behind two dashes: recorder run --cassette F -- CMD")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cli.Usage("%s: not a program that can be run: %w", args[0], LookReason(err))
	}
	if f.mode == "" && a.inCI() {
		a.Note("CI is set, so the mode is replay; --mode says otherwise")
	}
	if err := a.chooseMode(f, given); err != nil {
		return err
	}
	f.isRun = true
	if f.learn {
		return a.learnRules(ctx, f, path, given, args)
	}
	exit, err := a.runOnce(ctx, f, path, given, args)
	return exitOr(err, exit)
}

// runOnce runs a program and returns the exit code to end with: that of the program, unless the
// recording or the replay failed.
func (a *app) runOnce(ctx context.Context, f *modeFlags, path string, given, args []string) (exit int, err error) {
	if f.isolate {
		if err := f.enterSandbox(ctx, given); err != nil {
			return 0, err
		}
		defer f.sandbox.Close()
	}
	s, err := a.openProxy(ctx, f)
	if err != nil {
		return 0, err
	}
	child := a.ChildCommand(path, args, ClientVariables(s.proxy, s.trust, f.ingress))
	for _, sentence := range VariablesPastProxy(s.proxy, child.Env) {
		a.Say("%s", sentence)
	}
	theirs, err := a.runChild(ctx, f, child)
	if err != nil {
		s.undoStart(ctx)
		return 0, cli.Usage("%s: cannot be started: %w", args[0], fileutil.Reason(err))
	}
	a.program, a.programExit = filepath.Base(args[0]), theirs
	if exit := s.closeProxy(ctx, theirs != 0); exit != ExitOK {
		return exit, nil
	}
	return theirs, nil
}
