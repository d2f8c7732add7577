package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"
)

// codedText is a text and how it is written in another one.
type codedText struct{ coded, plain []byte }

// codedTexts returns the texts that stand in a text in another coding: a query, what HTML
// writes, and the base64 of JSON, which begins at some of the places.
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
	if bytes.Contains(text, []byte("&quot;")) || bytes.Contains(text, []byte("&#34;")) {
		out = append(out, codedText{text, []byte(html.UnescapeString(string(text)))})
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

// textStream is a stream of events that is looked through for texts.
type textStream struct {
	b      []byte
	events []span // those in which a member has the name of a credential
}

// texts yields what the events say in pieces, each name of each of their parts on its own, a
// window at a time, and the comments. A text is valid until the next one. Strings of one event
// are not pieces of one text.
func (t *textStream) texts() iter.Seq[[]byte] {
	type source struct {
		name         string
		depth, index int // events that repeat a whole text hold it at other depths
	}
	type joined struct {
		text []byte
		end  int // of the last piece, in b
	}
	return func(yield func([]byte) bool) {
		b, texts, known := t.b, map[source]*joined{}, new(names)
		for s := range jsonStrings(b, false) {
			key := s.key.bytesIn(b)
			at := source{string(key), s.depth, s.index}
			j := texts[at]
			if j == nil {
				j = &joined{}
				texts[at] = j
			} else if bytes.IndexByte(b[j.end:s.value.start], '\n') < 0 {
				j.text = append(j.text, '\n')
			}
			class := known.class(key)
			if class >= weakName || known.class(s.parent.bytesIn(b)) >= weakName || hasSuffixFold(key, "headers") || isArguments(key) && b[s.value.start] == '-' || s.value.end > s.value.start && b[s.value.start] == '{' {
				t.noteEvent(s.value.start)
			}
			if class == strongName {
				j.text = append(append(append(j.text, '\n'), key...), ": \""...)
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

// noteEvent notes the event that a place is in, once.
func (t *textStream) noteEvent(at int) {
	last := 0
	if n := len(t.events); n > 0 {
		last = t.events[n-1].end
	}
	if at < last {
		return
	}
	event := span{last, len(t.b)}
	if n := bytes.LastIndex(t.b[last:at], []byte("\n\n")); n >= 0 {
		event.start += n
	}
	if n := bytes.Index(t.b[at:], []byte("\n\n")); n >= 0 {
		event.end = at + n
	}
	t.events = append(t.events, event)
}

// credentials finds the credentials in the events that were noted, by structure.
func (t *textStream) credentials(own *Own, words *textSearch) (out []span) {
	for _, event := range t.events {
		text := event.bytesIn(t.b)
		found := own.addTo(searchJSON(text, true, false), text)
		out = appendShifted(appendShifted(out, found.credentials, event.start), found.said, event.start)
		words.found = append(words.found, secretsIn(text, found.said)...)
		out = appendShifted(out, words.search(text, deepestNested+1, false), event.start)
	}
	return out
}

// sessions returns the sessions in the addresses that a server of MCP tells its client to post
// to: who knows one can speak in it.
func (t *textStream) sessions() (out []string) {
	for _, m := range endpointSession.FindAllSubmatch(otherLines(t.b), -1) {
		out = append(out, string(m[1]))
	}
	return out
}

var endpointSession = regexp.MustCompile(`[?&](?i:session_?id)=([\w-]{16,})`)

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

// writtenIn returns the other texts that a value is written for: without its escapes, and what
// it is the base64 of.
func writtenIn(value string) (out []string) {
	for plain := value; len(out) < deepestNested && strings.IndexByte(plain, '\\') >= 0; {
		next := string(decodeJSON([]byte(plain)).text)
		if next == plain {
			break
		}
		plain = next
		out = append(out, plain)
	}
	if strings.IndexByte(value, '&') >= 0 {
		out = append(out, html.UnescapeString(value))
	}
	return append(out, encodedPassword(value)...)
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
