// Package lex holds what every search of package redact reads a text with: ranges of bytes
// ([Span]), kinds of bytes, and sets of words. It knows nothing of credentials.
package lex

import "strings"

const (
	// Digits are the ASCII digits.
	Digits = "0123456789"
	// Letters are the ASCII letters.
	Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// Alphabet needs no escape in JSON, URLs, base64 or headers.
	Alphabet = Letters + Digits
)

// IsUpper reports whether c is an ASCII capital letter.
func IsUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return IsUpper(c) || 'a' <= c && c <= 'z' }

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsASCIILetter is [IsLetter] for a rune.
func IsASCIILetter(c rune) bool { return c < 0x80 && IsLetter(byte(c)) } //nolint:gosec // is ASCII

// IsNameByte reports whether c may stand in a name: of a variable, a member, a header, a flag.
func IsNameByte(c byte) bool { return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.' }

// IsAlphanumericAt reports whether a letter or a digit is at a place, which may be outside of
// the text.
func IsAlphanumericAt(text []byte, at int) bool {
	return at >= 0 && at < len(text) && (IsDigit(text[at]) || IsLetter(text[at]))
}

// Words returns the words of several groups, which spaces separate.
func Words(groups ...string) (out []string) {
	for _, group := range groups {
		out = append(out, strings.Fields(group)...)
	}
	return out
}

// Set returns the words of several groups as a set.
func Set(groups ...string) map[string]bool {
	out := map[string]bool{}
	for _, word := range Words(groups...) {
		out[word] = true
	}
	return out
}
