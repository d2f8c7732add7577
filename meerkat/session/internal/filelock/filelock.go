// Package filelock locks files between processes: one session has one writer.
package filelock

import "errors"

// ErrLocked says that somebody else holds the lock.
var ErrLocked = errors.New("locked")
