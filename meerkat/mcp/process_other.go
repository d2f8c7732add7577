//go:build !unix

package mcp

import "os/exec"

func ownGroup(*exec.Cmd) {}

// There are no groups and no SIGTERM here: the process itself is ended.
func termGroup(cmd *exec.Cmd) { killGroup(cmd) }
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // one that is gone is what we want
