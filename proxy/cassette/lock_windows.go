package cassette

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// mark marks f, which is new, as being written until it is closed or the process
// ends. Somebody may be asking whether it is marked: that takes a moment, and
// mark waits.
func mark(f *os.File) { _ = lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// marked reports whether somebody marked the file that f is.
func marked(f *os.File) bool {
	return errors.Is(lock(f, windows.LOCKFILE_FAIL_IMMEDIATELY), windows.ERROR_LOCK_VIOLATION)
}

// lock locks one byte far behind the end of the file, because Windows would keep
// readers away from the bytes that are locked.
func lock(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
