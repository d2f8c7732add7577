package cassette

import (
	"bytes"
	"time"
)

// StrictHead returns an error when the head is not exactly what this package
// would write for its content (pitfall V6): unknown keys, another order or
// style, an invalid provenance or time. A file without seals has no such head.
func (c *Cassette) StrictHead() error {
	if !c.Sealed() {
		return nil
	}
	if p := c.meta.invalidReason(); p != "" {
		return newError(c.name, ErrFormat, "%s; record it again", p)
	}
	if _, err := time.Parse(time.RFC3339, c.meta.Created); c.meta.Created != "" && err != nil {
		return newError(c.name, ErrFormat, "created %q is not a time in RFC 3339; record it again", c.meta.Created)
	}
	if !bytes.Equal(encodeHead(c.meta), c.head) {
		return newError(c.name, ErrFormat, "its head holds what format %d does not have; record it again", c.meta.Version)
	}
	return nil
}

// Strict is At, with an error when the item is not exactly what this package
// would write for its content: what a lenient reader would ignore.
func (c *Cassette) Strict(i int) (Interaction, error) {
	in, err := c.At(i)
	if err != nil || !c.Sealed() {
		return in, err
	}
	if !c.isWrittenAt(c.spans[i], in) {
		return in, newError(c.name, ErrFormat, "interaction %d holds what format %d does not have; record it again", i, c.meta.Version)
	}
	return in, nil
}

// isWrittenAt reports whether an item is what this package writes of an interaction. It
// compares a piece at a time, because the interaction is in memory already.
func (c *Cassette) isWrittenAt(s span, in Interaction) bool {
	at := s.start
	for piece := range itemPieces(in, pieceSize, nil) {
		end, isSame := at+len(piece), false
		if end > s.seal {
			return false
		}
		err := c.data.lookAt(at, end, len(piece), func(written []byte) { isSame = bytes.Equal(written, piece) })
		if err != nil || !isSame {
			return false
		}
		at = end
	}
	return at == s.seal
}
