package redact

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// decodedText is a text without its escapes that knows where each byte was written.
type decodedText struct {
	text []byte
	at   []int // for each byte of text, and for its end: the offset in the escaped text
}

// escapedSpans returns spans of the decoded text as spans of the escaped one.
func (d decodedText) escapedSpans(spans []span) []span {
	for i, s := range spans {
		spans[i] = span{d.at[s.start], d.at[s.end]}
	}
	return spans
}

func (d *decodedText) add(at int, text ...byte) {
	for _, c := range text {
		d.text, d.at = append(d.text, c), append(d.at, at)
	}
}

// decodeJSON decodes the raw text of a JSON string. Text that is not an escape stays as
// it is.
func decodeJSON(raw []byte) (d decodedText) {
	for i := 0; i < len(raw); {
		text, size := decodeEscape(raw[i:])
		d.add(i, text...)
		i += size
	}
	d.at = append(d.at, len(raw))
	return d
}

// decodeEscape decodes the first character of raw, and says how long it is there.
func decodeEscape(raw []byte) (text []byte, size int) {
	if raw[0] != '\\' || len(raw) < 2 {
		return raw[:1], 1
	}
	if n := bytes.IndexByte([]byte("nrtbf"), raw[1]); n >= 0 {
		return []byte{"\n\r\t\b\f"[n]}, 2
	}
	if raw[1] == 'u' && len(raw) >= 6 {
		if code, err := strconv.ParseUint(string(raw[2:6]), 16, 16); err == nil {
			return utf8.AppendRune(nil, rune(code)), 6
		}
	}
	return raw[1:2], 2
}

// decodeURL decodes a value of a query or a form.
func decodeURL(raw string) (d decodedText) {
	for i := 0; i < len(raw); i++ {
		d.at = append(d.at, i)
		c := raw[i]
		if c == '+' {
			c = ' '
		}
		if c == '%' && i+2 < len(raw) {
			if code, err := strconv.ParseUint(raw[i+1:i+3], 16, 8); err == nil {
				c, i = byte(code), i+2
			}
		}
		d.text = append(d.text, c)
	}
	d.at = append(d.at, len(raw))
	return d
}

// maxNested is the length of the longest text that is decoded to look into it, in bytes,
// and deepestNested how many texts may stand inside each other.
const (
	maxNested     = 256 << 10
	deepestNested = 4
)

// isDocument reports whether a text is a JSON object or array.
func isDocument(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 1 && (text[0] == '{' || text[0] == '[')
}

// nestedCredentials finds the credentials in a document that is written as a string.
func (j *jsonSearch) nestedCredentials(offset int, raw []byte) []span {
	if j.depth >= deepestNested || len(raw) > maxNested || !isDocument(raw) {
		return nil
	}
	return j.credentialsIn(offset, raw, j.isReply, j.isSaid)
}

// credentialsIn finds the credentials in a text that is written as a string, at offset.
func (j *jsonSearch) credentialsIn(offset int, raw []byte, isReply, isSaid bool) []span {
	d := decodeJSON(raw)
	inner := jsonSearch{b: d.text, isReply: isReply, isSaid: isSaid, isIssuer: j.isIssuer, depth: j.depth + 1, names: j.names, seen: j.seen}
	found := inner.search()
	if isSaid {
		found.credentials = append(found.credentials, found.said...)
	} else {
		j.found.said = appendShifted(j.found.said, d.escapedSpans(found.said), offset)
	}
	return d.escapedSpans(found.credentials)
}

// settingIn finds the credentials inside a setting, which may be several lines of them.
func settingIn(raw []byte) []span {
	if len(raw) > maxSetting || bytes.IndexByte(raw, '\\') < 0 {
		return settingSecrets(raw)
	}
	d := decodeJSON(raw)
	return d.escapedSpans(settingSecrets(d.text))
}

// argumentIn finds the credentials in an argument, given the one before it.
func argumentIn(raw, previous []byte) []span {
	if len(raw) > maxSetting || bytes.IndexByte(raw, '\\') < 0 {
		return argumentSecrets(raw, previous)
	}
	d := decodeJSON(raw)
	return d.escapedSpans(argumentSecrets(d.text, previous))
}

// parameterIn finds the credentials inside the value of a parameter: in a URL, a document or
// a query of GraphQL that it holds.
func parameterIn(raw []byte) (out []span) {
	if len(raw) > maxNested {
		return nil
	}
	d := decodeURL(string(raw))
	switch {
	case isDocument(d.text):
		found := searchJSON(d.text, false, false)
		named, _ := searchWords(d.text)
		for _, s := range named {
			out = append(out, s.value)
		}
		found.addWords(out)
		out = found.credentials
	case len(raw) <= maxSetting:
		out = dropGuessable(d.text, addressSecrets(d.text))
	}
	return d.escapedSpans(out)
}
