package redact

import (
	"bytes"
	"iter"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// textStream is a stream of events that is looked through for texts.
type textStream struct {
	*jsonscan.Index
	events []lex.Span // those in which a member has the name of a credential
	other  []byte     // the comments, and the data that is not JSON; set by texts
}

// source is where a text that comes in pieces comes from. Events that repeat a whole text hold it at
// other depths.
type source struct {
	name         string
	depth, index int
}

// streamText is a text that came in pieces.
type streamText struct {
	text []byte
	end  int // of the last piece, in the stream
}

// texts yields what the events say in pieces, each name of each of their parts on its own, a
// window at a time, and the comments. A text is valid until the next one. Strings of one event
// are not pieces of one text.
func (t *textStream) texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		texts, known := map[source]*streamText{}, new(names.Cache)
		for s := range t.Strings(false) {
			key := s.Key.In(t.Text)
			at := source{string(key), s.Depth, s.Index}
			text := texts[at]
			if text == nil {
				text = &streamText{}
				texts[at] = text
			}
			class := known.Class(key)
			if class >= names.Weak || known.Class(s.Parent.In(t.Text)) >= names.Weak || t.mayBeSetting(s) {
				t.noteEvent(s.Value.Start)
			}
			text.addPiece(t.Text, s, class)
			if len(text.text) < window+values.MaxLength {
				continue
			}
			if !yield(text.text) {
				return
			}
			text.text = append(text.text[:0], text.text[len(text.text)-values.MaxLength:]...)
		}
		for _, text := range texts {
			if !yield(text.text) {
				return
			}
		}
		t.other = otherLines(t.Text)
		yield(t.other)
	}
}

// mayBeSetting reports whether a string is one in which structure may show a credential, whatever its
// name: of headers, of a command line, or a document.
func (t *textStream) mayBeSetting(s jsonscan.String) bool {
	key, value := s.Key.In(t.Text), s.Value.In(t.Text)
	return lex.HasSuffixFold(key, "headers") ||
		len(value) > 0 && (value[0] == '{' || value[0] == '-' && structure.IsArguments(key))
}

// addPiece appends a piece. Under the name of a credential the name is said with each, as the search in
// texts needs one.
func (j *streamText) addPiece(b []byte, s jsonscan.String, class names.Class) {
	if j.end > 0 && bytes.IndexByte(b[j.end:s.Value.Start], '\n') < 0 {
		j.text = append(j.text, '\n') // of the same event
	}
	if class == names.Strong {
		j.text = append(append(append(j.text, '\n'), s.Key.In(b)...), ": \""...)
	}
	j.text, j.end = append(j.text, s.Value.In(b)...), s.Value.End
}

// noteEvent notes the event that a place is in, once.
func (t *textStream) noteEvent(at int) {
	last := 0
	if n := len(t.events); n > 0 {
		last = t.events[n-1].End
	}
	if at < last {
		return
	}
	event := lex.Between(last, len(t.Text))
	if n := bytes.LastIndex(t.Text[last:at], []byte("\n\n")); n >= 0 {
		event.Start += n
	}
	if n := bytes.Index(t.Text[at:], []byte("\n\n")); n >= 0 {
		event.End = at + n
	}
	t.events = append(t.events, event)
}

// credentials finds the credentials in the events that were noted, by structure and in words.
func (t *textStream) credentials(own *Own, words *textSearch) (out []lex.Span) {
	if len(t.events) == 0 {
		return nil
	}
	found := own.addTo(structure.SearchStrings(t.Text, t.notedStrings(), true, false), t.Index)
	words.found = append(words.found, structure.SecretsIn(t.Text, found.Said)...)
	out = append(found.Credentials, found.Said...)
	for _, event := range t.events {
		out = lex.AppendShifted(out, words.search(event.In(t.Text), jsonscan.DeepestNested+1, false), event.Start)
	}
	return out
}

// notedStrings yields the strings of the events that were noted.
func (t *textStream) notedStrings() iter.Seq[jsonscan.String] {
	return func(yield func(jsonscan.String) bool) {
		next := 0
		for s := range t.Strings(true) {
			for next < len(t.events) && t.events[next].End < s.Value.End {
				next++
			}
			if next == len(t.events) {
				return
			}
			if t.events[next].Start <= s.Value.Start && !yield(s) {
				return
			}
		}
	}
}

// sessions returns the sessions in the addresses that a server of MCP tells its client to post
// to: who knows one can speak in it.
func (t *textStream) sessions() (out []string) {
	for _, m := range endpointSession.FindAllSubmatch(t.other, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

var endpointSession = regexp.MustCompile(`[?&](?i:session_?id)=([\w-]{16,})`)

// otherLines returns the comments of a stream, and its data that is not JSON.
func otherLines(b []byte) (out []byte) {
	for line := range bytes.Lines(b) {
		if line[0] == ':' {
			out = append(out, line[1:]...)
		} else if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data) > 1 &&
			!jsonscan.IsDocument(data) {
			out = append(out, data...)
		}
	}
	return out
}
