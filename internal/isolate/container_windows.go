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

func (c *single) startProgram(cmd *exec.Cmd) error { return cmd.Start() }

func (c *single) interruptGroup() error { return c.cmd.Process.Signal(os.Interrupt) }

func (c *single) terminateAll() error { return c.cmd.Process.Kill() }

func (c *single) killAll() { _ = c.cmd.Process.Kill() }

func (c *single) finishRun() ending { return ending{ExitCode: c.cmd.ProcessState.ExitCode()} }
