package terminal

import "testing"

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"    one two three", 12, "    one two\n  three"},
		{"    at: éé éé é", 12, "    at: éé\n  éé é"},
		{"one two", 0, "one two"},
		{"fail  one  (two)", 10, "fail  one\n  (two)"},
		{"fail  eleventeen (two)", 12, "fail\n  eleventeen\n  (two)"},
		{"averyveryverylongword and more", 8, "averyveryverylongword\n  and\n  more"},
	} {
		if got := Wrap(c.text, c.width, "  "); got != c.want {
			t.Errorf("%q in %d: %q", c.text, c.width, got)
		}
	}
}
