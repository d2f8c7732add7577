//go:build !unix

package harness

import "os/exec"

// makeGroup does nothing: this system has no groups of processes.
func makeGroup(*exec.Cmd) {}
