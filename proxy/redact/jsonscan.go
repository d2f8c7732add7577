package redact

import (
	"bytes"
	"encoding/json"
	"iter"
)

// span is a range of bytes.
type span struct{ start, end int }

func (s span) bytesIn(b []byte) []byte { return b[s.start:s.end] }

// jsonString is a string value in a text that contains JSON: the name it stands
// under, the name of its object, the number of enclosing objects, the number of its
// stream, what the part of the document is for, and where its raw text is.
type jsonString struct {
	key, parent span
	depth       int
	index       int
	region      region
	value       span
	// isPair says that the name and the value are two members of one object:
	// {"name": "X-Key", "value": "…"}.
	isPair bool
}

// jsonStrings yields the string values in b. It is not a parser: it accepts
// JSON, SSE with JSON in it, and pieces of either, and never fails. Elements of
// an array stand under the array's name. With withRegions it also follows what each
// object is for, and yields pairs.
func jsonStrings(b []byte, withRegions bool) iter.Seq[jsonString] {
	return func(yield func(jsonString) bool) {
		s, line := scanner{b: b, withRegions: withRegions}, 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '{':
				s.openObject()
			case '}':
				if pair, ok := s.closeObject(); ok && !yield(pair) {
					return
				}
			case '\n':
				if bytes.HasPrefix(b[i+1:], []byte("data:")) && !bytes.HasPrefix(b[line:], []byte("data:")) {
					s.reset() // an event before it may have been cut
				}
				line = i + 1
			case '"':
				text := span{i + 1, stringEnd(b, i+1)}
				if !s.isKey(text) && !yield(s.stringValue(text)) {
					return
				}
				s.notePair(text)
				if i = text.end; i < len(b) && b[i] == '\n' {
					i-- // a line's end is looked at on its own
				}
			}
		}
	}
}

// streams is how many streams in one reply are distinguished at most.
const streams = 64

// deepest is how many open objects are tracked: a body of only braces must not
// fill the memory.
const deepest = 1000

// scanner tracks its position in a document.
type scanner struct {
	b           []byte
	withRegions bool
	key         span
	outer       []object // the open objects, outermost first
	below       int      // how many more are open, deeper than the scan looks
	index       int
}

// object is an open object: the name it stands under, what it is for, and the members
// that make a pair.
type object struct {
	name              span
	region            region
	pairName, pairing span
}

func (s *scanner) openObject() {
	if len(s.outer) == 0 {
		s.index = 0
	}
	if len(s.outer) == deepest {
		s.below++
		return
	}
	next := object{name: s.key}
	if s.withRegions {
		next.region = s.region().inside(s.key.bytesIn(s.b))
		if n := len(s.outer); n > 0 && string(s.key.bytesIn(s.b)) == "value" {
			next.pairName = s.outer[n-1].pairName // {"key": …, "value": {"stringValue": …}}
		}
	}
	s.outer = append(s.outer, next)
	s.key = span{}
}

// region returns what the innermost open object is for.
func (s *scanner) region() region {
	if n := len(s.outer); n > 0 {
		return s.outer[n-1].region
	}
	return settings
}

// closeObject returns the pair that the object's members make, if they do.
func (s *scanner) closeObject() (pair jsonString, ok bool) {
	if s.below > 0 {
		s.below--
		return pair, false
	}
	n := len(s.outer) - 1
	if n < 0 {
		return pair, false
	}
	o := s.outer[n]
	ok = o.pairName.end > 0 && o.pairing.end > 0
	if ok {
		pair = s.stringValue(o.pairing)
		pair.key, pair.isPair = o.pairName, true
	}
	s.key, s.outer = o.name, s.outer[:n]
	return pair, ok
}

// notePair remembers a value under "name" or "key", and one under "value".
func (s *scanner) notePair(text span) {
	if n := len(s.outer) - 1; s.withRegions && n >= 0 && s.key != text {
		switch string(s.key.bytesIn(s.b)) {
		case "name", "key", "Name", "Key", "header", "field", "variable", "parameter", "param", "attribute", "property", "label":
			s.outer[n].pairName = text
		case "value", "Value", "val", "stringValue":
			s.outer[n].pairing = text
		}
	}
}

func (s *scanner) reset() { s.key, s.outer, s.below, s.index = span{}, s.outer[:0], 0, 0 }

func (s *scanner) stringValue(text span) jsonString {
	out := jsonString{key: s.key, depth: len(s.outer), index: s.index, region: s.region(), value: text}
	if out.depth > 0 {
		out.parent = s.outer[out.depth-1].name
	}
	return out
}

// isKey reports whether text is a member name, and stores it. The number after a
// name like "index" distinguishes the streams that share one reply.
func (s *scanner) isKey(text span) bool {
	i := pastSpace(s.b, text.end+1)
	if i >= len(s.b) || s.b[i] != ':' {
		return false
	}
	s.key = text
	if bytes.HasSuffix(text.bytesIn(s.b), []byte("index")) {
		if i = pastSpace(s.b, i+1); i < len(s.b) && '0' <= s.b[i] && s.b[i] <= '9' {
			s.index = (s.index*31 + leadingNumber(s.b[i:])) % streams
		}
	}
	return true
}

func pastSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// leadingNumber returns the number that b starts with, at most nine digits of
// it.
func leadingNumber(b []byte) (n int) {
	for i := 0; i < len(b) && i < 9 && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int(b[i]-'0')
	}
	return n
}

// stringEnd returns where the string that starts at i ends: at its quote, at the
// end of the line, which no JSON string contains, or at len(b). It searches for one byte
// at a time, because that is fast, and for each only once.
func stringEnd(b []byte, i int) int {
	for i < len(b) {
		end := i + indexOrLength(b[i:], '"')
		end = i + indexOrLength(b[i:end], '\n')
		for i < end {
			i += indexOrLength(b[i:end], '\\')
			if i == end {
				return end
			}
			i += 2
		}
		if i == end {
			return end
		}
	}
	return len(b)
}

// indexOrLength returns the index of the first c in b, or the length of b.
func indexOrLength(b []byte, c byte) int {
	if n := bytes.IndexByte(b, c); n >= 0 {
		return n
	}
	return len(b)
}

// unquoteJSON returns the value of a JSON string's raw text, or the text itself
// when it is not valid.
func unquoteJSON(raw []byte) string {
	var s string
	if json.Unmarshal([]byte(`"`+string(raw)+`"`), &s) != nil {
		return string(raw)
	}
	return s
}
