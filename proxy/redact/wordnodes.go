package redact

import (
	"bytes"
	"regexp"
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
func (w *wordSearch) lookAtNode(name span, class nameClass, at int) (value span, isBlock bool) {
	text := w.text
	if m := anchor.Find(text[at:min(len(text), at+maxAnchor)]); m != nil {
		at += len(m) - 2
	}
	sign := blockSign.Find(text[at:min(len(text), at+maxIndent)])
	if sign == nil {
		return valueAt(text, at), false
	}
	next := at + len(sign)
	for range maxKeyLines {
		indent := pastAny(text, next, " ", maxIndent)
		if indent == next {
			break
		}
		value := valueAt(text, indent)
		end, after := lineEnd(text, next)
		if value.end < end && bytes.IndexByte([]byte("\"'\\"), text[value.end]) < 0 {
			break // several words, which are looked at on their own
		}
		w.addUnder(name, class, at, value)
		next = after
		if after == end {
			break
		}
	}
	return span{}, true
}
