package gate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// randomJSON appends a value, with spaces where they may stand.
func randomJSON(dst []byte, random *rand.Rand, depth int) []byte {
	texts := []string{"", "a", `\`, `\\`, `"`, `a\"`, "é\n", ":", `{"`, "index", "\x01"}
	space := func() { dst = append(dst, []string{"", "", " ", "\n\t"}[random.IntN(4)]...) }
	text := func() {
		quoted, _ := jsontext.AppendQuote(nil, texts[random.IntN(len(texts))]+texts[random.IntN(len(texts))])
		dst = append(dst, quoted...)
	}
	many := random.IntN(4)
	switch kind := random.IntN(6); {
	case kind < 2 && depth < 5:
		brackets := []string{"[]", "{}"}[kind]
		dst = append(dst, brackets[0])
		for i := range many {
			if i > 0 {
				dst = append(dst, ',')
			}
			if space(); kind == 1 {
				text()
				space()
				dst = append(dst, ':')
				space()
			}
			dst = randomJSON(dst, random, depth+1)
			space()
		}
		return append(dst, brackets[1])
	case kind == 2:
		return append(dst, []string{"0", "-1", "12.5", "1e-7"}[many]...)
	case kind == 3:
		return append(dst, []string{"true", "false", "null", "null"}[many]...)
	}
	text()
	return dst
}

// tokensOf lists what a decoder reads.
func tokensOf(doc []byte) (out []string) {
	decoder := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowDuplicateNames(true))
	for {
		kind := decoder.PeekKind()
		inside, n := decoder.StackIndex(decoder.StackDepth())
		depth := decoder.StackDepth()
		if kind != '"' && kind != '0' {
			if _, err := decoder.ReadToken(); err != nil {
				return out
			}
			continue
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return out
		}
		out = append(out, fmt.Sprint(string(value), kind == '"' && inside == '{' && n%2 == 0, depth))
	}
}

func scanned(doc []byte) (out []string) {
	for token := range jsonTokens(doc) {
		out = append(out, fmt.Sprint(string(token.text), token.isName, token.depth))
	}
	return out
}

// A valid document has the names, strings and numbers that a decoder reads.
func TestTokensOfValidJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	for range 20000 {
		doc := randomJSON(nil, random, 0)
		if got, want := scanned(doc), tokensOf(doc); !slices.Equal(got, want) {
			t.Fatalf("%s\nscanned %q\ndecoded %q", doc, got, want)
		}
	}
}

// What stands behind a fault is seen, too; a string without an end is not.
func TestTokensOfOtherTexts(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":"b" "c":"d"}`:        `"a" "b" "c" "d"`,
		`{"a":tru,"b":"c"]}`:       `"a" "b" "c"`,
		`{"a":"b","c":"cut`:        `"a" "b" "c"`,
		`{"a":"b","c":"cut\"`:      `"a" "b" "c"`,
		`]]{"a":1}{"b":"\\"}`:      `"a" 1 "b" "\\"`,
		"no JSON, 12 of \"these\"": `12 "these"`,
		`"\\\""x"y"`:               `"\\\"" "y"`,
		``:                         ``,
	} {
		var got []string
		for token := range jsonTokens([]byte(doc)) {
			got = append(got, string(token.text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %s", doc, got, want)
		}
	}
}
