package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

var (
	// anchor matches the name that YAML gives a value: password: &pw …
	anchor = regexp.MustCompile(`^ &[\w-]{1,40} [^ =]`)
	// blockSign matches what begins a block of YAML, whose value is in the lines after it.
	blockSign = regexp.MustCompile(`^ [|>][-+\d]{0,2} {0,4}(?:\n|\r\n|\\+n|\\+r\\+n)`)
)

const (
	maxAnchor = 48 // bytes of the longest anchor
	maxIndent = 40 // … of the deepest indentation
)

// lookAtNode looks at what follows the colon of a name in YAML. It looks through the lines of a
// block, and returns any other value without its anchor.
func (w *search) lookAtNode(p pair) (value lex.Span, isBlock bool) {
	text, at := w.text, p.sign
	if m := anchor.Find(text[at:min(len(text), at+maxAnchor)]); m != nil {
		at += len(m) - 2
	}
	sign := blockSign.Find(text[at:min(len(text), at+maxIndent)])
	if sign == nil {
		return valueAt(text, at), false
	}
	next := at + len(sign)
	p.sign = at
	for range maxKeyLines {
		indent := lex.Past(text, next, " ", maxIndent)
		if indent == next {
			break
		}
		p.value = valueAt(text, indent)
		end, after := lineEnd(text, next)
		if p.value.End < end && bytes.IndexByte([]byte("\"'\\"), text[p.value.End]) < 0 {
			w.addChosenLine(p, lex.Between(indent, end), after)
			break // several words, which are looked at on their own
		}
		w.addUnder(p)
		next = after
		if after == end {
			break
		}
	}
	return lex.Span{}, true
}
