package check

import (
	"strconv"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/decide"
)

// difference says in a sentence how two values differ, and shows it.
type difference struct {
	sentence string
	decide.Comparison
}

// String is the sentence, so that a difference is an argument of a message.
func (d difference) String() string { return d.sentence }

// Bytes of context that excerpts show before and behind a difference.
const (
	textContext  = 32
	tokenContext = 4
)

// newComparison compares two values with up to context bytes on either side of the
// first difference.
func newComparison(was, is string, context int) decide.Comparison {
	at := firstDifference(was, is)
	c := decide.Comparison{Differs: at, ExpectedBytes: len(was), ActualBytes: len(is)}
	c.Expected, c.Mark = excerptAround(was, at, context)
	c.Actual, _ = excerptAround(is, at, context)
	return c
}

// excerptAround returns printable text of s around byte at, and how many characters
// of it stand before that byte.
func excerptAround(s string, at, context int) (excerpt string, mark int) {
	from, to := max(0, at-context), min(len(s), at+context+1)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for at > from && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	before := printable(s[from:at])
	if from > 0 {
		before = "…" + before
	}
	excerpt = before + printable(s[at:to])
	if to < len(s) {
		excerpt += "…"
	}
	return excerpt, utf8.RuneCountInString(before)
}

// printable writes what cannot be seen as an escape.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
