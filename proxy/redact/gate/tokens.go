package gate

import (
	"bytes"
	"iter"
)

// jsonToken is a name, a string or a number in a JSON text, as it is written there.
type jsonToken struct {
	text   []byte // with its quotes
	isName bool
	depth  int // how many objects and arrays it is in
}

func (t jsonToken) isString() bool { return t.text[0] == '"' && !t.isName }
func (t jsonToken) isNumber() bool { return t.text[0] != '"' }

// jsonTokens yields the names, strings and numbers of a JSON document, or of several. It is
// no parser: where a text is not valid it goes on, because a secret may stand behind that. A
// string without an end is left out.
func jsonTokens(b []byte) iter.Seq[jsonToken] {
	return func(yield func(jsonToken) bool) {
		depth := 0
		for i := 0; i < len(b); i++ {
			token := jsonToken{depth: depth}
			switch c := b[i]; {
			case c == '{' || c == '[':
				depth++
				continue
			case c == '}' || c == ']':
				depth--
				continue
			case c == '"':
				end := stringEnd(b, i+1)
				if end == 0 {
					return
				}
				token.text, token.isName = b[i:end], isBeforeColon(b[end:])
			case '0' <= c && c <= '9' || c == '-':
				token.text = b[i : i+numberLength(b[i:])]
			default:
				continue
			}
			if !yield(token) {
				return
			}
			i += len(token.text) - 1
		}
	}
}

// stringEnd returns where the string ends whose first letter is b[start], behind its quote;
// 0 without one.
func stringEnd(b []byte, start int) int {
	for i := start; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0
		}
		i += n + 1
		escapes := 0
		for at := i - 2; at >= start && b[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		start = i // an escaped quote: what is before it is settled
	}
}

// isBeforeColon reports whether a colon follows, as after a name.
func isBeforeColon(rest []byte) bool {
	for _, c := range rest {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c == ':'
		}
	}
	return false
}

// numberLength returns the length of the number that b begins with.
func numberLength(b []byte) int {
	for n, c := range b {
		if ('0' > c || c > '9') && bytes.IndexByte([]byte("+-.eE"), c) < 0 {
			return n
		}
	}
	return len(b)
}
