package redact

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// pseudonymFor returns a replacement of the same length for secret: always the
// same one for one key, and useless for guessing the secret without it. Below
// MinSecret bytes it is LongMark. It reads the secret twice, however long it is.
func (r *Redactor) pseudonymFor(secret string) string {
	if len(secret) < values.MinSecret {
		return values.LongMark[:len(secret)]
	}
	letters := make([]byte, len(secret)-len(values.Mark))
	first := copy(letters, r.keyedHash(0, secret))
	if first < len(letters) { // one stream, keyed by the secret, for the rest
		block, _ := aes.NewCipher(r.keyedHash(1,
			secret)) // 32 bytes are a key
		cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(letters[first:],
			letters[first:]) //nolint:gosec // a keyed stream that must repeat, no encryption
	}
	for i, b := range letters {
		letters[i] = lex.Alphabet[int(b)%len(lex.Alphabet)]
	}
	return values.Mark + string(letters)
}

// keyedHash returns one of several independent hashes of a secret under the key.
func (r *Redactor) keyedHash(number uint64, secret string) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write(binary.BigEndian.AppendUint64(nil, number))
	h.Write([]byte(secret))
	return h.Sum(nil)
}

// pseudonyms matches what a redactor leaves of a secret.
var pseudonyms = regexp.MustCompile(values.Mark + `[A-Za-z0-9]{8,}`)

// HasMark reports whether a redacted text contains what may stand in place of a secret, however
// short that was.
func HasMark(text []byte) bool { return bytes.Contains(text, []byte(values.Mark)) }

// FindPseudonym returns where the first of them begins and ends: it takes the letters and digits
// that follow, too.
func FindPseudonym(text []byte) (start, end int, ok bool) {
	if start = bytes.Index(text, []byte(values.Mark)); start < 0 {
		return 0, 0, false
	}
	end = start + len(values.Mark)
	for end < len(text) && (lex.IsLetter(text[end]) || lex.IsDigit(text[end])) {
		end++
	}
	return start, end, true
}

// CouldBeSecret reports whether a word is one that some build, or the look back at the end of a
// recording, may have replaced wherever it stood: no short word of a language, path or address.
func CouldBeSecret(word string) bool {
	if len(word) < values.MinWord || values.IsFile(word) || values.IsAddress(word) {
		return false
	}
	return values.IsSecretIn([]byte(word), values.LiteralPlace) || values.IsWordOfKey(word) && isLearnable(word)
}

// HasPseudonym reports whether a redacted text contains a pseudonym, so that no
// server would accept it.
func HasPseudonym(text []byte) bool { return pseudonyms.Match(text) }

// MaskPseudonyms returns a redacted text with REDACTED in place of each
// pseudonym. Pseudonyms depend on the user's key, so two recordings of the same
// request by two users are equal only without them. It returns text itself when
// there is nothing to mask.
func MaskPseudonyms(text []byte) []byte {
	if !bytes.Contains(text, []byte(values.Mark)) {
		return text
	}
	return pseudonyms.ReplaceAll(text, []byte(values.Mark))
}

// replaceSecret replaces the secret part of a credential, which is all but its
// scheme. Pseudonyms stay.
func (r *Redactor) replaceSecret(credential string) string {
	secret := values.WithoutScheme(credential)
	if values.IsPseudonym(secret) {
		return credential
	}
	return credential[:len(credential)-len(secret)] + r.pseudonymFor(secret)
}
