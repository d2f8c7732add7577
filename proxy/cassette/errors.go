package cassette

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/terminal"
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

// ParseErrorText returns what a YAML or JSON parser found wrong, without a quotation from the
// file: it may be any file that was named by mistake.
func ParseErrorText(err error) string {
	if e := (*yaml.TypeError)(nil); errors.As(err, &e) && len(e.Errors) > 0 {
		// An error of yaml.v3 about a value of the wrong kind is shortened: the line, and what is wrong
		// there.
		line, what, _ := strings.Cut(e.Errors[0], ": ")
		switch {
		case !strings.HasPrefix(line, "line ") || line == "line 0": // JSON has no lines
			return "another kind of value belongs in it"
		case strings.Contains(what, " already defined at line "):
			return line + ": a key that is already defined"
		case strings.Contains(what, " not found in type "):
			return line + ": a key that does not belong here"
		}
		return line + ": another kind of value belongs here"
	}
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
		return strings.TrimPrefix(e.Field+": another kind of value belongs here", ": ")
	}
	text := strings.TrimPrefix(firstLine(err), "yaml: ")
	return quotation.ReplaceAllString(text, "…")
}

// quotation matches quotations of two characters or more. A single one is punctuation that the
// parser expected.
var quotation = regexp.MustCompile("`[^`]{2,}`|\"[^\"]{2,}\"|'[^']{2,}'")

// Loss is what a recording as a whole lacks, according to its closing line. A
// gate rejects a cassette for it, unless the cassette declares to be incomplete.
type Loss struct {
	// Lost is how many interactions could not be saved.
	Lost int `json:"lost"`
	// Recovered is true when the recording was interrupted: what was open then is
	// missing, however much that was.
	Recovered bool `json:"recovered"`
}

// String describes the loss in words, "" when nothing is lacking.
func (l Loss) String() string {
	var lacks []string
	if l.Lost == 1 {
		lacks = append(lacks, "1 interaction was lost when it was recorded")
	} else if l.Lost > 1 {
		lacks = append(lacks, fmt.Sprintf("%d interactions were lost when it was recorded", l.Lost))
	}
	if l.Recovered {
		lacks = append(lacks, "it was interrupted and recovered, so what was open then is not in it")
	}
	return strings.Join(lacks, "; ")
}

// Unfinished returns ErrBusy while a recording of the cassette path continues,
// and ErrTorn when one was interrupted, whether or not there is a finished one.
func Unfinished(path string) error {
	if _, err := os.Lstat(partialPath(path)); err == nil {
		return cmp.Or(unlessBusy(path), newError(partialPath(path), ErrTorn,
			"an unfinished recording is beside the cassette; run: recorder recover %s, or delete it",
			terminal.ShellWord(path)))
	}
	return nil
}

// Lose adds to the loss that the closing line will state. Interactions that
// Revise leaves out are counted automatically.
func (w *Writer) Lose(l Loss) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loss = Loss{w.loss.Lost + max(l.Lost, 0), w.loss.Recovered || l.Recovered}
}

// Loss returns the loss that the closing line states. A file without seals
// cannot state one.
func (c *Cassette) Loss() Loss { return c.end.Loss }
