package values

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// IsExpression reports whether a value is too short or too long for a secret or is what
// a program evaluates: $X, f(x), {{x}}.
func IsExpression(value []byte) bool {
	_, isExpression := lookOver(value)
	return isExpression
}

// lookOver looks through a value once: whether it has a digit, and whether it is an expression.
func lookOver(value []byte) (hasDigit, isExpression bool) {
	if len(value) < MinWord || len(value) > MaxLength || beginsExpression(value) {
		return false, true
	}
	for i, c := range value {
		switch {
		case lex.IsDigit(c):
			hasDigit = true
		case c < '!' || c > '~': // what was redacted in base64 decodes to that
			return false, true
		case strings.IndexByte("({\\:", c) >= 0 && isExpressionAt(value, i):
			return false, true
		}
	}
	return hasDigit, false
}

// isExpressionAt reports whether a sign in a value shows that it is an expression: f(x), ${X}, {{x}}, C:\X, a://b.
func isExpressionAt(value []byte, at int) bool {
	switch value[at] {
	case '(':
		return isName(value[:at]) && isCallEnd(value)
	case '{':
		return value[at-1] == '$' || value[at-1] == '{'
	case ':':
		return bytes.HasPrefix(value[at:], []byte("://"))
	default:
		return at == 2 && value[1] == ':'
	}
}

// beginsExpression reports whether a value begins as what a program evaluates, or as what was replaced already.
func beginsExpression(value []byte) bool {
	return bytes.HasPrefix(value, []byte(Mark)) || bytes.HasPrefix(value, []byte("ENC[")) ||
		strings.IndexByte("$<{(.@%", value[0]) >= 0 && !isEscapedLetter(value)
}

// isEscapedLetter reports whether a value begins with a letter with an accent as URLs have it: %C3%96.
func isEscapedLetter(value []byte) bool {
	return value[0] == '%' && value[1]|0x20 == 'c' && value[3] == '%'
}

// isCallEnd reports whether a text ends as a call does: f(x), f(x).y, or within its arguments.
func isCallEnd(text []byte) bool {
	end := bytes.LastIndexByte(text, ')') + 1
	return end == 0 || isName(text[end:]) && (end == len(text) || !lex.IsDigit(text[end]))
}

// isName reports whether a text has only what names of programs have.
func isName(text []byte) bool {
	for _, c := range text {
		if !lex.IsNameByte(c) {
			return false
		}
	}
	return true
}

// operators matches what stands between the parts of an expression.
var operators = regexp.MustCompile(`[!=]=|&&|\?\.|!\.|\?\?|\+\+|->|=>|%[svdq]|\*\*\*`)
