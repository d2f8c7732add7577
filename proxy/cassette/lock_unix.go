//go:build unix

package cassette

import (
	"errors"
	"os"
	"syscall"
)

// mark marks f, which is new, as being written until it is closed or the process
// ends. Somebody may be asking whether it is marked: that takes a moment, and
// mark waits. File systems without locks have no marks.
func mark(f *os.File) {
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
		// the condition is the work
	}
}

// marked reports whether somebody marked the file that f is. Who asks does not
// get in the way of others who do: the lock is a shared one.
func marked(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
