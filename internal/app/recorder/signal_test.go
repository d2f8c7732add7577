//go:build unix

package recorder

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A cancellation is told from a signal, which comes by another way, too.
func TestBySignal(t *testing.T) {
	plain, cancel := context.WithCancel(context.Background())
	cancel()
	if bySignal(plain) {
		t.Error("a cancellation is taken for a signal")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP)
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if <-ctx.Done(); !bySignal(ctx) {
		t.Error("a signal is taken for a cancellation")
	}
}

// A signal reaches what the program started, too: a shell does not pass it on.
func TestSignalReachesTheGroup(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		if sig == syscall.SIGHUP && HangupIgnored {
			continue
		}
		cmd := exec.Command("sh", "-c", "sleep 60 & echo ready; wait") // the sleep holds the pipe open
		makeGroup(cmd)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out)
		if _, err := said.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		sendSignal(cmd, sig)
		ended := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, said)
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Errorf("%v: the program's own program goes on", sig)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		_ = cmd.Wait()
	}
}

func TestExitOf(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		cmd := exec.Command("sh", "-c", script)
		_ = cmd.Run()
		if got := ExitOf(cmd); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
}

// A run that was cancelled before its program starts does not start it.
func TestRunChildOfCancelledRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cmd := exec.Command("sh", "-c", "sleep 60")
	err := RunChild(ctx, cmd, false, nil)
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Error("the program was started")
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
