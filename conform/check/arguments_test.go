package check

import (
	"strings"
	"testing"
)

// TestDescribeArguments: the value that differs is shown, not a spelling before it,
// and a rounded integer is called that.
func TestDescribeArguments(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{`{"s":"\u0041", "id":12345678901234567}`, `{"s":"A","id":12345678901234568}`,
			"differs at .id: was 12345678901234567, is 12345678901234568, rounded"},
		{`{"a":[1,{"b.c":"x"}]}`, `{"a":[1,{"b.c":"y"}]}`, `differs at .a[1].b.c: was "x", is "y"`},
		{`{"a":1}`, `{}`, "differs at .a: is gone"},
		{`{"a":1.5}`, `{"a":1.50001}`, "differs at .a: was 1.5, is 1.50001"},
		{`{"a":1}`, `{"a": 1}`, "differs from byte 5 on"},
		{`{"a":`, `{}`, "differs from byte 1 on"},
	} {
		if got := describeArguments(c.was, c.is).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.is, got, c.want)
		}
	}
}
