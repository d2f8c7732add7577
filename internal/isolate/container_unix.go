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

func (g *group) start(cmd *exec.Cmd) error { return cmd.Start() }

func (g *group) signal(signal syscall.Signal) error { return syscall.Kill(-g.cmd.Process.Pid, signal) }

func (g *group) interrupt() error { return g.signal(syscall.SIGINT) }

func (g *group) kill() { _ = g.signal(syscall.SIGKILL) }

// terminate reaches the processes that are stopped, too.
func (g *group) terminate() error {
	err := g.signal(syscall.SIGTERM)
	_ = g.signal(syscall.SIGCONT)
	return err
}

// finish counts one process when there are any left, however many.
func (g *group) finish() ending {
	end := ending{ExitCode: g.cmd.ProcessState.ExitCode()}
	if status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = unix.SignalName(status.Signal())
	}
	if g.signal(syscall.SIGKILL) == nil {
		end.Killed = 1
	}
	return end
}
