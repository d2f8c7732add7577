package jsonscan

import (
	"iter"
	"slices"
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

// An index yields what a scan of the text does, however many strings the text has, and however often
// and however far the strings are read.
func TestIndex(t *testing.T) {
	event := "data: {\"index\":1,\"delta\":{\"text\":\"some \\\"words\\\"\",\"headers\":{\"name\":\"x-key\",\"value\":\"v\"}}}\n\n"
	for _, text := range []string{"", "no JSON", event, strings.Repeat(event, mostKept/5),
		strings.Repeat(event, mostKept)} {
		x := NewIndex([]byte(text))
		for range x.Strings(true) {
			break
		}
		for _, withRegions := range []bool{false, true, false} {
			got, want := collect(x.Strings(withRegions)), collect(Strings([]byte(text), withRegions))
			if !slices.Equal(got, want) {
				t.Errorf("%.20q of %d bytes, %v: %d strings, want %d", text, len(text), withRegions,
					len(got), len(want))
			}
		}
		if isLong := len(text) > mostKept*len(event)/5; x.isLong != isLong {
			t.Errorf("%d bytes: too long to keep is %v", len(text), x.isLong)
		}
	}
}

// collect returns strings without their regions, which not every scan follows.
func collect(strings iter.Seq[String]) (out []String) {
	for s := range strings {
		s.Region = Settings
		out = append(out, s)
	}
	return out
}
