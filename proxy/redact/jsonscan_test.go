package redact

import (
	"strings"
	"testing"
)

// stringEnd finds what a look at each byte finds, in all texts of up to seven of the bytes
// that matter.
func TestStringEnd(t *testing.T) {
	byteByByte := func(text string) int {
		for i := 0; i < len(text); i++ {
			switch text[i] {
			case '"', '\n':
				return i
			case '\\':
				i++
			}
		}
		return len(text)
	}
	const letters = "a\"\\\n"
	var text func(prefix string)
	text = func(prefix string) {
		if got, want := stringEnd([]byte(prefix), 0), byteByByte(prefix); got != want {
			t.Errorf("%q ends at %d, want %d", prefix, got, want)
		}
		if len(prefix) < 7 {
			for _, c := range strings.Split(letters, "") {
				text(prefix + c)
			}
		}
	}
	text("")
}
