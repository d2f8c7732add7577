package decide

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Compare compares two values and shows up to context bytes on either side of the first
// difference.
func Compare(was, is string, context int) Comparison {
	at := FirstDifference(was, is)
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
	before := printableText(s[from:at])
	if from > 0 {
		before = "…" + before
	}
	excerpt = before + printableText(s[at:to])
	if to < len(s) {
		excerpt += "…"
	}
	return excerpt, utf8.RuneCountInString(before)
}

// printableText writes what cannot be seen as an escape. Quotation marks and backslashes stay, so that
// characters agree with bytes.
func printableText(s string) string {
	quoted := strconv.Quote(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

// FirstDifference is the offset of the first byte in which two values differ.
func FirstDifference[T string | []byte](a, b T) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
