package redact

import (
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// joinedText is text that was pieces of a body, with the place of each piece.
type joinedText struct {
	text   []byte
	pieces []piece
}

// piece says that text[at:] was body[from:], up to the next piece.
type piece struct{ at, from int }

// window is about how much text is joined before it is searched: the memory that
// a name costs, however long the body is.
const window = 64 << 10

// addPiece appends body[s.start:s.end] and searches the text when there is
// enough of it. Of a long piece, which was searched where it stands, only the
// ends are appended.
func (j *joinedText) addPiece(body []byte, s lex.Span, longest int, search func(*joinedText)) {
	if s.End-s.Start > 2*longest {
		j.appendPiece(body, lex.Between(s.Start, s.Start+longest))
		search(j)
		j.text, j.pieces = j.text[:0], j.pieces[:0]
		s.Start = s.End - longest
	}
	if j.appendPiece(body, s); len(j.text) >= window+longest {
		search(j)
	}
}

// appendPiece appends body[s.Start:s.End].
func (j *joinedText) appendPiece(body []byte, s lex.Span) {
	j.pieces = append(j.pieces, piece{len(j.text), s.Start})
	j.text = append(j.text, s.In(body)...)
}

// putBack writes text, which begins at offset at of the joined text, over its
// pieces in the body.
func (j *joinedText) putBack(d *draft, at int, text string) {
	for i := len(j.pieces) - 1; i >= 0 && text != ""; i-- {
		p := j.pieces[i]
		if p.at >= at+len(text) {
			continue
		}
		cut := max(p.at-at, 0)
		d.overwriteAt(p.from+max(at-p.at, 0), text[cut:])
		text = text[:cut]
	}
}

// keepTail drops all but the last n bytes, which may be the beginning of a
// secret.
func (j *joinedText) keepTail(n int) {
	drop := len(j.text) - n
	if drop <= 0 {
		return
	}
	first := 0
	for first+1 < len(j.pieces) && j.pieces[first+1].at <= drop {
		first++
	}
	j.pieces = append(j.pieces[:0], j.pieces[first:]...)
	for i := range j.pieces {
		j.pieces[i].at -= drop
	}
	if p := &j.pieces[0]; p.at < 0 {
		p.at, p.from = 0, p.from-p.at
	}
	j.text = append(j.text[:0], j.text[drop:]...)
}

// namedText holds the texts under one name: all of them in the order in which
// they came and, once streams alternate, also each stream on its own.
type namedText struct {
	all  joinedText
	last int // the stream that the last piece was of
	each map[int]*joinedText
}

// addString adds a string to the text of all streams, and to that of its own.
func (n *namedText) addString(body []byte, s jsonscan.String, longest int, search func(*joinedText)) {
	if n.each == nil && s.Index != n.last {
		n.each = map[int]*joinedText{n.last: n.all.clone()}
	}
	n.last = s.Index
	n.all.addPiece(body, s.Value, longest, search)
	if n.each == nil {
		return
	}
	if n.each[s.Index] == nil {
		n.each[s.Index] = &joinedText{}
	}
	n.each[s.Index].addPiece(body, s.Value, longest, search)
}

func (j *joinedText) clone() *joinedText {
	return &joinedText{append([]byte(nil), j.text...), append([]piece(nil), j.pieces...)}
}

// searchRest searches what is left.
func (n *namedText) searchRest(search func(*joinedText)) {
	search(&n.all)
	for _, j := range n.each {
		search(j)
	}
}
