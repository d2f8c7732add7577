package check

import (
	"strconv"
	"unicode/utf8"
)

// Comparison shows two values side by side around the first byte that differs. Its
// excerpts hold printable characters only; of a token they hold a few around the
// difference, too little to use it.
type Comparison struct {
	// Expected is what the provider emitted or an earlier request held, Actual what
	// was sent.
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	// Mark is where both excerpts differ first, in characters from their start.
	Mark int `json:"mark"`
	// Differs is the offset in bytes of the first difference in the whole values,
	// which have ExpectedBytes and ActualBytes.
	Differs       int `json:"differs"`
	ExpectedBytes int `json:"expected_bytes"`
	ActualBytes   int `json:"actual_bytes"`
}

// difference says in a sentence how two values differ, and shows it.
type difference struct {
	sentence string
	Comparison
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
func newComparison(was, is string, context int) Comparison {
	at := firstDifference(was, is)
	c := Comparison{Differs: at, ExpectedBytes: len(was), ActualBytes: len(is)}
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
