//go:build !unix

package recorderenv

import (
	"os"
	"os/exec"
)

func group(*exec.Cmd) {}

func signalGroup(*exec.Cmd, os.Signal) bool { return false }
