//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes an advisory lock that ends with the file or the process.
// ErrLocked if it is taken; Lock never waits.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Remove removes and closes f, holding its lock until it is gone.
func Remove(f *os.File) error {
	defer func() { _ = f.Close() }() // the file is gone
	return os.Remove(f.Name())
}

// IgnoreUnsupported lets file systems pass that cannot sync a folder.
func IgnoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
