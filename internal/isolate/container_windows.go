package isolate

import (
	"context"
	"os"
	"os/exec"
)

// single is a container that holds the process only, and nothing that it starts.
type single struct{ cmd *exec.Cmd }

func (s *Sandbox) newContainer(ctx context.Context, path string, command Command) (*exec.Cmd, container, error) {
	cmd := newCommand(ctx, path, command)
	return cmd, &single{cmd}, nil
}

func (c *single) start(cmd *exec.Cmd) error { return cmd.Start() }

func (c *single) interrupt() error { return c.cmd.Process.Signal(os.Interrupt) }

func (c *single) terminate() error { return c.cmd.Process.Kill() }

func (c *single) kill() { _ = c.cmd.Process.Kill() }

func (c *single) finish() ending { return ending{ExitCode: c.cmd.ProcessState.ExitCode()} }
