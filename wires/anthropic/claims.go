package anthropic

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/meerkat-go/conformance/wires/seal"
)

// The origins of Anthropic's tokens.
const (
	originSignature = "anthropic/signature"
	originRedacted  = "anthropic/redacted"
)

// digest tells two values apart; it need not resist an attacker, the token's tag
// does.
type digest [8]byte

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:8])
}

// claims is what a token says of the thinking it was issued with. Each fact is
// kept apart, so that the refusal can say which of them differs (A-34, A-36,
//
type claims struct {
	seal.Place        // its note is what follows
	model      string // its id
	account    digest // it was issued to
	turns      uint16 // of the assistant before the one it belongs to
	run        uint16 // the ordinal of the first of the thinking blocks around it that nothing separates
	omitted    bool   // its text was withheld, so whatever is sent in its place is ignored
	bound      bool   // to what follows
	compacted  bool   // that begins at a compaction
	content    digest
	system     digest
	tools      digest
	before     digest // all messages before it, without thinking
	previous   digest // of the token of the thinking before it, zero for none
}

const (
	flagOmitted = 1 << iota
	flagBound
	flagCompacted
)

// noteSize is the length of a note without the model's name.
const noteSize = 1 + 2*2 + 6*8

// signToken returns the token. size is the length in bytes of the thought.
func (s claims) signToken(k seal.Key, origin string, size int) string {
	var flags byte
	for bit, on := range map[byte]bool{flagOmitted: s.omitted, flagBound: s.bound, flagCompacted: s.compacted} {
		if on {
			flags |= bit
		}
	}
	b := []byte{flags}
	for _, n := range []uint16{s.turns, s.run} {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	for _, d := range []digest{s.account, s.content, s.system, s.tools, s.before, s.previous} {
		b = append(b, d[:]...)
	}
	s.Note = string(append(b, s.model...))
	return k.EnvelopeFor(size, seal.Facts{Origin: origin}, s.Place)
}

// openToken reads a token. ok is false for one that was never issued like this.
func openToken(k seal.Key, origin, token string) (claims, bool) {
	p, err := k.OpenEnvelope(seal.Facts{Origin: origin}, token)
	if err != nil {
		return claims{}, false
	}
	b := []byte(p.Note)
	if len(b) < noteSize {
		return claims{}, false
	}
	s := claims{Place: p, omitted: b[0]&flagOmitted != 0, bound: b[0]&flagBound != 0, compacted: b[0]&flagCompacted != 0}
	b = b[1:]
	for _, n := range []*uint16{&s.turns, &s.run} {
		*n, b = binary.BigEndian.Uint16(b), b[2:]
	}
	for _, d := range []*digest{&s.account, &s.content, &s.system, &s.tools, &s.before, &s.previous} {
		*d, b = digest(b[:8]), b[8:]
	}
	s.model = string(b)
	return s, true
}
