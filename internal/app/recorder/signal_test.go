//go:build unix

package recorder

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
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

func TestExitOf(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		cmd := exec.Command("sh", "-c", script)
		_ = cmd.Run()
		if got := exitOf(cmd); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
}
