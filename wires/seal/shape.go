package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// minFill keeps a signature above the 200 characters of the shortest real ones
// (reference §2.1).
const minFill = 120

// version stands before the seal: version 12, kind 2.
var version = []byte{0x08, 0x0c, 0x18, 0x02}

// Envelope returns the token in the shape that Anthropic's signatures and
// redacted data and Gemini's thought signatures share: standard base64 of a
// protobuf message whose field 2 holds the sealed bytes, so it starts with E.
func (k Key) Envelope(f Facts, p Place) string {
	return k.EnvelopeFor(len(f.Content), f, p)
}

// EnvelopeFor returns a token as long as one for a thought of size bytes. It is
// for issuers whose place notes the content, so that they can tell an altered
// thought from an altered token.
func (k Key) EnvelopeFor(size int, f Facts, p Place) string {
	sealed := k.signToken(f, "", p, minFill+size/2)
	inner := appendField(nil, 1, version)
	inner = appendField(inner, 5, sealed)
	return base64.StdEncoding.EncodeToString(appendField(nil, 2, inner))
}

// OpenEnvelope verifies a token of Envelope, character by character:
// another spelling of the same bytes is an edit.
func (k Key) OpenEnvelope(f Facts, token string) (Place, error) {
	raw, err := decode64(base64.StdEncoding, token)
	if err != nil {
		return Place{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	inner, rest, ok := cutField(raw, 2)
	if !ok || len(rest) > 0 {
		return Place{}, fmt.Errorf("%w: not an envelope", ErrBroken)
	}
	v, inner, ok := cutField(inner, 1)
	if !ok || !bytes.Equal(v, version) {
		return Place{}, fmt.Errorf("%w: no version", ErrBroken)
	}
	sealed, rest, ok := cutField(inner, 5)
	if !ok || len(rest) > 0 {
		return Place{}, fmt.Errorf("%w: no seal", ErrBroken)
	}
	return k.openToken(f, "", sealed)
}

// Stage is the event in which OpenAI shows an encrypted content. Each shows
// another string for the same item (reference §3.2).
type Stage string

// The stages.
const (
	StageAdded     Stage = "added"
	StageDone      Stage = "done"
	StageCompleted Stage = "completed"
)

// Fernet returns the token in the shape of OpenAI's encrypted_content:
// base64url of version, time, nonce, blocks and a MAC, so it starts with
// gAAAAA. The string of StageAdded is shorter than the others.
func (k Key) Fernet(f Facts, p Place, stage Stage, at time.Time) string {
	size := 6*minFill + len(f.Content)
	if stage == StageAdded {
		size = 3 * minFill
	}
	if odd := (sha256.Size + p.size() + size) % aes.BlockSize; odd > 0 {
		size += aes.BlockSize - odd
	}
	sealed := k.signToken(f, string(stage), p, size)
	token := make([]byte, 1, 1+8+len(sealed)+sha256.Size)
	token[0] = 0x80
	token = binary.BigEndian.AppendUint64(token, uint64(at.Unix()))
	token = append(token, sealed...) // the seal's tag stands where Fernet has its nonce
	return base64.URLEncoding.EncodeToString(k.fernetMAC(token, token))
}

// OpenFernet verifies a token of Fernet, of any stage, and says which.
func (k Key) OpenFernet(f Facts, token string) (Place, Stage, error) {
	raw, err := decode64(base64.URLEncoding, token)
	const head, tail = 1 + 8, sha256.Size
	if err != nil || len(raw) < head+tail || raw[0] != 0x80 {
		return Place{}, "", fmt.Errorf("%w: not an encrypted content", ErrBroken)
	}
	body, mac := raw[:len(raw)-tail], raw[len(raw)-tail:]
	if !hmac.Equal(mac, k.fernetMAC(nil, body)) {
		return Place{}, "", ErrBroken
	}
	for _, stage := range []Stage{StageAdded, StageDone, StageCompleted} {
		if p, err := k.openToken(f, string(stage), body[head:]); err == nil {
			return p, stage, nil
		}
	}
	return Place{}, "", ErrBroken
}

// fernetMAC appends the MAC of b.
func (k Key) fernetMAC(out, b []byte) []byte { return k.appendTag(out, Facts{Origin: "fernet"}, "", b) }

// decode64 decodes what of all spellings is the encoding's own: the decoder alone
// passes over line ends.
func decode64(e *base64.Encoding, s string) ([]byte, error) {
	if at := strings.IndexAny(s, "\r\n"); at >= 0 {
		return nil, base64.CorruptInputError(at)
	}
	return e.Strict().DecodeString(s)
}

// appendField appends one length-delimited protobuf field.
func appendField(out []byte, number int, data []byte) []byte {
	out = append(out, byte(number<<3|2))
	out = binary.AppendUvarint(out, uint64(len(data)))
	return append(out, data...)
}

// cutField splits off the length-delimited field that b starts with.
func cutField(b []byte, number int) (data, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != byte(number<<3|2) {
		return nil, nil, false
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > uint64(len(b)-1-n) {
		return nil, nil, false
	}
	b = b[1+n:]
	return b[:size], b[size:], true
}
