package structure

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// MaxDecoded is the length of the longest text that is decoded to look into it, in bytes: a copy
// of it is in memory.
const MaxDecoded = 16 << 20

// documentIn returns the text that a string is the base64 of: a file that a client uploaded.
// Images and signatures show by their beginning that they are none.
func documentIn(text []byte) ([]byte, bool) {
	const beginning = 32
	if len(text) < beginning || len(text) > MaxDecoded || !isPrintable(text[:beginning]) {
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

// nestedCredentials finds the credentials in a document that is written as a string.
func (j *jsonSearch) nestedCredentials(offset int, raw []byte) []lex.Span {
	if j.depth >= jsonscan.DeepestNested || len(raw) > jsonscan.MaxNested || !jsonscan.IsDocument(raw) {
		return nil
	}
	return j.credentialsIn(offset, raw, j.isReply, j.isSaid)
}

// credentialsIn finds the credentials in a text that is written as a string, at offset.
func (j *jsonSearch) credentialsIn(offset int, raw []byte, isReply, isSaid bool) []lex.Span {
	d := jsonscan.DecodeJSON(raw)
	inner := jsonSearch{b: d.Text, isReply: isReply, isSaid: isSaid, isIssuer: j.isIssuer, depth: j.depth + 1,
		names: j.names, seen: j.seen}
	found := inner.search(jsonscan.Strings(d.Text, true))
	if isSaid {
		found.Credentials = append(found.Credentials, found.Said...)
	} else {
		j.found.Said = lex.AppendShifted(j.found.Said, d.EscapedSpans(found.Said), offset)
	}
	return d.EscapedSpans(found.Credentials)
}

// settingIn finds the credentials inside a setting, which may be several lines of them.
func settingIn(raw []byte) []lex.Span {
	if len(raw) > maxSetting || bytes.IndexByte(raw, '\\') < 0 {
		return settingSecrets(raw)
	}
	d := jsonscan.DecodeJSON(raw)
	return d.EscapedSpans(settingSecrets(d.Text))
}

// argumentIn finds the credentials in an argument, given the one before it.
func argumentIn(raw, previous []byte) []lex.Span {
	if len(raw) > maxSetting || bytes.IndexByte(raw, '\\') < 0 {
		return argumentSecrets(raw, previous)
	}
	d := jsonscan.DecodeJSON(raw)
	return d.EscapedSpans(argumentSecrets(d.Text, previous))
}

// parameterIn finds the credentials inside the value of a parameter: in a URL or a document that
// it holds.
func parameterIn(raw []byte) (out []lex.Span) {
	if len(raw) > jsonscan.MaxNested {
		return nil
	}
	d := jsonscan.DecodeURL(string(raw))
	switch {
	case jsonscan.IsDocument(d.Text):
		out = searchJSON(d.Text, false, false).Credentials
	case len(raw) <= maxSetting:
		out = dropGuessable(d.Text, AddressSecrets(d.Text))
	}
	return d.EscapedSpans(out)
}
