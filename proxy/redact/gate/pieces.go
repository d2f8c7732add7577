package gate

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// searchPieces joins the strings of a streamed reply by name and searches them,
// because a secret may arrive in pieces. Streams that alternate under one name
// are also joined separately, by the numbers that distinguish them.
func (s *search) searchPieces(text []byte) *Hit {
	if bytes.Count(text, []byte{'"'}) < 4 {
		return nil // no two strings to be joined
	}
	t := textJoiner{search: s, by: map[string]*namedText{}}
	for doc := range splitDocuments(text) {
		if t.readDocument(doc); t.hit != nil {
			return t.hit
		}
	}
	return t.searchRest()
}

// splitDocuments yields the data of each event, or text itself when it has no
// events: then it is one or more JSON documents.
func splitDocuments(text []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if !bytes.HasPrefix(text, []byte("data:")) && !bytes.Contains(text, []byte("\ndata:")) {
			yield(text)
			return
		}
		var event []byte // shared with text while it is one line
		for line := range bytes.Lines(text) {
			data, isData := bytes.CutPrefix(line, []byte("data:"))
			switch blank := len(bytes.TrimRight(line, "\r\n")) == 0; {
			case isData && event == nil:
				event = data[:len(data):len(data)]
			case isData:
				event = append(event, data...)
			case blank && event != nil:
				if !yield(event) {
					return
				}
				event = nil
			}
		}
		if event != nil {
			yield(event)
		}
	}
}

// textJoiner holds the joined texts of a body, by name.
type textJoiner struct {
	search *search
	by     map[string]*namedText
	name   []byte
	stream int
	hit    *Hit
}

// readDocument adds the strings of a document. The number after a name like "index"
// distinguishes the streams that share one name.
func (t *textJoiner) readDocument(doc []byte) {
	t.name, t.stream = nil, 0
	for token := range jsonTokens(doc) {
		switch v := token.text; {
		case token.isName:
			t.name = v[1 : len(v)-1]
		case token.isNumber() && bytes.HasSuffix(t.name, []byte("index")) && len(v) < 4:
			for _, digit := range v {
				t.stream = (t.stream*10 + int(digit-'0')) & 63
			}
		case token.isString() && len(v) > 2:
			t.addString(v)
		}
		if t.hit != nil {
			return
		}
	}
}

func (t *textJoiner) addString(quoted []byte) {
	s := t.by[string(t.name)]
	if s == nil {
		s = &namedText{last: t.stream, wanted: everything}
		if continuity[string(t.name)] {
			s.wanted = usedSecrets
		}
		t.by[string(t.name)] = s
	}
	if s.last != t.stream && s.each == nil {
		s.each = map[int]*joinedText{s.last: {first: s.all.first, text: bytes.Clone(s.all.text), n: s.all.n}}
	}
	s.last = t.stream
	t.addPiece(s, &s.all, quoted)
	if s.each != nil {
		if s.each[t.stream] == nil {
			s.each[t.stream] = &joinedText{}
		}
		t.addPiece(s, s.each[t.stream], quoted)
	}
}

// addPiece adds a piece. The first one is copied when there is a second: most names have
// only one, which was searched where it stands.
func (t *textJoiner) addPiece(s *namedText, to *joinedText, quoted []byte) {
	if to.n == 0 && to.first == nil {
		to.first = quoted
		return
	}
	if first := to.first; first != nil {
		to.first = nil
		t.appendPiece(s, to, first)
	}
	t.appendPiece(s, to, quoted)
}

// appendPiece adds a piece and searches the joined text when there is a window
// of it. The middle of a long piece was searched where it stands.
func (t *textJoiner) appendPiece(s *namedText, to *joinedText, quoted []byte) {
	raw := quoted
	if len(raw) > 2*window {
		to.text = append(to.text, raw[1:overlap]...)
		to.n++
		t.searchJoined(s, to)
		to.text, raw = to.text[:0], raw[len(raw)-overlap:]
		to.text = append(to.text, raw[:len(raw)-1]...)
	} else {
		to.text, _ = jsontext.AppendUnquote(to.text, raw)
	}
	if to.n++; len(to.text) >= window {
		t.searchJoined(s, to)
		to.text = to.text[:copy(to.text, to.text[len(to.text)-overlap:])]
	}
}

// searchJoined searches a text of more than one piece.
func (t *textJoiner) searchJoined(s *namedText, of *joinedText) {
	if of.n < 2 || t.hit != nil {
		return
	}
	if t.hit = t.search.searchText(of.text, s.wanted, false); t.hit == nil {
		t.hit = t.search.searchUnescaped(of.text, s.wanted, false)
	}
}

func (t *textJoiner) searchRest() *Hit {
	for _, s := range t.by {
		t.searchJoined(s, &s.all)
		for _, each := range s.each {
			t.searchJoined(s, each)
		}
	}
	return t.hit
}

// namedText is the text under one name: all of it in the order in which it came
// and, once streams alternate, also each stream on its own.
type namedText struct {
	wanted kinds
	last   int
	all    joinedText
	each   map[int]*joinedText
}

// joinedText is n pieces joined, or the end of them; or the first one, as it is written.
type joinedText struct {
	first []byte
	text  []byte
	n     int
}
