// Package lex takes JSON apart, for those who keep its order, its repeats and its
// spelling: Value holds that it is valid, a Lexer then relies on it.
package lex

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Lexer stands before a value in a text that is valid. Strings that it returns
// share the text's memory. It is for one goroutine.
type Lexer struct {
	text string
	at   int
}

// New returns a Lexer before the value that valid is.
func New(valid string) Lexer { return Lexer{text: valid} }

// Kind returns the first byte of the value that comes next.
func (l *Lexer) Kind() byte {
	for {
		switch c := l.text[l.at]; c {
		case ' ', '\n', '\t', '\r':
			l.at++
		default:
			return c
		}
	}
}

// Offset is the index of the byte that comes next.
func (l *Lexer) Offset() int { return l.at }

// Enter passes the bracket that opens an object or an array.
func (l *Lexer) Enter() { l.at++ }

// More reports whether another member or element follows, and passes the bracket
// that closes when none does.
func (l *Lexer) More() bool {
	for {
		switch l.Kind() {
		case ',':
			l.at++
		case '}', ']':
			l.at++
			return false
		default:
			return true
		}
	}
}

// Name passes the name of a member and its colon.
func (l *Lexer) Name() string {
	name := l.Text()
	l.Kind()
	l.at++
	return name
}

// Text passes a string and returns its characters.
func (l *Lexer) Text() string {
	l.Kind()
	start := l.at + 1
	plain := true
	for {
		l.at += 1 + strings.IndexByte(l.text[l.at+1:], '"')
		if end := l.at; l.text[end-1] != '\\' || !l.escaped(end) {
			plain = plain && strings.IndexByte(l.text[start:end], '\\') < 0
			break
		}
	}
	l.at++
	if plain {
		return l.text[start : l.at-1]
	}
	out, _ := jsontext.AppendUnquote(nil, l.text[start-1:l.at]) // it is valid
	return string(out)
}

// escaped reports whether the byte at end is behind an odd number of \.
func (l *Lexer) escaped(end int) bool {
	n := end
	for l.text[n-1] == '\\' {
		n--
	}
	return (end-n)%2 == 1
}

// Literal passes a number, true, false or null and returns it as it is written.
func (l *Lexer) Literal() string {
	l.Kind()
	start := l.at
	for l.at < len(l.text) {
		switch l.text[l.at] {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			return l.text[start:l.at]
		}
		l.at++
	}
	return l.text[start:]
}
