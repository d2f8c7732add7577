//go:build unix

package harness

import (
	"os/exec"
	"syscall"
)

// makeGroup gives an agent's process a group of its own. The keyboard's interrupt, which a
// terminal sends to a whole group, then does not end an agent before the run knows of it: the
// case would be judged as a failure.
func makeGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
