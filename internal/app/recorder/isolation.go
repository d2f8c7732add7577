package recorder

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
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
		return RunIsolated(ctx, f.sandbox, child)
	}
	var watch *BypassWatch
	err = RunChild(ctx, child, a.OnTerminal(), func(pid int) { watch = WatchBypass(pid) })
	if err != nil {
		return 0, err
	}
	found := watch.Stop()
	for _, b := range found {
		a.Say("%s was connected to %s, past the recorder; that is in no cassette", b.Program, b.Address)
	}
	a.bypassed = append(a.bypassed, found...)
	return ExitOf(child), nil
}

// bypasses lists the programs that are known to have gone past the recorder. The program of the
// run is one when it made no request at all.
func (a *app) bypasses(got replay.Receipt) []replay.Bypass {
	if a.program != "" && got.Served+got.Missed+got.Struck == 0 && a.turnedAway.Load() == 0 {
		return append([]replay.Bypass{{Program: a.program}}, a.bypassed...)
	}
	return a.bypassed
}

// RunIsolated is [RunChild] for a program in a sandbox, and returns its exit code. The
// program is in a session of its own, where the keyboard's signals do not reach it, so these
// are passed on as well.
func RunIsolated(ctx context.Context, sandbox *isolate.Sandbox, child *exec.Cmd) (exit int, err error) {
	signals := make(chan os.Signal, 4)
	subscribeSignals(signals)
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	dir, err := filepath.Abs(child.Dir)
	if err != nil {
		return 0, err
	}
	args := append([]string{child.Path}, child.Args[1:]...)
	process, err := sandbox.StartAttached(context.WithoutCancel(ctx),
		isolate.Command{Args: args, Env: child.Env, Dir: dir,
			Stdin: child.Stdin, Stdout: child.Stdout, Stderr: child.Stderr,
			Limits: isolate.Limits{Time: -1, Processes: -1, Memory: -1}})
	if err != nil {
		return 0, err
	}
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		passToSandbox(ctx, process, signals, ended)
	}()
	result, err := process.Wait()
	close(ended)
	<-watched
	if result.Signal != "" {
		return cmp.Or(exitOfSignal[result.Signal], 128), err
	}
	return result.ExitCode, err
}

// exitOfSignal is the exit code of a program that a signal ended, as in shells.
var exitOfSignal = map[string]int{"SIGHUP": 129, "SIGINT": 130, "SIGQUIT": 131, "SIGABRT": 134, "SIGKILL": 137,
	"SIGSEGV": 139, "SIGPIPE": 141, "SIGTERM": 143}

// passToSandbox passes signals on until the process has ended. A second one kills it.
func passToSandbox(ctx context.Context, process *isolate.Process, signals <-chan os.Signal, ended <-chan struct{}) {
	cancelled := ctx.Done()
	var overdue <-chan time.Time
	for sent := 0; ; {
		select {
		case <-ended:
			return
		case got := <-signals:
			switch {
			case sent > 0:
				process.Stop()
			case got == os.Interrupt:
				_ = process.Interrupt()
			default:
				_ = process.Terminate()
			}
			sent++
		case <-cancelled:
			cancelled = nil
			if !bySignal(ctx) {
				_ = process.Terminate()
				overdue = time.After(patience)
			}
		case <-overdue:
			process.Stop()
		}
	}
}
