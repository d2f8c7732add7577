//go:build unix

package simulator

import (
	"syscall"
	"time"
)

// processorTime is the time that the process has computed, whatever else the machine
// does: server and load generator together.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
