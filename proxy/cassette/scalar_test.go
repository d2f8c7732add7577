package cassette

import (
	"bytes"
	"testing"
)

// Eight bytes at once are plain when each of them is: whatever stands at whatever place.
func TestPlainWord(t *testing.T) {
	for place := range wordSize {
		for c := range 256 {
			for _, others := range []byte{' ', 'x', '~'} {
				word := bytes.Repeat([]byte{others}, wordSize)
				word[place] = byte(c)
				if want := ' ' <= c && c <= '~'; isPlainWord(word) != want {
					t.Errorf("%q: plain %t", word, !want)
				}
			}
		}
	}
	if isPlainWord([]byte("seven b")) {
		t.Error("seven bytes are taken for eight")
	}
}
