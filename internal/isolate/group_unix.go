//go:build unix

package isolate

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func makeGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(cmd *exec.Cmd, signal syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, signal)
}

func interruptGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGINT) }

func killGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGKILL) }

// terminateGroup asks every process of the group to end, those that are stopped
// included.
func terminateGroup(cmd *exec.Cmd) error {
	err := signalGroup(cmd, syscall.SIGTERM)
	_ = signalGroup(cmd, syscall.SIGCONT)
	return err
}

// endGroup kills what is left of the group of a process that has ended. It returns
// 1 when there was something, however much.
func endGroup(cmd *exec.Cmd) int {
	if killGroup(cmd) != nil {
		return 0
	}
	return 1
}

// signalName names the signal that ended a process, "" for none.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return ""
}
