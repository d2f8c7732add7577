//go:build unix

package fileutil

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Lock takes the exclusive advisory lock of f, which ends with [CloseLocked] or the
// process. It waits for others that hold the lock.
func Lock(f *os.File) error { return lockFile(f, syscall.LOCK_EX) }

// TryLock is [Lock] without waiting: the error is [ErrLocked] when the lock is
// taken.
func TryLock(f *os.File) error {
	err := lockFile(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// IsLocked reports whether somebody holds the exclusive lock of the file behind
// f. It takes a shared lock, so several processes may ask at once; f must be closed
// soon afterwards, because [Lock] waits until then. A file system without locks has
// no locked files.
func IsLocked(f *os.File) bool {
	return errors.Is(lockFile(f, syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func lockFile(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// CloseLocked releases the lock of f and closes f. Closing alone does not always release
// it: between fork and exec, a child of this process holds a copy of every open file.
func CloseLocked(f *os.File) error {
	return errors.Join(lockFile(f, syscall.LOCK_UN), f.Close())
}

// RemoveLocked removes and closes f. The lock of f is held until the name is gone.
func RemoveLocked(f *os.File) error {
	defer func() { _ = f.Close() }() // its content is not needed any more
	return os.Remove(f.Name())
}

// SyncDir makes names that were created, renamed or removed in dir survive a
// crash. A file system that cannot sync a folder, and a folder that may be written
// but not read, are not errors.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // opened for reading only
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// foreignOwner returns the owner of a file that is not to be trusted by the user of this process.
func foreignOwner(info fs.FileInfo, user int) (owner int, ok bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || user == 0 || stat.Uid == 0 || int(stat.Uid) == user {
		return 0, false
	}
	return int(stat.Uid), true
}
