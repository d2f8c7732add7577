package jsonscan

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

// Names of objects deeper than any document has them are not kept.
func TestDeepObjectsAreNotKept(t *testing.T) {
	s := scanner{}
	for range 1 << 20 {
		s.openObject(0, 0)
	}
	if cap(s.outer) > 2*deepest {
		t.Errorf("%d names kept", cap(s.outer))
	}
}
