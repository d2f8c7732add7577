package check

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/decide"
)

// TestNewComparison holds that both excerpts differ first at the mark, also within a
// character of several bytes, and that control characters are visible.
func TestNewComparison(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		was, is, expected, actual string
		mark, differs             int
	}{
		{"abc", "abd", "abc", "abd", 2, 2},
		{"abc", "ab", "abc", "ab", 2, 2},
		{"", "a", "", "a", 0, 0},
		{"a\nb", "a\tb", `a\nb`, `a\tb`, 1, 1},
		{"né", "nè", "né", "nè", 1, 2},
		{long + "1" + long, long + "2" + long, "…xxxx1xxxx…", "…xxxx2xxxx…", 5, 100},
		{long, long + "y", "…xxxx", "…xxxxy", 5, 100},
		{"\x1b[31m", "b", `\x1b[31m`, "b", 0, 0},
	} {
		got := decide.Compare(c.was, c.is, 4)
		want := decide.Comparison{Expected: c.expected, Actual: c.actual, Mark: c.mark, Differs: c.differs,
			ExpectedBytes: len(c.was), ActualBytes: len(c.is)}
		if got != want {
			t.Errorf("%q and %q:\n got %+v\nwant %+v", c.was, c.is, got, want)
		}
		if !utf8.ValidString(got.Expected + got.Actual) {
			t.Errorf("%+v is not valid UTF-8", got)
		}
	}
}

// TestTokensStayMasked holds that a comparison of tokens shows too little of them.
func TestTokensStayMasked(t *testing.T) {
	was := strings.Repeat("AbCdEfGhIj", 30)
	is := was[:150] + "#" + was[151:]
	d := describeDifference(was, is)
	if shown := len(d.Expected) + len(d.Actual); shown > 40 || !strings.Contains(d.Actual, "#") {
		t.Errorf("%+v", d.Comparison)
	}
}
