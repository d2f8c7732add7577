package session

import (
	"context"
	"errors"
)

// StorageError says that a session could not be kept: the disk is full, the folder is
// read-only or gone, the database is broken. The run that it ends has sent and started
// nothing that depends on what is missing.
type StorageError struct{ Err error }

// Error says what to do.
func (e *StorageError) Error() string {
	return e.Err.Error() + "; see to the disk, the folder or the database of the sessions, then go on"
}

// Unwrap returns the error of the store.
func (e *StorageError) Unwrap() error { return e.Err }

// WrapStorage returns an error of a Store as a *StorageError, unless it says something
// else than that the store failed: one of the errors of this package, or that of a
// context that has ended.
func WrapStorage(err error) error {
	for _, known := range []error{
		nil, ErrNotFound, ErrExists, ErrClosed, ErrTornFork, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	if isA[*StorageError](err) || isA[*LockedError](err) || isA[*CorruptError](err) || isA[*VersionError](err) ||
		isA[*AmbiguousError](err) {
		return err
	}
	return &StorageError{err}
}

func isA[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}
