package fileutil

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes the exclusive lock of f, which ends with [CloseLocked] or the process. It
// waits for others that hold the lock.
func Lock(f *os.File) error { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryLock is [Lock] without waiting: the error is [ErrLocked] when the lock is
// taken.
func TryLock(f *os.File) error {
	err := lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// IsLocked reports whether somebody holds the exclusive lock of the file behind
// f. It takes a shared lock, so several processes may ask at once; f must be closed
// soon afterwards, because [Lock] waits until then.
func IsLocked(f *os.File) bool {
	return errors.Is(lockFile(f, windows.LOCKFILE_FAIL_IMMEDIATELY), windows.ERROR_LOCK_VIOLATION)
}

// lockFile locks one byte far behind the end of the file: Windows keeps others from
// reading locked bytes.
func lockFile(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}

// CloseLocked closes f, which releases its lock.
func CloseLocked(f *os.File) error { return f.Close() }

// RemoveLocked closes and removes f: Windows cannot remove an open file.
func RemoveLocked(f *os.File) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(f.Name())
}

// SyncDir does nothing: Windows cannot sync a folder and does not need to.
func SyncDir(string) error { return nil }

// foreignOwner does nothing: files of others are kept apart by access lists.
func foreignOwner(os.FileInfo, int) (owner int, ok bool) { return 0, false }
