package freetext

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// lineEnd returns where the line of a place ends and where the next one begins; both are the
// end of the text if there is none. The text may be escaped.
func lineEnd(text []byte, at int) (end, next int) {
	limit := min(len(text), at+maxRow)
	for i := at; i < limit; i++ {
		n := bytes.IndexAny(text[i:limit], "\n\\")
		if n < 0 {
			break
		}
		if i += n; text[i] == '\n' {
			return i, i + 1
		}
		end, after := i, lex.Past(text, i, "\\", 8)
		if after < limit && text[after] == 'r' {
			after = lex.Past(text, after+1, "\\", 8)
		}
		if after < limit && text[after] == 'n' {
			return end, after + 1
		}
		i = max(i, after-1)
	}
	return limit, limit
}

// isLineEnd reports whether a line ends at a place.
func isLineEnd(text []byte, at int) bool {
	if text[at] == '\n' || text[at] == '\r' {
		return true
	}
	after := lex.Past(text, at, "\\", 8)
	return after > at && after < len(text) && (text[after] == 'n' || text[after] == 'r')
}

// beginsLine reports whether a line, which may be a comment of a stream, begins at a place.
func beginsLine(text []byte, at int) bool {
	for at > 0 && (text[at-1] == ' ' || text[at-1] == ':') {
		at--
	}
	return at == 0 || text[at-1] == '\n' || bytes.HasSuffix(text[:at], []byte(`\n`))
}

// lastLineEnd returns where the last line of a text begins.
func lastLineEnd(text []byte) int {
	at := bytes.LastIndexByte(text, '\n') + 1
	if n := bytes.LastIndex(text, []byte(`\n`)); n >= 0 {
		at = max(at, n+len(`\n`))
	}
	return at
}

// pastTab returns the end of tabs at a place, which may be escaped.
func pastTab(text []byte, at int) int {
	for {
		end := lex.Past(text, at, "\\", 8)
		if end == at || end == len(text) || text[end] != 't' {
			return at
		}
		at = end + 1
	}
}

func pastLetters(text []byte, at int) int {
	for at < len(text) && lex.IsLetter(text[at]) {
		at++
	}
	return at
}

const (
	maxLine = 512      // the length of the longest first line of a table, in bytes
	maxRow  = 16 << 10 // … of another one
)
