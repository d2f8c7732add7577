package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// The plain failures of a Store; test for them with errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrClosed   = errors.New("closed")
)

// NotFound returns an ErrNotFound that names the session; "" means any.
func NotFound(id ID) error {
	if id == "" {
		return fmt.Errorf("session: none is stored here: %w", ErrNotFound)
	}
	return fmt.Errorf("session %s: %w", id, ErrNotFound)
}

// LockedError says that somebody else writes the session.
type LockedError struct {
	ID ID
	// Holder is the program that writes it, "" if the store does not know.
	Holder string
}

// Error says what to do.
func (e *LockedError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("session %s: another process is writing it; wait for it to end", e.ID)
	}
	return fmt.Sprintf("session %s: %.200s is writing it; wait for it to end", e.ID, e.Holder)
}

// CorruptError says where a stored session is damaged. Nothing was changed.
type CorruptError struct {
	Path string // the file, or what else the store calls it
	Line int    // from 1; 0 if it is not known
	Err  error
}

// Error names the file and, if it is known, the line.
func (e *CorruptError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	return fmt.Sprintf("%s: damaged record (%v); restore the file or delete the session", where, e.Err)
}

// Unwrap returns what is wrong with the record.
func (e *CorruptError) Unwrap() error { return e.Err }

// VersionError says that a newer program wrote the session.
type VersionError struct {
	Path string
	Have int
	// Newest is the newest version known here; 0: Version.
	Newest int
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf(
		"%s: session format %d is newer than %d, the newest known here; upgrade to read it", e.Path, e.Have,
		cmp.Or(e.Newest, Version),
	)
}

// AmbiguousError lists the sessions that an ID prefix could mean.
type AmbiguousError struct {
	Prefix     string
	Candidates []ID
}

// Error lists at most five candidates.
func (e *AmbiguousError) Error() string {
	var names []string
	for _, id := range e.Candidates[:min(5, len(e.Candidates))] {
		names = append(names, string(id))
	}
	return fmt.Sprintf("session %s: %d sessions begin so, among them %s; give more of the id",
		e.Prefix, len(e.Candidates), strings.Join(names, ", "))
}
