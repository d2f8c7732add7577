package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

var (
	// namesBefore and namesAfter match the other names of user, password = "…", "…".
	namesBefore = regexp.MustCompile(`(?:[\w.$@]{1,40}, ?){1,4}$`)
	namesAfter  = regexp.MustCompile(`^(?:, ?[\w.$@]{1,40}){0,4}[\])]? ?:?= ?[\[(]?`)
	// element matches the first element of a list of strings and numbers.
	element = regexp.MustCompile(`^ ?(?:\\*"[^"\\]*\\*"|\\*'[^'\\]*\\*'|[\w.]+), ?`)
)

// maxTuple is how much of a text the names of a tuple may take, in bytes.
const maxTuple = 120

// lookAtTuple looks at the value of a name that is one of several in an assignment, and reports
// whether it is one.
func (w *search) lookAtTuple(name lex.Span) bool {
	text := w.text
	before := text[max(name.Start-maxTuple, 0):name.Start]
	isFirst := !bytes.HasSuffix(before, []byte(",")) && !bytes.HasSuffix(before, []byte(", "))
	if isFirst && text[name.End] != ',' {
		return false
	}
	rest := text[name.End:min(len(text), name.End+maxTuple)]
	if n := bytes.IndexByte(rest, '='); n < 0 || bytes.IndexAny(rest[:n], "\n(") >= 0 || bytes.IndexAny(rest[n:], "\"'`") < 0 {
		return false
	}
	skip := 0
	if !isFirst {
		skip = bytes.Count(namesBefore.Find(before), []byte(","))
	}
	sign := namesAfter.Find(rest)
	if sign == nil || isFirst == (skip > 0) {
		return false
	}
	at := name.End + len(sign)
	for range skip {
		m := element.Find(text[at:min(len(text), at+maxTuple)])
		if m == nil {
			return false
		}
		at += len(m)
	}
	value := valueAt(text, at)
	return isAfterAny(text, value, "\"'`") && w.addIfSecret(name, value, values.LiteralPlaceUnder(name.In(text)))
}
