package llm

import (
	"bytes"
	"iter"
	"strings"
)

// Element is an element of a JSON array or a member of a JSON object, as offsets
// into the body that holds it.
type Element struct {
	// Name is the raw member name without its quotes, nil in an array. It shares
	// the body's bytes.
	Name []byte
	// Start is where the element begins: at its name in an object. Value is
	// where its value begins, End is where it ends.
	Start, Value, End int
	// Whole reports whether the value reached its own end.
	Whole bool
}

// Elements yields the elements of the JSON array or object that body holds. It
// counts brackets and quotes and checks nothing else: a body that was cut off
// yields a last element that is not Whole.
func Elements(body []byte) iter.Seq[Element] {
	return func(yield func(Element) bool) {
		at := bytes.IndexAny(body, "[{")
		if at < 0 {
			return
		}
		closing := body[at] + 2 // ] and } are two code points after [ and {
		for at++; ; {
			at = skipSeparators(body, at)
			if at == len(body) || body[at] == closing {
				return
			}
			e, ok := elementAt(body, at, closing == '}')
			if !ok || !yield(e) {
				return
			}
			at = e.End
		}
	}
}

// elementAt reads one element; ok is false where a member has no name or no value.
func elementAt(body []byte, at int, isMember bool) (e Element, ok bool) {
	e = Element{Start: at, Value: at}
	if isMember {
		end := stringEnd(body, at)
		colon := end + len(body[end:]) - len(bytes.TrimLeft(body[end:], space))
		if body[at] != '"' || colon == len(body) || body[colon] != ':' {
			return e, false
		}
		e.Name = body[at+1 : end-1]
		if e.Value = skipSeparators(body, colon+1); e.Value == len(body) {
			return e, false
		}
	}
	e.End, e.Whole = valueEnd(body, e.Value)
	return e, true
}

func skipSeparators(body []byte, at int) int {
	return len(body) - len(bytes.TrimLeft(body[at:], space+","))
}

// valueEnd returns where the JSON value at an offset ends, at least one byte
// after it, and whether the value's own bytes say so.
func valueEnd(body []byte, at int) (end int, closed bool) {
	depth := 0
	for i := at; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			i = stringEnd(body, i) - 1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return bracketEnd(i, at, depth), true
			}
		case depth == 0 && strings.IndexByte(space+",", c) >= 0:
			return i, true
		}
	}
	return len(body), false
}

// stringEnd returns the offset after the closing quote of the string whose
// opening quote is at an offset, or len(body) when it is not closed.
func stringEnd(body []byte, at int) int {
	for i := at + 1; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}

// bracketEnd returns the end of a value that a closing bracket at i ends: after
// the bracket, or before it when the bracket closes what holds the value.
func bracketEnd(i, at, depth int) int {
	if depth < 0 && i > at {
		return i
	}
	return i + 1
}
