package serve

import (
	"context"
	"os/exec"
	"slices"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// enterSandbox prepares a network of its own for the program, with the listener of the proxy in
// it. given are the flags of the command line.
func (f *modeFlags) enterSandbox(ctx context.Context, given []string) error {
	for _, name := range []string{"listen", "session-listen"} {
		if slices.Contains(given, name) {
			return cli.Usage("--%s: does nothing with --isolate, where only the program reaches the proxy", name)
		}
	}
	level, err := isolate.Detect(ctx, isolate.Auto)
	if err == nil {
		err = checkLevel(level)
	}
	if err == nil {
		f.sandbox, err = isolate.New(isolate.Config{Level: level})
	}
	if err == nil {
		f.listener, err = f.sandbox.Listen()
	}
	return err
}

// checkLevel returns an error where the system cannot keep the program away from the network.
func checkLevel(level isolate.Level) error {
	if level.Enforced {
		return nil
	}
	return cli.Usage("--isolate: %s", level.Reason)
}

// runChild runs the program to its end and returns its exit code.
func (a *app) runChild(ctx context.Context, f *modeFlags, child *exec.Cmd) (exit int, err error) {
	if f.sandbox != nil {
		a.isolated = true
		return recorderenv.RunIsolated(ctx, f.sandbox, child)
	}
	var watch *recorderenv.BypassWatch
	err = recorderenv.RunChild(ctx, child, a.OnTerminal(), func(pid int) { watch = recorderenv.WatchBypass(pid) })
	if err != nil {
		return 0, err
	}
	found := watch.Stop()
	for _, b := range found {
		a.Say("%s was connected to %s, past the recorder; that is in no cassette", b.Program, b.Address)
	}
	a.bypassed = append(a.bypassed, found...)
	return recorderenv.ExitOf(child), nil
}

// bypasses lists the programs that are known to have gone past the recorder. The program of the
// run is one when it made no request at all.
func (a *app) bypasses(got replay.Receipt) []replay.Bypass {
	if a.program != "" && got.Served+got.Missed+got.Struck == 0 && a.turnedAway.Load() == 0 {
		return append([]replay.Bypass{{Program: a.program}}, a.bypassed...)
	}
	return a.bypassed
}
