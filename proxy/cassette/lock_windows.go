package cassette

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// mark marks f as being written until it is closed or the process ends, and
// reports false if another process has done so. It locks one byte far behind
// the end of the file, because Windows would keep readers away from the bytes
// that are locked.
func mark(f *os.File) bool {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	return !errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}
