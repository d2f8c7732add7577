package recorder

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// patience is how long a program may take to end after its run was cancelled, and how
// long the processes that it left behind may keep its output open.
const patience = 10 * time.Second

// RunChild runs a program to its end. The error says why it could not be started; how it
// ended is in child.ProcessState.
//
// Signals that reach this process are passed on to the program and to what it started. The
// program decides when to end; a second signal kills it. With terminal the keyboard's
// interrupt reaches the program by itself: the program stays in this process group, for the
// shell's job control, and what it started gets no signals. When ctx ends without a signal,
// the program gets SIGTERM and, after patience, is killed. started, which may be nil, is
// called with the process id.
func RunChild(ctx context.Context, child *exec.Cmd, terminal bool, started func(pid int)) error {
	signals := make(chan os.Signal, 4)
	subscribeSignals(signals)
	defer signal.Stop(signals)
	child.WaitDelay = patience
	if !terminal {
		makeGroup(child)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	if started != nil {
		started(child.Process.Pid)
	}
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		passSignalsOn(ctx, child, signals, ended, terminal)
	}()
	_ = child.Wait()
	close(ended)
	<-watched
	return nil
}

// subscribeSignals subscribes to the signals that end programs. A hang-up that was to be
// ignored (nohup) stays so.
func subscribeSignals(signals chan os.Signal) {
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
}

// passSignalsOn passes signals on until the program has ended.
func passSignalsOn(ctx context.Context, child *exec.Cmd, signals <-chan os.Signal, ended <-chan struct{},
	terminal bool) {
	cancelled := ctx.Done()
	var overdue <-chan time.Time
	for sent := 0; ; {
		select {
		case <-ended:
			return
		case got := <-signals:
			if what := signalToSend(got, sent, terminal); what != nil {
				sendSignal(child, what)
				sent++
			}
		case <-cancelled:
			cancelled = nil
			if !bySignal(ctx) { // a signal comes by the other channel, too
				sendSignal(child, syscall.SIGTERM)
				overdue = time.After(patience)
			}
		case <-overdue:
			sendSignal(child, os.Kill)
		}
	}
}

// signalToSend returns the signal to pass on for one that came, given how many were passed
// on before; nil when the program has it already.
func signalToSend(got os.Signal, sent int, terminal bool) os.Signal {
	switch {
	case terminal && got == os.Interrupt:
		return nil
	case sent > 0:
		return os.Kill
	}
	return got
}

// bySignal reports whether ctx ended because of one (signal.NotifyContext):
// only then is the cause another error than the plain cancellation.
func bySignal(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, context.Canceled) &&
		cause != context.Canceled //nolint:errorlint // the difference is the point
}

// sendSignal sends a signal to the program's group, or to it where it has none of its
// own; where there are no signals it ends the program.
func sendSignal(child *exec.Cmd, sig os.Signal) {
	if signalGroup(child, sig) {
		return
	}
	if child.Process.Signal(sig) != nil {
		_ = child.Process.Kill()
	}
}

// OnTerminal reports whether the keyboard's signals reach this process and the program
// alike.
func (a *app) OnTerminal() bool {
	stdin, stdout, stderr := a.ChildStreams()
	return cli.IsTerminal(stdin) || cli.IsTerminal(stdout) || cli.IsTerminal(stderr)
}

// ExitOf is a finished program's exit code; as in shells, 128 and the signal's
// number when one ended it.
func ExitOf(cmd *exec.Cmd) int {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// ChildCommand returns the command for a program, with variables in its environment. Its
// stdout and stderr are those of this process.
func (a *app) ChildCommand(path string, args, variables []string) *exec.Cmd {
	cmd := exec.Command(path,
		args[1:]...) //nolint:gosec,noctx // running the user's program is what run is for; RunChild ends it
	cmd.Args[0] = args[0]
	cmd.Env = Overlay(a.Environ, variables)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.ChildStreams()
	return cmd
}

// LookReason returns why a program was not found, without its name.
func LookReason(err error) error {
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
