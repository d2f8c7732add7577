package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// ExitCode is one way in which one program ends.
type ExitCode struct {
	Program string
	Code    int
	Meaning string
}

// exitCodes is the one table of exit codes: the programs' help texts, the
// documentation and conform explain are made from it.
var exitCodes = []ExitCode{
	{"conform", 0, "ok"},
	{
		"conform", 1,
		"a failure: a requirement is broken, an entry of the baseline is stale, or a result is flaky and not listed",
	},
	{"conform", 2, "wrong usage, or nothing to judge"},
	{"conform", 3, "incomplete: nothing failed, but something was not testable"},
	{"conform", 4, "an error of conform itself"},
	{"conform", 5, "a guard ended the run: a real key, a spent budget, a host or model that is not allowed"},
	{"conform", 130, "interrupted"},
	{"recorder", 0, "ok"},
	{"recorder", 1, "a gate failed: unused, missed, stale, empty, nothing asked for, different, or a secret found"},
	{"recorder", 2, "wrong usage"},
	{"recorder", 3, "the recording is incomplete"},
	{"recorder", 4, "an internal error"},
	{"rkat", 0, "ok"},
	{"rkat", 1, "the run failed, a reply could not be read, or doctor found something"},
	{"rkat", 2, "the turn limit or a budget was reached"},
	{"rkat", 3, "the model refused, or a filter stopped it"},
	{"rkat", 4, "the reply was cut off (output tokens, context window)"},
	{"rkat", 64, "wrong usage or configuration"},
	{"rkat", 65, "the session is damaged, of a newer format, or changed since it was sent"},
	{
		"rkat", 69,
		"the provider or a tool server is not available: rate limit, overload, no connection, a stream that was cut or that failed in the middle",
	},
	{"rkat", 74, "the session could not be stored: the disk is full, the folder is read-only or gone"},
	{"rkat", 77, "unsupported model, or the provider does not accept the key"},
	{"rkat", 130, "interrupted"},
}

// ExitCodes returns the exit codes of a program in order, those of all programs
// for "". The caller may change the list.
func ExitCodes(program string) (list []ExitCode) {
	for _, c := range exitCodes {
		if program == "" || c.Program == program {
			list = append(list, c)
		}
	}
	return list
}

// exitCodeHelp is the part of a help text that explains the exit codes.
func exitCodeHelp(program string) string {
	var text strings.Builder
	text.WriteString("Exit codes:")
	for _, c := range ExitCodes(program) {
		fmt.Fprintf(&text, "\n  %3d  %s", c.Code, strings.Join(WrapWords(c.Meaning, 74), "\n       "))
	}
	return text.String()
}

// WrapWords breaks text into lines of at most width letters.
func WrapWords(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// UsageError is a mistake in the command line, in a setting or in what they name.
// The program ends with its UsageCode.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usage returns a [UsageError]. The text is "object: what is wrong; what to do".
func Usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Unreadable returns the [UsageError] for a file that could not be read. name is its path,
// behind the flag that named it.
func Unreadable(name string, err error) error {
	return Usage("%s: cannot be read: %w; check the path and its permissions", name, fileutil.Reason(err))
}

// ExitError is an error that ends the program with a given code.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Fail returns an [ExitError] with a text.
func Fail(code int, format string, args ...any) error {
	return &ExitError{code, fmt.Errorf(format, args...)}
}

var errReported = errors.New("reported")

// Exit ends the program with a code and without a text: the report has said why.
// Code 0 is not an error.
func Exit(code int) error {
	if code == 0 {
		return nil
	}
	return &ExitError{code, errReported}
}

func isReported(err error) bool { return errors.Is(err, errReported) }

// ExitCode returns the exit code that err ends the program with, 0 for nil.
func (f *Frame) ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if classify := f.Program.ExitCode; classify != nil {
		if code, ok := classify(err); ok {
			return code
		}
	}
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		return exit.Code
	}
	if usage := (*UsageError)(nil); errors.As(err, &usage) {
		return f.Program.UsageCode
	}
	return f.Program.InternalCode
}

// maxJoined is how many joined errors one line shows.
const maxJoined = 3

// OneLine returns the text of err on one line; of joined errors the first three,
// and how many more there are.
func OneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - maxJoined; more > 0 {
		return fmt.Sprintf("%s (and %d more)", strings.Join(lines[:maxJoined], "; "), more)
	}
	return strings.Join(lines, "; ")
}
