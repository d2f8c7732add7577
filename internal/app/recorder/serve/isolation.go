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

// enterSandbox prepares a network of its own for the program, with the proxy's
// listener in it.
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

// checkLevel refuses a machine that does not keep the program away from the network.
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
	for _, b := range watch.Stop() {
		a.Say("%s was connected to %s, past the recorder; that is in no cassette", b.Program, b.Address)
		a.bypassed = append(a.bypassed, replay.Bypass{Program: b.Program, Address: b.Address})
	}
	return recorderenv.ExitOf(child), nil
}

// bypasses lists what is known to have ignored the recorder.
func (a *app) bypasses(got replay.Receipt) []replay.Bypass {
	if a.program != "" && got.Served+got.Missed+got.Struck == 0 && a.turnedAway.Load() == 0 {
		return append([]replay.Bypass{{Program: a.program}}, a.bypassed...)
	}
	return a.bypassed
}
