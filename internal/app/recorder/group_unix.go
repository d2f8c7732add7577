//go:build unix

package recorder

import (
	"os"
	"os/exec"
	"syscall"
)

// makeGroup has a program lead a process group of its own: a shell or npx does not
// pass signals on to what it runs.
func makeGroup(child *exec.Cmd) { child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the group that child leads; false when it leads
// none, or no more.
func signalGroup(child *exec.Cmd, sig os.Signal) bool {
	number, ok := sig.(syscall.Signal)
	if !ok || child.SysProcAttr == nil || !child.SysProcAttr.Setpgid {
		return false
	}
	return syscall.Kill(-child.Process.Pid, number) == nil
}
