//go:build !linux

package postgrestest

import (
	"os/exec"
	"syscall"
)

func asServerUser() *syscall.SysProcAttr { return nil }

func giveToServer(...string) error { return nil }

func startBound(cmd *exec.Cmd) error { return cmd.Start() }
