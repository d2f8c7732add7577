package cassette

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// ParseErrorText returns what a YAML or JSON parser found wrong, without a quotation from the
// file: it may be any file that was named by mistake.
func ParseErrorText(err error) string {
	if e := (*yaml.TypeError)(nil); errors.As(err, &e) && len(e.Errors) > 0 {
		return typeErrorText(e.Errors[0])
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

// typeErrorText shortens an error of yaml.v3 about a value of the wrong kind:
// the line, and what is wrong there.
func typeErrorText(text string) string {
	line, what, _ := strings.Cut(text, ": ")
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
