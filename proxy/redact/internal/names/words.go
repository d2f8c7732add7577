package names

import (
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// nameWords are the words of a name: all of them joined, the last one, where it begins, and
// the one before it.
type nameWords struct {
	joined, last, previous []byte
	lastAt                 int
}

// splitName splits a name at separators and at changes of case, in lower case, without
// digits: "x-goog-APIKey2" is x, goog, api, key. The words are written to space, which has
// room for the name.
func splitName(space []byte, name string) nameWords {
	joined, last, previous, lastAt, isInside := space, 0, 0, 0, false
	for i := range len(name) {
		c := name[i]
		if !lex.IsLetter(c) {
			isInside = false
			continue
		}
		isHump := lex.IsUpper(c) && isInside &&
			(!lex.IsUpper(name[i-1]) || i+1 < len(name) && lex.IsLetter(name[i+1]) && !lex.IsUpper(name[i+1]))
		if !isInside || isHump {
			previous, last, lastAt = last, len(joined), i
		}
		isInside = true
		joined = append(joined, c|0x20) // in lower case
	}
	return nameWords{joined, joined[last:], joined[previous:last], lastAt}
}

// LastWord returns the last word of a name, in lower case.
func LastWord(name string) string {
	var space [MaxLength]byte
	if len(name) > MaxLength {
		return ""
	}
	return string(splitName(space[:0], name).last)
}

// HasSeveralWords reports whether a name has several words.
func HasSeveralWords(name string) bool {
	var space [MaxLength]byte
	return len(name) <= MaxLength && splitName(space[:0], name).lastAt > 0
}

// Spelling returns a name in lower case without separators.
func Spelling(name []byte) string {
	return strings.ToLower(separators.Replace(string(name)))
}

var separators = strings.NewReplacer("_", "", "-", "")
