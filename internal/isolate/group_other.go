//go:build !unix

package isolate

import (
	"os"
	"os/exec"
)

// Only the process itself is ended on systems without process groups.

func makeGroup(*exec.Cmd) {}

func interruptGroup(cmd *exec.Cmd) error { return cmd.Process.Signal(os.Interrupt) }

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func terminateGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func endGroup(*exec.Cmd) int { return 0 }

func signalName(*os.ProcessState) string { return "" }
