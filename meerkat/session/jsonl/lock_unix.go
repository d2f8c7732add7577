//go:build unix

package jsonl

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("locked")

// lock takes an advisory lock that ends with the file or the process.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// ignoreUnsupported lets file systems pass that cannot sync a folder.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// removeLocked removes and closes f, holding its lock until it is gone.
func removeLocked(f *os.File) error {
	defer func() { _ = f.Close() }() // the file is gone
	return os.Remove(f.Name())
}
