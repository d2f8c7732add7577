//go:build !unix

package recorder

import (
	"os"
	"os/exec"
)

func makeGroup(*exec.Cmd) {}

func signalGroup(*exec.Cmd, os.Signal) bool { return false }
