package cassette

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a cassette. Errors of this package are *Error and wrap
// one of these, or an error of io/fs (fs.ErrExist, fs.ErrNotExist and so on).
var (
	// ErrEmpty: no bytes, or no interactions.
	ErrEmpty = errors.New("empty cassette")
	// ErrFormat: not a cassette at all.
	ErrFormat = errors.New("not a cassette")
	// ErrVersion: a cassette of a format this build does not read.
	ErrVersion = errors.New("unknown cassette format")
	// ErrTorn: ours, but the end is missing.
	ErrTorn = errors.New("torn cassette")
	// ErrDamaged: ours, but some bytes are not the ones that were written.
	ErrDamaged = errors.New("damaged cassette")
	// ErrUnsealed: readable, but without seals to verify: another tool wrote it.
	ErrUnsealed = errors.New("cassette without seals")
	// ErrBusy: another process is recording it.
	ErrBusy = errors.New("cassette is being recorded")
	// ErrMixed: what is to be added differs in provenance, kind of times or redaction.
	ErrMixed = errors.New("cassette of another kind")
	// ErrInteraction: an interaction that cannot be stored truthfully.
	ErrInteraction = errors.New("interaction cannot be stored")
)

// Error names a cassette file, what is wrong with it and what to do, in one
// sentence on one line.
type Error struct {
	Name    string // the file as the caller named it
	Problem string
	Err     error // a sentinel of this package or of io/fs
}

// Error returns that sentence.
func (e *Error) Error() string { return e.Name + ": " + e.Problem }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

func newError(name string, err error, format string, args ...any) error {
	return &Error{Name: name, Problem: fmt.Sprintf(format, args...), Err: err}
}

// firstLine shortens an error of another library to one line.
func firstLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > 1 && strings.HasSuffix(lines[0], ":") {
		return lines[0] + " " + strings.TrimSpace(lines[1])
	}
	return lines[0]
}
