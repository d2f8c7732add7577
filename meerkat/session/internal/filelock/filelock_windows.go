package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes a lock on one byte far behind the end of the file, because Windows
// would keep readers away from the bytes that are locked. ErrLocked if it is
// taken; Lock never waits.
func Lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Remove closes and removes f: Windows removes no open file.
func Remove(f *os.File) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(f.Name())
}

// IgnoreUnsupported drops the error: Windows cannot sync a folder and does not
// need to.
func IgnoreUnsupported(error) error { return nil }
