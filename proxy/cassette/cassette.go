package cassette

import (
	"bytes"
	"crypto/sha256"
	"iter"
	"slices"
)

// Cassette is a recording opened for reading. It is immutable and safe for
// concurrent use. What its methods return belongs to the caller.
type Cassette struct {
	name string
	meta Meta

	// of a sealed file
	data  content
	head  []byte
	spans []span
	end   closing // what close says
	close []byte  // the closing line

	// of a file without seals
	parsed []Interaction
	items  [][]byte // of a large file, instead of parsed: the texts of its items
	sum    [sha256.Size]byte
}

// Name returns the name the cassette was opened by.
func (c *Cassette) Name() string { return c.name }

// Meta returns what the file says about itself. For a file that says nothing, it
// is only the provenance "import".
func (c *Cassette) Meta() Meta {
	m := c.meta
	m.Redaction, m.Matching, m.Declared = slices.Clone(m.Redaction), slices.Clone(m.Matching), slices.Clone(m.Declared)
	return m
}

// Sealed reports whether this package wrote the file completely, so that Verify
// can detect any changed byte.
func (c *Cassette) Sealed() bool { return c.head != nil }

// Len returns the number of interactions.
func (c *Cassette) Len() int { return len(c.spans) + len(c.parsed) + len(c.items) }

// At returns interaction i, 0 ≤ i < Len, after checking its seal. The error is
// ErrDamaged when the bytes are not the ones that were recorded.
func (c *Cassette) At(i int) (Interaction, error) {
	switch {
	case c.items != nil:
		return decodeForeignItem(c.items[i])
	case !c.Sealed():
		return c.parsed[i].clone(), nil
	}
	item, err := c.sealedItem(i)
	if err != nil {
		return Interaction{}, err
	}
	if c.data.large != nil { // the item was read for this call alone
		if in, ok := decodeOwned(item); ok && takeReserved(&in) == nil {
			return in, nil
		}
		if item, err = c.sealedItem(i); err != nil {
			return Interaction{}, err
		}
	}
	in, err := decodeAnyItem(item)
	if err != nil {
		return Interaction{}, damagedAt(c.name, i)
	}
	return in, nil
}

// sealedItem returns the bytes of item i, after checking them against its seal and the
// one before it as written there.
func (c *Cassette) sealedItem(i int) ([]byte, error) {
	s, from := c.spans[i], c.spans[i].start
	if i > 0 {
		from = c.spans[i-1].seal
	}
	read, err := c.data.readBytes(from, s.end)
	if err != nil {
		return nil, readError(c.name, err)
	}
	var before seal
	if i == 0 {
		before = sha256.Sum256(c.head)
	} else {
		_, _, before, _ = readSeal(read[:s.start-from])
	}
	item := read[s.start-from : s.seal-from]
	if string(read[s.seal-from:]) != sealLine(i, len(item), before.nextSeal(item)) {
		return nil, damagedAt(c.name, i)
	}
	return item, nil
}

// All yields every interaction in recorded order. A damaged interaction is
// yielded as an error and does not end the sequence.
func (c *Cassette) All() iter.Seq2[Interaction, error] {
	return func(yield func(Interaction, error) bool) {
		for i := range c.Len() {
			if !yield(c.At(i)) {
				return
			}
		}
	}
}

// WebSockets yields the interactions that came by WebSockets, as All does. The others are not
// decoded and their seals are not checked, so that a large cassette without any is quickly
// looked through.
func (c *Cassette) WebSockets() iter.Seq2[Interaction, error] {
	return func(yield func(Interaction, error) bool) {
		for i := range c.Len() {
			if !c.mayHaveWebSocket(i) {
				continue
			}
			if in, err := c.At(i); (err != nil || in.WebSocket != 0) && !yield(in, err) {
				return
			}
		}
	}
}

// mayHaveWebSocket reports whether interaction i names the header that says so, be it in a
// body.
func (c *Cassette) mayHaveWebSocket(i int) (may bool) {
	if !c.Sealed() {
		return true
	}
	s := c.spans[i]
	err := c.data.lookAt(s.start, s.seal, s.seal-s.start, func(item []byte) { may = bytes.Contains(item, []byte(hdrWebSocket)) })
	return may || err != nil
}

func (in Interaction) clone() Interaction {
	in.Request.Header = in.Request.Header.Clone()
	in.Request.Body = slices.Clone(in.Request.Body)
	in.Response.Header = in.Response.Header.Clone()
	in.Response.Body = slices.Clone(in.Response.Body)
	in.Response.Trailer = in.Response.Trailer.Clone()
	in.Timeline = slices.Clone(in.Timeline)
	return in
}

// Request returns the request of interaction i without reading its response or
// checking its seal: enough to index a large cassette by its requests. At still
// refuses a damaged interaction.
func (c *Cassette) Request(i int) (Request, error) {
	if c.parsed != nil {
		return c.parsed[i].clone().Request, nil
	}
	r, ok := c.peekRequest(i, decodeRequest)
	if ok {
		return r, nil
	}
	in, err := c.At(i)
	return in.Request, err
}

// peekRequest decodes the request of a sealed item where it lies. What it cannot read,
// At reads, or says why not.
func (c *Cassette) peekRequest(i int, decode func(item []byte) (Request, bool)) (r Request, ok bool) {
	if !c.Sealed() {
		return r, false
	}
	s := c.spans[i]
	for _, most := range []int{aheadBytes, s.seal - s.start} { // the reply, which follows, may be huge
		err := c.data.lookAt(s.start, s.seal, most, func(item []byte) { r, ok = decode(item) })
		if ok || err != nil || most >= s.seal-s.start {
			return r, ok && err == nil
		}
	}
	return r, false
}

// Asked is Request without header and protocol, which are rarely needed to find
// a request. The body is written over room when that is large enough, so that a
// large cassette can be read in little memory.
func (c *Cassette) Asked(i int, room []byte) (Request, error) {
	r, ok := c.peekRequest(i, func(item []byte) (Request, bool) { return decodeAsked(item, room) })
	if ok {
		return r, nil
	}
	r, err := c.Request(i)
	return Request{Method: r.Method, URL: r.URL, Body: r.Body}, err
}

// Verify checks every byte of the cassette at path against its seals, and that
// every interaction decodes. The error is ErrUnsealed for a file of another
// tool.
func Verify(path string) error {
	c, err := Open(path)
	if err != nil {
		return err
	}
	return c.Verify()
}

// Verify is the function Verify for an open cassette.
func (c *Cassette) Verify() error {
	if !c.Sealed() {
		return newError(c.name, ErrUnsealed, "has no seals to verify, another tool wrote it; record it again with recorder to have them")
	}
	for _, err := range c.All() {
		if err != nil {
			return err
		}
	}
	return nil
}
