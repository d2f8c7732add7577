package freetext

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Coded is a text and how it is written in another one.
type Coded struct{ Written, Plain []byte }

// Decode returns the texts that stand in a text in another coding: a query, and the
// base64 of JSON, which begins at some of the places that [Search] returns.
func Decode(text []byte, base64Places []int) (out []Coded) {
	if len(text) > structure.MaxDecoded {
		return nil
	}
	if query := queryIn(text); query != nil {
		out = append(out, Coded{text, query})
	}
	end := 0
	for _, at := range base64Places {
		if at < end || len(out) >= maxCodedTexts {
			continue
		}
		for end = at; end < len(text) && strings.IndexByte(lex.Alphabet+"+/-_", text[end]) >= 0; {
			end++
		}
		coding := base64.RawStdEncoding
		if bytes.ContainsAny(text[at:end], "-_") {
			coding = base64.RawURLEncoding
		}
		if plain, err := coding.DecodeString(string(text[at:end])); err == nil {
			out = append(out, Coded{text[at:end], plain})
		}
	}
	return out
}

// queryIn returns a text without the escapes of URLs, nil if it has none that a name or a sign may
// stand in.
func queryIn(text []byte) []byte {
	first := bytes.IndexByte(text, '%')
	if first < 0 {
		return nil
	}
	if structure.IsForm(text) {
		return unescapeURL(bytes.ReplaceAll(text, []byte("+"), []byte(" ")))
	}
	for _, sign := range []string{"%3D", "%22", "%3A"} {
		if bytes.Contains(text[first:], []byte(sign)) {
			return unescapeURL(text)
		}
	}
	return nil
}

// base64Object begins the base64 of a JSON object.
const base64Object = "eyJ"

// maxCodedTexts bounds how many texts in another coding are looked into.
const maxCodedTexts = 256

// unescapeURL returns a text of a query without its escapes.
func unescapeURL(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			var plain [1]byte
			if _, err := hex.Decode(plain[:], text[i+1:i+3]); err == nil {
				c, i = plain[0], i+2
			}
		}
		out = append(out, c)
	}
	return out
}

// Forms returns the other texts that a value is written for: without its escapes, and what
// it is the base64 of.
func Forms(value string) (out []string) {
	for plain := value; len(out) < jsonscan.DeepestNested && strings.IndexByte(plain, '\\') >= 0; {
		next := string(jsonscan.DecodeJSON([]byte(plain)).Text)
		if next == plain {
			break
		}
		plain = next
		out = append(out, plain)
	}
	return append(out, values.EncodedPassword(value)...)
}
