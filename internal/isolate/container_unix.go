//go:build unix && !linux

package isolate

import (
	"context"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a container that is a process group. What leaves its group escapes.
type group struct{ cmd *exec.Cmd }

func (s *Sandbox) newContainer(ctx context.Context, path string, command Command) (*exec.Cmd, container, error) {
	cmd := newCommand(ctx, path, command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session, so that it cannot ask anything at the user's terminal
	return cmd, &group{cmd}, nil
}

func (g *group) startProgram(cmd *exec.Cmd) error { return cmd.Start() }

func (g *group) signalGroup(signal syscall.Signal) error {
	return syscall.Kill(-g.cmd.Process.Pid, signal)
}

func (g *group) interruptGroup() error { return g.signalGroup(syscall.SIGINT) }

func (g *group) killAll() { _ = g.signalGroup(syscall.SIGKILL) }

// terminateAll reaches the processes that are stopped, too.
func (g *group) terminateAll() error {
	err := g.signalGroup(syscall.SIGTERM)
	_ = g.signalGroup(syscall.SIGCONT)
	return err
}

// finishRun counts one process when there are any left, however many.
func (g *group) finishRun() ending {
	end := ending{ExitCode: g.cmd.ProcessState.ExitCode()}
	if status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = unix.SignalName(status.Signal())
	}
	if g.signalGroup(syscall.SIGKILL) == nil {
		end.Killed = 1
	}
	return end
}
