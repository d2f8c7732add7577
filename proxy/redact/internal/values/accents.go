package values

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
)

// withoutAccents returns a value, which may be escaped, with an English letter in place of each other one, and reports
// whether it has some. A value with other signs that English does not have is none.
func withoutAccents(value []byte) (plain []byte, hasAccents bool) {
	if bytes.IndexByte(value, '\\') < 0 && bytes.IndexFunc(value, func(c rune) bool { return c >= utf8.RuneSelf }) < 0 {
		return value, false
	}
	if strings.Contains(string(value), `\u`) {
		value = jsonscan.DecodeJSON([]byte(strings.ReplaceAll(string(value), `\\`, `\`))).Text
	}
	for _, c := range string(value) {
		switch {
		case c < utf8.RuneSelf:
			plain = append(plain, byte(c)) //nolint:gosec // is ASCII
		case unicode.IsLetter(c):
			plain, hasAccents = append(plain, 'e'), true
		default:
			return nil, false
		}
	}
	return plain, hasAccents
}
