// Package jsonscan finds the strings of JSON in a text, and what each is for, without parsing:
// [Strings]. It accepts whole documents, streams of events and pieces of either. It decides
// nothing about credentials.
package jsonscan

import (
	"bytes"
	"iter"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// String is a string value in a text that contains JSON: the name it stands
// under, the name of its object, the number of enclosing objects, the number of its
// stream, what the part of the document is for, and where its raw text is.
type String struct {
	Key, Parent lex.Span
	Depth       int
	Index       int
	Region      Region
	Value       lex.Span
	// IsPair says that the name and the value are two members of one object:
	// {"name": "X-Key", "value": "…"}.
	IsPair bool
	// IsArgument says that the value stands in an object of a tool's arguments: as a document inside
	// of what is said, in which Region counts.
	IsArgument bool
	// IsSearched says that the value was searched in an earlier text and holds no credential: see
	// [Index.MarkSearched].
	IsSearched bool
}

// Strings yields the string values in b. It is not a parser: it accepts
// JSON, SSE with JSON in it, and pieces of either, and never fails. Elements of
// an array stand under the array's name. With withRegions it also follows what each
// object is for, and yields pairs.
func Strings(b []byte, withRegions bool) iter.Seq[String] {
	return func(yield func(String) bool) {
		s, line := scanner{b: b, withRegions: withRegions}, 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '{':
				s.openObject(i, line)
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
				text := lex.Between(i+1, stringEnd(b, i+1))
				if !s.isKey(text) && !yield(s.stringValue(text)) {
					return
				}
				s.notePair(text)
				if i = text.End; i < len(b) && b[i] == '\n' {
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
	key         lex.Span
	outer       []object // the open objects, outermost first
	below       int      // how many more are open, deeper than the scan looks
	index       int
	eventEnd    int // where the event ends that the scan is in, 0 outside of streams
}

// object is an open object: the name it stands under, what it is for, and the members
// that make a pair.
type object struct {
	name              lex.Span
	region            Region
	isArguments       bool // or in such
	pairName, pairing lex.Span
	indexBefore       int // the stream of what is around it
}

// openObject notes that an object begins at a place, in the line that begins at another one.
func (s *scanner) openObject(at, line int) {
	if len(s.outer) == 0 {
		s.index, s.eventEnd = 0, 0
		if bytes.HasPrefix(s.b[line:], []byte("data:")) {
			s.eventEnd = at + lex.IndexOrLength(s.b[at:], '\n')
		}
	}
	if len(s.outer) == deepest {
		s.below++
		return
	}
	next := object{name: s.key, indexBefore: s.index}
	if len(s.outer) < deepestStream && at < s.eventEnd {
		if n := s.streamAt(at); n > 0 {
			s.index = (s.index*31 + n) % streams
		}
	}
	if s.withRegions {
		next.region, next.isArguments = s.regionWithin()
		if n := len(s.outer); n > 0 && string(s.key.In(s.b)) == "value" {
			next.pairName = s.outer[n-1].pairName // {"key": …, "value": {"stringValue": …}}
		}
	}
	s.outer = append(s.outer, next)
	s.key = lex.Span{}
}

// regionWithin returns what the object that begins is for, and whether it is in a tool's arguments.
func (s *scanner) regionWithin() (Region, bool) {
	name, around := s.key.In(s.b), s.region()
	isWithin := len(s.outer) > 0 && s.outer[len(s.outer)-1].isArguments
	if around == Conversation && !isWithin && argumentNames[string(name)] {
		return Settings, true
	}
	return around.inside(name), isWithin
}

// argumentNames are the names of the objects in which Anthropic, Gemini and MCP write the arguments of a
// tool's call. OpenAI writes them as a string.
var argumentNames = lex.Set("input args arguments")

// region returns what the innermost open object is for.
func (s *scanner) region() Region {
	if n := len(s.outer); n > 0 {
		return s.outer[n-1].region
	}
	return Settings
}

// closeObject returns the pair that the object's members make, if they do.
func (s *scanner) closeObject() (pair String, ok bool) {
	if s.below > 0 {
		s.below--
		return pair, false
	}
	n := len(s.outer) - 1
	if n < 0 {
		return pair, false
	}
	o := s.outer[n]
	ok = o.pairName.End > 0 && o.pairing.End > 0
	if ok {
		pair = s.stringValue(o.pairing)
		pair.Key, pair.IsPair = o.pairName, true
	}
	if s.key, s.outer = o.name, s.outer[:n]; s.eventEnd > 0 {
		s.index = o.indexBefore
	}
	return pair, ok
}

// deepestStream is how deep in an event the objects are that are told apart by an index.
const deepestStream = 5

// streamAt returns a number made of the members "…index" of the object at a place in an event,
// whatever their order: servers write them before or after the text.
func (s *scanner) streamAt(at int) (n int) {
	if !bytes.Contains(s.b[at:s.eventEnd], []byte(`index"`)) {
		return 0
	}
	for depth := 0; at < s.eventEnd; at++ {
		switch s.b[at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return n
			}
		case '"':
			name := lex.Between(at+1, stringEnd(s.b[:s.eventEnd], at+1))
			at = name.End
			if value, ok := s.indexAfter(name); ok && depth == 1 {
				n += (2*(name.End-name.Start) + 1) * (value + 1)
			}
		}
	}
	return n
}

// indexAfter returns the number that stands under a name like "index".
func (s *scanner) indexAfter(name lex.Span) (n int, ok bool) {
	if !bytes.HasSuffix(name.In(s.b), []byte("index")) {
		return 0, false
	}
	i := pastSpace(s.b, name.End+1)
	if i >= len(s.b) || s.b[i] != ':' {
		return 0, false
	}
	i = pastSpace(s.b, i+1)
	return leadingNumber(s.b[min(i, len(s.b)):]), i < len(s.b) && '0' <= s.b[i] && s.b[i] <= '9'
}

// notePair remembers a value under "name" or "key", and one under "value".
func (s *scanner) notePair(text lex.Span) {
	if n := len(s.outer) - 1; s.withRegions && n >= 0 && s.key != text {
		switch string(s.key.In(s.b)) {
		case "name", "key", "Name", "Key", "header", "field", "variable", "parameter", "param", "attribute",
			"property", "label":
			s.outer[n].pairName = text
		case "value", "Value", "val", "stringValue":
			s.outer[n].pairing = text
		}
	}
}

// reset forgets the objects that are open.
func (s *scanner) reset() {
	s.key, s.outer, s.below, s.index, s.eventEnd = lex.Span{}, s.outer[:0], 0, 0, 0
}

// stringValue returns a string with what is known of its place.
func (s *scanner) stringValue(text lex.Span) String {
	out := String{Key: s.key, Depth: len(s.outer), Index: s.index, Region: s.region(), Value: text}
	if out.Depth > 0 {
		innermost := s.outer[out.Depth-1]
		out.Parent, out.IsArgument = innermost.name, innermost.isArguments
	}
	return out
}

// isKey reports whether text is a member name, and stores it. The number after a
// name like "index" distinguishes the streams that share one reply.
func (s *scanner) isKey(text lex.Span) bool {
	i := pastSpace(s.b, text.End+1)
	if i >= len(s.b) || s.b[i] != ':' {
		return false
	}
	s.key = text
	if n, ok := s.indexAfter(text); ok && s.eventEnd == 0 {
		s.index = (s.index*31 + n) % streams
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
		end := i + lex.IndexOrLength(b[i:], '"')
		end = i + lex.IndexOrLength(b[i:end], '\n')
		for i < end {
			i += lex.IndexOrLength(b[i:end], '\\')
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
