package recorderenv

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/internal/isolate"
)

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
	process, err := sandbox.StartAttached(context.WithoutCancel(ctx), isolate.Command{Args: args, Env: child.Env, Dir: dir,
		Stdin: child.Stdin, Stdout: child.Stdout, Stderr: child.Stderr, Limits: isolate.Limits{Time: -1, Processes: -1, Memory: -1}})
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
var exitOfSignal = map[string]int{"SIGHUP": 129, "SIGINT": 130, "SIGQUIT": 131, "SIGABRT": 134, "SIGKILL": 137, "SIGSEGV": 139, "SIGPIPE": 141, "SIGTERM": 143}

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
