package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// originThought is the origin of thoughtSignature.
const originThought = "gemini/thought_signature"

// claims is what a signature says of itself. It travels inside the token, which
// only the simulator can write, so that a token tells what is wrong with where it
// stands.
type claims struct {
	reply   string // responseId of the reply that it was issued in
	account string
	family  string
	// kind is "call" or "text". Of a text nothing is vouched for: the API lets
	// clients merge and drop signed texts (rule G-22).
	kind string
	// payload is a digest of a call's name and arguments.
	payload string
	// ordinal and total place a call among those of its reply.
	ordinal, total int
}

// signToken returns the token. extra bytes make it longer, as a longer thought
// does.
func (s claims) signToken(key seal.Key, extra int) string {
	text := strings.Join([]string{s.reply, s.account, s.family, s.kind, s.payload, strings.Repeat("=", min(extra, 1<<14))}, "\x00")
	return key.Envelope(seal.Facts{Origin: originThought}, seal.Place{Reply: text, Ordinal: uint16(s.ordinal), Total: uint16(s.total)})
}

// openToken reads the claims in a token. It reports false when the token was
// altered or issued elsewhere.
func openToken(key seal.Key, token string) (claims, bool) {
	place, err := key.OpenEnvelope(seal.Facts{Origin: originThought}, standardBase64(token))
	f := strings.Split(place.Reply, "\x00")
	if err != nil || len(f) != 6 {
		return claims{}, false
	}
	return claims{f[0], f[1], f[2], f[3], f[4], int(place.Ordinal), int(place.Total)}, true
}

// standardBase64 spells a token as it was issued: what stands in JSON for bytes may be
// of either alphabet, and some clients cut the padding.
func standardBase64(token string) string {
	bare := urlAlphabet.Replace(strings.TrimRight(token, "="))
	return bare + strings.Repeat("=", (4-len(bare)%4)%4)
}

// payloadOf is the digest of a call: its name, and its arguments however they
// are spelled.
func payloadOf(name string, args *tree.Node) string {
	text := []byte(name + "\x00")
	if args == nil {
		text = append(text, "{}"...)
	} else {
		text = canonical.Append(text, args)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
