package fileutil

import "errors"

// ErrLocked is the error of [TryLock] when another process holds the lock, or this
// process does through another open file.
var ErrLocked = errors.New("locked")
