//go:build unix

package cassette

import (
	"errors"
	"os"
	"syscall"
)

// mark marks f as being written until it is closed or the process ends, and
// reports false if another process has done so. File systems without locks
// have no marks.
func mark(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
