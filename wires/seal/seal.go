// Package seal signs the opaque tokens that providers issue with a thought:
// signatures, redacted data, encrypted reasoning, thought signatures.
//
// A [Key] signs and opens tokens. [Facts] are what a token is bound to; a
// [Place] says which token of a reply it is, and travels inside the token:
//
//	key := seal.NewKey("seed")
//	facts := seal.Facts{Origin: "anthropic/signature", Model: model, Content: thought}
//	token := key.Envelope(facts, seal.Place{Reply: id, Total: 1})
//	place, err := key.OpenEnvelope(facts, token) // ErrBroken for other facts
//
// The package promises: a token has the shape of the real one, equal facts and
// keys give equal tokens, and a token opens only with the facts it was signed
// for. So the simulator notices a token that an agent altered, moved or swapped
// without remembering the conversation. The tokens are for tests only.
package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBroken says that a token was not signed with this key for these facts.
var ErrBroken = errors.New("seal: token does not belong to these facts")

// Facts are what a token is bound to. Two tokens for different facts differ.
type Facts struct {
	// Origin says who issues the token, e.g. "anthropic/signature". A token
	// never opens under another origin.
	Origin string
	Model  string
	// Prefix is a digest of the conversation before the reply for models that
	// bind their thoughts to it, else nil.
	Prefix []byte
	// Content is what the token vouches for: the thought's text, the call.
	Content []byte
}

// Place says which of a reply's tokens one is. It travels inside the token: when
// a token is missing from a replayed reply, the other tokens show it.
type Place struct {
	Reply   string // the provider's id of the reply or of the item
	Ordinal uint16 // from 0
	Total   uint16
	// Note is what else the token shall tell its issuer, "" for nothing: digests
	// of the facts that are told apart when a token does not fit. Neither it nor
	// Reply may exceed 32767 bytes.
	Note string
}

// Key signs and opens tokens. The zero Key is valid and means no seed. It is
// safe for concurrent use.
type Key struct{ *secret }

// NewKey derives a key from seed: equal seeds give equal tokens.
func NewKey(seed string) Key {
	return Key{newSecret(deriveKey(seed, "mac"), deriveKey(seed, "mask"))}
}

func deriveKey(seed, use string) (out [sha256.Size]byte) {
	h := hmac.New(sha256.New, []byte(seed))
	h.Write([]byte(use))
	h.Sum(out[:0])
	return out
}

// signToken returns tag ‖ masked(place ‖ fill): the tag authenticates facts, salt,
// place and fill, and is the nonce of the mask, so equal input gives equal
// bytes and nothing inside is readable. size is the length in bytes of fill,
// the opaque remainder that gives a token its real length.
func (k Key) signToken(f Facts, salt string, p Place, size int) []byte {
	place := p.size()
	out := p.encode(make([]byte, sha256.Size, sha256.Size+place+size))
	var seed [sha256.Size]byte
	k.appendTag(seed[:0], f, "fill/"+salt, out[sha256.Size:])
	out = out[:cap(out)]
	k.maskBytes(seed[:], out[sha256.Size+place:])
	k.appendTag(out[:0], f, salt, out[sha256.Size:])
	k.maskBytes(out[:sha256.Size], out[sha256.Size:])
	return out
}

// openToken is the inverse of signToken.
func (k Key) openToken(f Facts, salt string, sealed []byte) (Place, error) {
	if len(sealed) < sha256.Size {
		return Place{}, fmt.Errorf("%w: %d bytes are too few", ErrBroken, len(sealed))
	}
	tag, plain := sealed[:sha256.Size], bytes.Clone(sealed[sha256.Size:])
	k.maskBytes(tag, plain)
	var want [sha256.Size]byte
	if !hmac.Equal(tag, k.appendTag(want[:0], f, salt, plain)) {
		return Place{}, ErrBroken
	}
	none := fmt.Errorf("%w: no place inside", ErrBroken)
	if len(plain) < 4 {
		return Place{}, none
	}
	p := Place{Ordinal: binary.BigEndian.Uint16(plain), Total: binary.BigEndian.Uint16(plain[2:])}
	reply, rest, more, ok := cutText(plain[4:])
	if p.Reply = reply; !ok {
		return Place{}, none
	}
	if !more {
		return p, nil
	}
	if p.Note, _, _, ok = cutText(rest); !ok {
		return Place{}, none
	}
	return p, nil
}

// size is the length in bytes of what encode appends.
func (p Place) size() int {
	if p.Note == "" {
		return 6 + len(p.Reply)
	}
	return 8 + len(p.Reply) + len(p.Note)
}

func (p Place) encode(out []byte) []byte {
	out = binary.BigEndian.AppendUint16(out, p.Ordinal)
	out = binary.BigEndian.AppendUint16(out, p.Total)
	if p.Note == "" {
		return appendText(out, p.Reply, 0)
	}
	return appendText(appendText(out, p.Reply, noted), p.Note, 0)
}

// noted marks the length of a reply id that a note follows; a place without
// one is encoded as if there were no notes.
const noted = 1 << 15

func appendText(out []byte, text string, mark uint16) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(text))|mark)
	return append(out, text...)
}

func cutText(b []byte) (text string, rest []byte, mark, ok bool) {
	if len(b) < 2 {
		return "", nil, false, false
	}
	length := binary.BigEndian.Uint16(b)
	size := 2 + int(length&^noted)
	if len(b) < size {
		return "", nil, false, false
	}
	return string(b[2:size]), b[size:], length&noted != 0, true
}
