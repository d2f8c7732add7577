package gate

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// pieces puts the strings of a streamed reply together again, name by name, and
// looks through them: a secret may arrive in pieces. Streams that take turns
// under a name are put together each on its own, too, by the numbers that tell
// them apart.
func (s *search) pieces(text []byte) *Hit {
	if bytes.Count(text, []byte{'"'}) < 4 {
		return nil // no two strings to be joined
	}
	t := threads{search: s, by: map[string]*strand{}}
	for doc := range documents(text) {
		if t.read(doc); t.hit != nil {
			return t.hit
		}
	}
	return t.finish()
}

// documents yields the data of each event, or text itself when it has no
// events: then it is one JSON document, or several.
func documents(text []byte) func(yield func([]byte) bool) {
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

// threads are the joined texts of a body, by name.
type threads struct {
	search  *search
	by      map[string]*strand
	decoder jsontext.Decoder
	doc     bytes.Buffer
	name    []byte
	stream  int
	hit     *Hit
}

// read takes the strings of a document, as far as it can be read.
func (t *threads) read(doc []byte) {
	t.doc = *bytes.NewBuffer(doc)
	t.decoder.Reset(&t.doc, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	t.name, t.stream = t.name[:0], 0
	for t.hit == nil && t.next() {
	}
}

func (t *threads) next() bool {
	kind := t.decoder.PeekKind()
	if kind != '"' && kind != '0' {
		_, err := t.decoder.ReadToken()
		return err == nil
	}
	inside, n := t.decoder.StackIndex(t.decoder.StackDepth())
	v, err := t.decoder.ReadValue()
	switch {
	case err != nil:
		return false
	case inside == '{' && n%2 == 0: // every other value in an object is a name
		t.name = append(t.name[:0], v[1:len(v)-1]...)
	case kind == '0' && bytes.HasSuffix(t.name, []byte("index")) && len(v) < 4:
		for _, digit := range v {
			t.stream = (t.stream*10 + int(digit-'0')) & 63
		}
	case kind == '"' && len(v) > 2:
		t.add(v)
	}
	return true
}

func (t *threads) add(quoted []byte) {
	s := t.by[string(t.name)]
	if s == nil {
		s = &strand{last: t.stream, keys: !continuity[string(t.name)]}
		t.by[string(t.name)] = s
	}
	if s.last != t.stream && s.each == nil {
		s.each = map[int]*thread{s.last: {append([]byte(nil), s.all.text...), s.all.n}}
	}
	s.last = t.stream
	t.append(s, &s.all, quoted)
	if s.each != nil {
		if s.each[t.stream] == nil {
			s.each[t.stream] = &thread{}
		}
		t.append(s, s.each[t.stream], quoted)
	}
}

// append adds a piece to a thread and looks through what it has when that is a
// window full. The middle of a long piece was looked through where it stands.
func (t *threads) append(s *strand, to *thread, quoted []byte) {
	raw := quoted
	if len(raw) > 2*window {
		to.text = append(to.text, raw[1:overlap]...)
		to.n++
		t.look(s, to)
		to.text, raw = to.text[:0], raw[len(raw)-overlap:]
		to.text = append(to.text, raw[:len(raw)-1]...)
	} else {
		to.text, _ = jsontext.AppendUnquote(to.text, raw)
	}
	if to.n++; len(to.text) >= window {
		t.look(s, to)
		to.text = to.text[:copy(to.text, to.text[len(to.text)-overlap:])]
	}
}

// look looks through a thread of more than one piece.
func (t *threads) look(s *strand, of *thread) {
	if of.n < 2 || t.hit != nil {
		return
	}
	if t.hit = t.search.plain(of.text, s.keys, false); t.hit == nil {
		t.hit = t.search.undone(of.text, s.keys, false)
	}
}

func (t *threads) finish() *Hit {
	for _, s := range t.by {
		t.look(s, &s.all)
		for _, each := range s.each {
			t.look(s, each)
		}
	}
	return t.hit
}

// strand is the text under one name: all of it in the order it came, and, once
// streams take turns, each stream's on its own.
type strand struct {
	keys bool // whether well-known keys are looked for
	last int
	all  thread
	each map[int]*thread
}

// thread is n pieces joined, or their end.
type thread struct {
	text []byte
	n    int
}
