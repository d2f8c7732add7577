package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"strings"
	"unicode/utf8"
)

// codedText is a text and how it is written in another one.
type codedText struct{ coded, plain []byte }

// codedTexts returns the texts that stand in a text in another coding: a query, and the base64
// of JSON, which begins at some of the places.
func codedTexts(text []byte, base64Places []int) (out []codedText) {
	if len(text) > maxCoded {
		return nil
	}
	if first := bytes.IndexByte(text, '%'); first >= 0 {
		escaped := text[first:]
		if isQuery := isForm(text); isQuery || bytes.Contains(escaped, []byte("%3D")) || bytes.Contains(escaped, []byte("%22")) || bytes.Contains(escaped, []byte("%3A")) {
			query := text
			if isQuery {
				query = bytes.ReplaceAll(text, []byte("+"), []byte(" "))
			}
			out = append(out, codedText{text, unescapeURL(query)})
		}
	}
	end := 0
	for _, at := range base64Places {
		if at < end || len(out) >= maxCodedTexts {
			continue
		}
		for end = at; end < len(text) && strings.IndexByte(alphabet+"+/-_", text[end]) >= 0; {
			end++
		}
		coding := base64.RawStdEncoding
		if bytes.ContainsAny(text[at:end], "-_") {
			coding = base64.RawURLEncoding
		}
		if plain, err := coding.DecodeString(string(text[at:end])); err == nil {
			out = append(out, codedText{text[at:end], plain})
		}
	}
	return out
}

// maxCoded is the length of the longest text that is decoded to look into it, in bytes: a copy
// of it is in memory.
const maxCoded = 16 << 20

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

// base64Object begins the base64 of a JSON object.
const base64Object = "eyJ"

// maxCodedTexts bounds how many texts in another coding are looked into.
const maxCodedTexts = 256

// streamTexts yields the texts that the events of a stream say in pieces, each name of each of
// its parts on its own, a window at a time, and its comments. A text is valid until the next
// one. Strings of one event are not pieces of one text.
func streamTexts(b []byte) iter.Seq[[]byte] {
	type source struct {
		name         string
		depth, index int // events that repeat a whole text hold it at other depths
	}
	type joined struct {
		text []byte
		end  int // of the last piece, in b
	}
	return func(yield func([]byte) bool) {
		texts, known := map[source]*joined{}, new(names)
		for s := range jsonStrings(b, false) {
			at := source{string(s.key.bytesIn(b)), s.depth, s.index}
			j := texts[at]
			if j == nil {
				j = &joined{}
				texts[at] = j
			} else if bytes.IndexByte(b[j.end:s.value.start], '\n') < 0 {
				j.text = append(j.text, '\n')
			}
			if key := s.key.bytesIn(b); known.class(key) == strongName {
				j.text = append(append(append(j.text, '\n'), key...), ": "...)
			}
			j.text, j.end = append(j.text, s.value.bytesIn(b)...), s.value.end
			if len(j.text) >= window+maxWordSecret {
				if !yield(j.text) {
					return
				}
				j.text = append(j.text[:0], j.text[len(j.text)-maxWordSecret:]...)
			}
		}
		for _, j := range texts {
			if !yield(j.text) {
				return
			}
		}
		yield(otherLines(b))
	}
}

// otherLines returns the comments of a stream, and its data that is not JSON.
func otherLines(b []byte) (out []byte) {
	for line := range bytes.Lines(b) {
		if line[0] == ':' {
			out = append(out, line[1:]...)
		} else if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data) > 1 && !isDocument(data) {
			out = append(out, data...)
		}
	}
	return out
}

// encodedPassword returns what a value holds that is the base64 of user:password or of one
// word, as in the files of docker and of Kubernetes.
func encodedPassword(value string) []string {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil || bytes.ContainsFunc(plain, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil
	}
	_, password, isPair := bytes.Cut(plain, []byte(":"))
	if !isPair {
		password = plain
	}
	if !isSecretIn(password, passwordPlace) {
		return nil
	}
	return []string{string(password)}
}

// documentIn returns the text that a string is the base64 of: a file that a client uploaded.
// Images and signatures show by their beginning that they are none.
func documentIn(text []byte) ([]byte, bool) {
	const beginning = 32
	if len(text) < beginning || len(text) > maxCoded || !isPrintable(text[:beginning]) {
		return nil, false
	}
	plain, err := base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(text, "=")))
	return plain, err == nil
}

// isPrintable reports whether a text is the base64 of the beginning of a text.
func isPrintable(coded []byte) bool {
	var space [64]byte
	n, err := base64.RawStdEncoding.Decode(space[:], coded)
	plain := space[:n]
	for err == nil && len(plain) > 0 {
		c, size := utf8.DecodeRune(plain)
		if c == utf8.RuneError && len(plain) >= utf8.UTFMax || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
		plain = plain[size:]
	}
	return err == nil
}
