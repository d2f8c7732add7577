package script

import (
	"testing"

	"pgregory.net/rapid"
)

// TestStrings holds that strings are written as encoding/json writes them.
func TestStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(),
			rapid.StringOf(rapid.RuneFrom([]rune("a\"\\\x00\x1f\x7f\n\t\b\f\r/<>&\u2028\u2029é😀\ufffd"))),
			rapid.Custom(func(t *rapid.T) string {
				return string(rapid.SliceOf(rapid.Byte()).Draw(t,
					"bytes"))
			})).Draw(t, "s")
		if got, want := string(JSON(s)), string(plainJSON(s)); got != want {
			t.Fatalf("%q is written %s, want %s", s, got, want)
		}
	})
}
