package values

import (
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
)

const (
	accented   = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿĄąĆćĘęŁłŃńŚśŹźŻżČčĎďĚěŇňŘřŠšŤťŮůŽžĞğİıŞşŐőŰű"
	unaccented = "AAAAAAACEEEEIIIIDNOOOOOOUUUUYTsaaaaaaaceeeeiiiidnoooooouuuuytyAaCcEeLlNnSsZzZzCcDdEeNnRrSsTtUuZzGgIiSsOoUu"
)

// accents are the letters with an accent and what they are without it.
var accents = func() map[rune]byte {
	out, n := map[rune]byte{}, 0
	for _, letter := range accented {
		out[letter] = unaccented[n]
		n++
	}
	return out
}()

// withoutAccents returns a value without accents, which may be escaped, and reports whether it
// has some. A value with letters of another alphabet has none: it is a word.
func withoutAccents(value []byte) (plain []byte, hasAccents bool) {
	value = []byte(unescaped(string(value)))
	for len(value) > 0 {
		c, size := utf8.DecodeRune(value)
		if value = value[size:]; c < utf8.RuneSelf {
			plain = append(plain, byte(c)) //nolint:gosec // is ASCII
			continue
		}
		letter, isAccented := accents[c]
		if !isAccented {
			return nil, false
		}
		plain, hasAccents = append(plain, letter), true
	}
	return plain, hasAccents
}

// unescaped returns a value without the escapes of JSON for letters, at any depth.
func unescaped(v string) string {
	if !strings.Contains(v, `\u`) {
		return v
	}
	return string(jsonscan.DecodeJSON([]byte(strings.ReplaceAll(v, `\\`, `\`))).Text)
}
