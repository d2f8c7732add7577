package gate

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// family is a kind of key, a row of prefixes.toml, which explains the members. A prefix counts at the start of a
// word, or after a few letters of one; otherwise random base64url would match.
type family struct {
	Prefix, Kind, Letters, Also string
	Least                       int
}

//go:embed prefixes.toml
var prefixFile []byte

var families = func() []family {
	var file struct{ Families []family }
	if err := toml.Unmarshal(prefixFile, &file); err != nil {
		panic(err) // it is part of the program
	}
	return file.Families
}()

// isJWT reports whether a text begins with a header and a payload that are JSON objects,
// and a signature. It reads no further, so that a text of nothing but beginnings is not read
// to its end at each of them.
func isJWT(text []byte) (ok bool, read int) {
	header, rest := cutTokenPart(text)
	payload, rest := cutTokenPart(rest)
	signature, _ := cutTokenPart(rest)
	ok = bytes.HasPrefix(payload, []byte(signedTokenBegin)) && len(payload) >= 12 && len(signature) >= 16
	return ok, len(header) + len(payload) + len(signature)
}

// cutTokenPart returns the base64url letters at the beginning of a text, and what follows
// the dot behind them: nothing without one.
func cutTokenPart(text []byte) (part, rest []byte) {
	n := 0
	for n < len(text) && isWordByte(text[n]) {
		n++
	}
	if n < len(text) && text[n] == '.' {
		rest = text[n+1:]
	}
	return text[:n], rest
}

// familiesBy finds families by the first two bytes of their prefix.
var familiesBy = func() map[uint16][]family {
	by := map[uint16][]family{}
	for _, f := range families {
		by[firstTwo(f.Prefix)] = append(by[firstTwo(f.Prefix)], f)
	}
	return by
}()

// beginFamily says of two bytes whether a prefix begins with them.
var beginFamily = func() (begin [1 << 16]bool) {
	for _, f := range families {
		begin[firstTwo(f.Prefix)] = true
	}
	return begin
}()

// knownKey returns the kind and the text of a key that starts at text[i], and how many bytes
// were read to see that.
func knownKey(text []byte, i int) (kind string, key []byte, read int) {
	if i+2 > len(text) {
		return "", nil, 0
	}
	isInsideWord := i > 0 && isWordByte(text[i-1])
	for _, f := range familiesBy[firstTwo(text[i:])] {
		if bytes.HasPrefix(text[i:], []byte(f.Prefix)) &&
			(!isInsideWord || f.mayFollowLetters() && followsFewLetters(text, i)) {
			key, n := f.keyAt(text, i)
			if read += n; key != nil {
				return f.Kind, key, read
			}
		}
	}
	return "", nil, read
}

// Mask returns text, a line for people, with each well-known key and each secret that a rule
// describes replaced by its kind. A client may send a key that redaction does not know about, and such a
// line quotes what the client sent.
func Mask(text string) string {
	in, out := []byte(text), []byte(nil)
	for i := 0; i < len(in); i++ {
		kind, key, _ := knownKey(in, i)
		if kind == "" {
			out = append(out, in[i])
			continue
		}
		out, i = fmt.Appendf(out, "[%s]", kind), i+len(key)-1
	}
	return maskPatterns(out)
}

// maskPatterns replaces the secrets that rules describe. What it writes has no form of one.
func maskPatterns(text []byte) string {
	s := search{secrets: newSecretSet()}
	for range maxMasks {
		hit := s.searchText(text, everything, false)
		if hit == nil {
			return string(text)
		}
		text = bytes.ReplaceAll(text, []byte(hit.secret()), fmt.Appendf(nil, "[%s]", hit.What))
	}
	return "[a text with many secrets]"
}

// maxMasks is how many different secrets of a line are masked one by one.
const maxMasks = 16

// Blank returns body with each well-known key replaced by as many letters "x", so that
// offsets stay true. It returns body itself when there is none. The opaque tokens of the
// providers stay, whatever they look like.
func Blank(body []byte) []byte {
	out, opaque := body, opaqueRunsOf(body, false)
	for i := 0; i < len(body)-1; i++ {
		if !beginFamily[firstTwo(body[i:])] {
			continue
		}
		kind, key, _ := knownKey(body, i)
		if kind == "" || opaque.has(i) {
			continue
		}
		if &out[0] == &body[0] {
			out = bytes.Clone(body)
		}
		copy(out[i:], bytes.Repeat([]byte("x"), len(key)))
		i += len(key) - 1
	}
	return out
}

// mayFollowLetters reports whether a prefix is odd enough to be one in the middle of a word:
// "task-" ends with "sk-".
func (f family) mayFollowLetters() bool {
	return len(f.Prefix) >= 4 && f.Prefix != "sess-" && f.Prefix != "xai-"
}

// maxKey is the length of the longest key in bytes. Without it, a text that only repeats a
// prefix would be read to its end at each of them.
const maxKey = 16 << 10

// keyAt returns the key of the family whose prefix is at text[i], or nil, and how many bytes
// were read to see that.
func (f family) keyAt(text []byte, i int) (key []byte, read int) {
	end, most := i+len(f.Prefix), min(len(text), i+maxKey)
	switch f.Prefix {
	case privateKeyBegin:
		key = privateKeyAt(text, i)
		return key, max(len(key), maxKeyLabel)
	case signedTokenBegin:
		if ok, read := isJWT(text[i:most]); !ok {
			return nil, read
		}
	}
	for end < most && (isAlphanumeric(text[end]) || strings.IndexByte(f.Letters, text[end]) >= 0) {
		end++
	}
	key = text[i:end]
	if len(key)-len(f.Prefix) < f.Least || f.lacks(key) || isPlaceholder(key) {
		return nil, len(key)
	}
	return key, len(key)
}

// lacks reports whether a key has not what keys of the family have beside their letters.
func (f family) lacks(key []byte) bool {
	return f.Also == "digit" && !bytes.ContainsAny(key, "0123456789") ||
		f.Also == "upper" && !bytes.Equal(bytes.ToUpper(key), key)
}

// isPlaceholder reports whether half of a key is one character again and again: ghp_xxxxxxxx.
func isPlaceholder(key []byte) bool {
	if len(key) > longestPlaceholder {
		return false
	}
	longest, run := 0, 0
	for i := range key {
		if run++; i > 0 && key[i] != key[i-1] {
			run = 1
		}
		longest = max(longest, run)
	}
	return 2*longest >= len(key)
}

// longestPlaceholder bounds how often a byte is read that such keys have in common.
const longestPlaceholder = 64

const (
	signedTokenBegin = "eyJ" // {" in base64
	privateKeyBegin  = "-----BEGIN "
	privateKeyLast   = "-----END "
	maxKeyLabel      = 40 // bytes, with the dashes behind it
)

// maxBeforeLine is how much is looked at for the first line of a key, in bytes: the number of
// the line may stand before it.
const maxBeforeLine = 64

// leastKeyLine is the length of the shortest first line of a key, in bytes.
const leastKeyLine = 16

// hasNoText reports whether bytes are not those of a text.
func hasNoText(b []byte) bool {
	for _, c := range b {
		if c > '~' || c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return true
		}
	}
	return false
}

// labelLength returns how much of a text is the label of a private key with the dashes
// behind it: RSA PRIVATE KEY-----, PGP PRIVATE KEY BLOCK-----. It is 0 for another text.
func labelLength(text []byte) int {
	label, _, isLabel := bytes.Cut(text[:min(len(text), maxKeyLabel)], []byte("-----"))
	if !isLabel || !bytes.HasSuffix(bytes.TrimSuffix(label, []byte(" BLOCK")), []byte("PRIVATE KEY")) {
		return 0
	}
	return len(label) + len("-----")
}

// privateKeyAt returns the private key that begins at text[start], or nil. It ends with its
// last line, or where it was cut off, as a tool's output may be.
func privateKeyAt(text []byte, start int) []byte {
	at := start + len(privateKeyBegin)
	label := labelLength(text[at:])
	if label == 0 {
		return nil
	}
	at += label
	rest := text[at:max(at, min(len(text), start+maxKey))]
	line := bytes.TrimLeft(rest[:min(len(rest), maxBeforeLine)], "\\nrt\r\n\t 0123456789→+-|>:")
	if isReplaced := bytes.HasPrefix(line, []byte("REDACTED")); isReplaced ||
		hasNoText(line[:min(len(line), leastKeyLine)]) {
		return nil // what was replaced in base64 decodes to no text
	}
	body, behind, _ := bytes.Cut(rest, []byte(privateKeyLast))
	if n := labelLength(behind); n > 0 && !bytes.Contains(body, []byte(privateKeyBegin)) &&
		!bytes.Contains(body, []byte(`"`)) {
		return text[start : at+len(body)+len(privateKeyLast)+n]
	}
	return bytes.TrimRight(text[start:at+cutKeyLength(rest)], "\r\n\t ")
}

// cutKeyLength returns how much of a text is lines of a key, in which line ends may be
// escaped. They end where a short word, a byte that no key has or the boundary of a part follows.
func cutKeyLength(text []byte) int {
	for n, c := range text {
		if c == '\n' && bytes.HasPrefix(text[n+1:], []byte("--")) || c == ' ' && !startsKeyLine(text[n+1:]) ||
			!isAlphanumeric(c) && strings.IndexByte("+/=\\\r\n\t :,-", c) < 0 {
			return n
		}
	}
	return len(text)
}

// startsKeyLine reports whether a text begins with a word as long as a line of a key.
func startsKeyLine(text []byte) bool {
	n := 0
	for n < len(text) && n < shortestRun && sextet[text[n]] >= 0 {
		n++
	}
	return n == shortestRun
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// continuity are the names under which the providers issue opaque tokens. Random
// letters look like a key sooner or later.
var continuity = map[string]bool{
	"signature": true, "thoughtSignature": true, "thought_signature": true,
	"encrypted_content": true, "encrypted_index": true, "encrypted_stdout": true,
}

// opaqueRuns tells which places of a text are in the opaque tokens of the providers. It
// looks at each run of base64 letters once, when places are asked for in their order.
type opaqueRuns struct {
	text       []byte
	isTorn     bool // text begins inside a longer one
	start, end int  // of the run that was looked at last
	isOpaque   bool
	read       int // bytes of the runs that were looked at
}

// opaqueRunsOf returns what is known before a run was looked at.
func opaqueRunsOf(text []byte, isTorn bool) opaqueRuns {
	return opaqueRuns{text: text, isTorn: isTorn, start: -1, end: -1}
}

// has reports whether text[i] is in an opaque token.
func (r *opaqueRuns) has(i int) bool {
	if i >= r.start && i <= r.end {
		return r.isOpaque
	}
	r.start, r.end = i, i
	for r.start > 0 && sextet[r.text[r.start-1]] >= 0 {
		r.start--
	}
	for r.end < len(r.text) && sextet[r.text[r.end]] >= 0 {
		r.end++
	}
	r.read += r.end - r.start
	r.isOpaque = isOpaqueAt(r.text, r.start, r.isTorn)
	return r.isOpaque
}

// isOpaqueAt reports whether the run of base64 letters at text[start] is the value of a
// continuity token, or the data of redacted thinking. isTorn says that text begins inside a
// longer one, so that the name may lie before it.
func isOpaqueAt(text []byte, start int, isTorn bool) bool {
	if start == 0 {
		return isTorn
	}
	if text[start-1] != '"' {
		return false
	}
	before := bytes.TrimRight(text[:start-1], " \t\n")
	before = bytes.TrimRight(bytes.TrimSuffix(before, []byte(":")), " \t\n")
	if !bytes.HasSuffix(before, []byte(`"`)) {
		return false
	}
	before = before[:len(before)-1]
	at := bytes.LastIndexByte(before, '"') + 1
	name := string(before[at:])
	return continuity[name] || name == "data" && bytes.Contains(before[max(at-80, 0):at], []byte("redacted_thinking"))
}
