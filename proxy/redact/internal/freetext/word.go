package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// valueAt returns the word that begins at a place, without what encloses it. A value in
// quotes may have any signs in it.
func valueAt(text []byte, at int) lex.Span {
	ends, quote, depth := " \t\r\n\"'`\\<>,;)]}|&", byte(0), 0
	for most := at + 40; at < len(text) && at < most && strings.IndexByte(" \t\"'`\\[{*+", text[at]) >= 0; at++ {
		switch c := text[at]; {
		case c == '\\' && at+1 < len(text) && lex.IsLetter(text[at+1]):
			if writtenLength(text[at:], 0, 0) > 0 {
				return wordFrom(text, at, ends, quote, depth)
			}
			return lex.Between(at, at) // the line ends
		case quote != 0 && c == quote && isEmptyUpTo(text, at):
			return lex.Between(at, at)
		case c == '"' || c == '\'' || c == '`':
			ends = " \t\r\n\\\"" + string(c) // a quotation mark may end the JSON around it
			quote, depth = c, len(text[:at])-len(bytes.TrimRight(text[max(at-16, 0):at], "\\"))-max(at-16, 0)
		}
	}
	if bytes.HasPrefix(text[at:], []byte("]byte(")) { // the "[" is passed already
		return valueAt(text, at+len("]byte("))
	}
	if quote := lex.Past(text, at+1, "\\", 4); at < len(text) && strings.IndexByte("bf@N", text[at]) >= 0 && quote < len(text) && (text[quote] == '"' || text[quote] == '\'') {
		return valueAt(text, at+1)
	}
	return wordFrom(text, at, ends, quote, depth)
}

// isEmptyUpTo reports whether the quotation mark at a place ends a value that has nothing in it,
// or only signs.
func isEmptyUpTo(text []byte, at int) bool {
	before := bytes.TrimRight(text[max(at-16, 0):at], "\\")
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	return strings.IndexByte("*[{", last) >= 0 || last == text[at] && at+1 < len(text) && strings.IndexByte(",}])", text[at+1]) >= 0
}

// wordFrom returns the word from a place to one of the bytes that end it.
func wordFrom(text []byte, at int, ends string, quote byte, depth int) lex.Span {
	end, limit := at, min(len(text), at+values.MaxLength+1)
	for more := 1; more > 0; end += more {
		n := bytes.IndexAny(text[end:limit], ends)
		if n < 0 {
			end = limit
			break
		}
		end += n
		more = writtenLength(text[end:limit], quote, depth)
	}
	for end > at && text[end-1] == '.' {
		end--
	}
	return lex.Between(at, end)
}

// writtenLength returns the length of a character that a text begins with and that is written
// with a sign which would end a value: a letter with an accent, \u00e4, an entity of XML, and in
// quotes what has more backslashes before it than the quotation mark. It is 0 for another one.
func writtenLength(text []byte, quote byte, depth int) int {
	switch {
	case len(text) < 2:
		return 0
	case text[0] == '&':
		return len(entity.Find(text))
	case text[0] != '\\':
		return 0
	}
	n := lex.Past(text, 0, "\\", 16)
	switch {
	case n == len(text):
		return 0
	case escapedAccent.Match(text[n:min(len(text), n+5)]):
		return n + 5
	case quote != 0 && n > depth && !lex.IsLetter(text[n]) && text[n] > ' ':
		return n + 1
	}
	return 0
}

var (
	entity        = regexp.MustCompile(`^&(?:amp|lt|gt|#\d{2,4});`)
	escapedAccent = regexp.MustCompile(`^u0[01][0-9a-fA-F]{2}$`)
)

// afterScheme returns the word after a scheme: Bearer x, token x.
func afterScheme(text []byte, value lex.Span) (lex.Span, bool) {
	scheme := value.In(text)
	if value.End >= len(text) || text[value.End] != ' ' || !isScheme(scheme) {
		return value, false
	}
	next := valueAt(text, value.End+1)
	word := next.In(text)
	if bytes.IndexByte(word, '=') > 0 && (len(word) >= values.MinSecret || bytes.HasSuffix(word, []byte("="))) {
		return next, true
	}
	return next, len(word) >= values.MinSecret && bytes.IndexByte(scheme, '-') < 0
}

// isScheme reports whether a word may be a scheme of authorization: Bearer, AWS4-HMAC-SHA256.
func isScheme(word []byte) bool {
	longest := 12
	if bytes.IndexByte(word, '-') >= 0 {
		longest = 16
	}
	if len(word) < 2 || len(word) > longest {
		return false
	}
	for _, c := range word {
		if c != '-' && !lex.IsLetter(c) && !lex.IsDigit(c) {
			return false
		}
	}
	return true
}

// afterOwnName returns a value without the name that it brings: of "secrets set KEY=x", x.
func afterOwnName(text []byte, value lex.Span) lex.Span {
	word := value.In(text)
	n := bytes.IndexByte(word, '=')
	if n <= 0 || len(bytes.TrimRight(word, "=")) == n {
		return value // the end of a base64 text
	}
	for _, c := range word[:n] {
		if strings.IndexByte("_.", c) < 0 && !lex.IsLetter(c) {
			return value
		}
	}
	value.Start += n + 1
	return value
}

// afterNext returns the value after a word that is none: a type, a member, a call.
//
//	let token: &str = "…"    "password": {"value": "…"}    token=Secret("…")
func afterNext(text []byte, word lex.Span) lex.Span {
	if word.End > word.Start && text[word.End-1] == '(' {
		return valueAt(text, word.End)
	}
	if word.End > word.Start && text[word.End-1] == ':' && word.End+1 < len(text) && strings.IndexByte("\"'\\", text[word.End+1]) >= 0 {
		return valueAt(text, word.End) // apiKey: { mainnet: "…" }
	}
	end := min(len(text), word.End+24)
	if quoted := bytes.TrimLeft(text[word.End:end], "\\"); bytes.HasPrefix(quoted, []byte(`" `)) && len(quoted) > 2 && lex.IsLetter(quoted[2]) {
		return lex.Between(word.End, word.End) // another attribute of an element of XML
	}
	n := bytes.IndexAny(text[word.End:end], "=:,;}])\n")
	if n < 0 || word.End+n+1 == end || lex.IsSeveralLines(text[word.End:word.End+n]) || text[word.End+n] != '=' && text[word.End+n] != ':' {
		return lex.Between(word.End, word.End)
	}
	return valueAt(text, word.End+n+1)
}

// lastOfUser returns the password of a user info, user:password, and any other secret as it is.
func lastOfUser(text []byte, s lex.Span) lex.Span {
	if n := bytes.IndexByte(s.In(text), ':'); n >= 0 {
		s.Start += n + 1
	}
	return s
}
