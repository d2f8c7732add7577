package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// wordSecret is a credential in a text, and the name that it stands under, if it has one.
type wordSecret struct{ name, value span }

// secretsInWords finds the credentials in a text that is not made for programs alone: a file
// that a tool read, a command line, the words of a user. The name of a credential is
// followed by a sign, and the sign by a value that nobody can guess:
//
//	export API_KEY=…    password: "…"    ["Authorization","Token …"]    --token …
//
// The text may be escaped once or several times, so a backslash ends names and values.
func secretsInWords(text []byte) (out []wordSecret) {
	known, set, stem, next, looked := names{}, &stems, uint16(0), 0, 0
	valueEnd := 0 // of the last long value, in which no names are looked for
	for i, c := range text {
		stem = (stem<<5 | uint16(c&31)) & (1<<15 - 1)
		if set[stem>>6&(1<<9-1)]>>(stem&63)&1 == 0 && c != '-' && c != ':' || i < next {
			continue
		}
		switch {
		case c == '-' && isFlagAt(text, i):
			if value, ok := flagValue(text, i); ok {
				out = append(out, wordSecret{value: value})
			}
		case c == ':' && bytes.HasPrefix(text[i:], []byte("://")):
			address := addressAround(text, i, looked) // its parameters have names, too
			looked = max(looked, address.end)
			for _, s := range urlSecrets(string(address.bytesIn(text))) {
				s = lastOfUser(text, span{address.start + s.start, address.start + s.end})
				if isWordSecret(s.bytesIn(text)) {
					out = append(out, wordSecret{value: s})
				}
			}
		case isStem(text[:i+1]):
			name := nameAround(text, i)
			if name.start >= valueEnd {
				values, end := valuesOf(text, name, known)
				for _, value := range values {
					out = append(out, wordSecret{name, value})
				}
				if end-name.end > longValue {
					valueEnd = end
				}
			}
			next = name.end
		}
	}
	return append(out, privateMembers(text)...)
}

// stems are the first three letters of the words that names of credentials have, five bits
// a letter: a set that fits into the processor's first cache.
var stems = func() (out [1 << 9]uint64) {
	for _, s := range []string{"key", "tok", "sec", "pas", "pwd", "aut", "coo", "cre", "jwt", "bea", "psk", "pat", "ver", "dev"} {
		code := uint(s[0]&31)<<10 | uint(s[1]&31)<<5 | uint(s[2]&31)
		out[code>>6] |= 1 << (code & 63)
	}
	return out
}()

// isStem reports whether a text ends with three letters.
func isStem(text []byte) bool {
	n := len(text)
	return n >= 3 && isLetter(text[n-1]) && isLetter(text[n-2]) && isLetter(text[n-3])
}

func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.' }

// nameAround returns the name that a byte of a text is in. "key" has the word before it:
// an API key is one, a sort key is none.
func nameAround(text []byte, at int) span {
	name := span{at, at + 1}
	for name.end < len(text) && isNameByte(text[name.end]) {
		name.end++
	}
	for name.start > 0 && isNameByte(text[name.start-1]) && at-name.start < maxName {
		name.start--
	}
	if name.start > 0 && text[name.start-1] == '\\' {
		name.start++ // of an escape, such as \n
	}
	if n := name.start; n > 1 && text[n-1] == ' ' && isLetter(text[n-2]) && bytes.EqualFold(name.bytesIn(text), []byte("key")) {
		for n--; n > 0 && isLetter(text[n-1]) && name.end-n < maxName; {
			n--
		}
		name.start = n
	}
	return name
}

// longValue is the length of a value in which no names are looked for, in bytes.
const longValue = 256

// valuesOf returns the secrets that stand under a name, several in a line of cookies, and how
// far it has looked.
func valuesOf(text []byte, name span, known names) (out []span, end int) {
	if name.end-name.start > maxName || name.end == len(text) || strings.IndexByte(" :=\"'`\\,>)]*?+|\t\r\n\xef<", text[name.end]) < 0 {
		return nil, 0
	}
	if bytes.HasSuffix(text[:name.start], []byte("://")) {
		return nil, 0 // the user of a URL, of which urlSecrets knows more
	}
	class, word := known.class(name.bytesIn(text)), name.bytesIn(text)
	if class != strongName && (class != weakName || !mayMeanKey(word)) {
		return nil, 0
	}
	at := afterSign(text, name, true)
	if at < 0 {
		return nil, 0
	}
	value := valueAt(text, at)
	end = value.end
	if next, ok := afterScheme(text, value); ok && !bytes.HasPrefix(value.bytesIn(text), []byte(mark)) {
		value = next
	}
	if bytes.HasSuffix(bytes.ToLower(word), []byte("cookie")) {
		return cookiesFrom(text, value)
	}
	value = afterOwnName(text, value)
	switch word := value.bytesIn(text); {
	case bytes.HasPrefix(word, []byte(mark)):
		return nil, end
	case strings.IndexByte(":=>{", text[at-1]) >= 0 && !isWordSecret(word):
		value = afterNext(text, value)
	}
	if v := string(value.bytesIn(text)); isWordSecret(value.bytesIn(text)) && (class == strongName || looksLikeKey(v) || encodedPassword(v) != nil) {
		out = append(out, value)
	}
	return out, max(end, value.end)
}

// afterOwnName returns a value without the name that it brings: of "secrets set KEY=x", x.
func afterOwnName(text []byte, value span) span {
	word := value.bytesIn(text)
	if n := bytes.IndexByte(word, '='); n > 0 && len(bytes.TrimRight(word, "=")) > n && !bytes.ContainsFunc(word[:n], func(c rune) bool { return c != '_' && !isASCIILetter(c) }) {
		value.start += n + 1
	}
	return value
}

// mayMeanKey reports whether a weak name means a secret where its value looks like a key: it
// is written as variables of the environment, flags or headers are, or says so.
func mayMeanKey(name []byte) bool {
	return bytes.IndexByte(name, '_') > 0 && bytes.Equal(bytes.ToUpper(name), name) ||
		name[0] == '-' || name[0]|0x20 == 'x' && len(name) > 1 && name[1] == '-' || meansSecret(name)
}

// afterNext returns the value after a word that is none: a type, a member, a call.
//
//	let token: &str = "…"    "password": {"value": "…"}    token=Secret("…")
func afterNext(text []byte, word span) span {
	if word.end > word.start && text[word.end-1] == '(' {
		return valueAt(text, word.end)
	}
	end := min(len(text), word.end+24)
	n := bytes.IndexAny(text[word.end:end], "=:,;}])\n")
	if n < 0 || word.end+n+1 == end || isSeveralLines(text[word.end:word.end+n]) || text[word.end+n] != '=' && text[word.end+n] != ':' {
		return span{word.end, word.end}
	}
	return valueAt(text, word.end+n+1)
}

// afterSign returns where the value of a name begins, -1 if none follows.
func afterSign(text []byte, name span, mayBePair bool) (at int) {
	at = pastAny(text, name.end, "\"'`\\)]*", 40)
	isQuoted := at > name.end
	sign := pastAny(text, at, " \t", 24)
	rest := text[sign:]
	switch {
	case len(rest) == 0:
		return -1
	case rest[0] == ':' || rest[0] == '=' || len(rest) > 1 && rest[1] == '=' && (rest[0] == '?' || rest[0] == '+'):
		return pastAny(text, sign, ":=>?+~", 3)
	case bytes.HasPrefix(rest, []byte("：")):
		return sign + len("：")
	case isQuoted && mayBePair && isPairName(text, name.end) > 0:
		return afterSign(text, span{0, pastLetters(text, isPairName(text, name.end))}, false)
	case isQuoted && (rest[0] == ',' || rest[0] == '{'):
		return sign + 1
	case bytes.HasPrefix(rest, []byte("</key>")): // of a property list
		if n := bytes.Index(rest[:min(len(rest), 48)], []byte("<string>")); n > 0 {
			return sign + n + len("<string>")
		}
		return -1
	case rest[0] == '>' && name.start > 0 && text[name.start-1] == '<' && sign == name.end:
		return sign + 1
	case bytes.HasPrefix(rest, []byte("is ")):
		return sign + len("is ")
	case mayBePair && isPairName(text, name.end) > 0: // name: X, value: Y in YAML
		return afterSign(text, span{0, pastLetters(text, isPairName(text, name.end))}, false)
	case isQuoted || sign == at:
		return -1
	}
	return sign
}

func pastLetters(text []byte, at int) int {
	for at < len(text) && isLetter(text[at]) {
		at++
	}
	return at
}

// isPairName returns where the "value" or the "content" begins that is the next member after
// a name, as in {"name": "X-Key", "value": "…"}; 0 if there is none.
func isPairName(text []byte, at int) int {
	at = pastAny(text, at, "\"'\\, \t\r\nnr", 48)
	if rest := text[at:]; bytes.HasPrefix(rest, []byte("value")) || bytes.HasPrefix(rest, []byte("content=")) {
		return at
	}
	return 0
}

// pastAny returns the end of the run of the given bytes at a place, of at most so many.
func pastAny(text []byte, at int, any string, most int) int {
	for end := min(len(text), at+most); at < end && strings.IndexByte(any, text[at]) >= 0; {
		at++
	}
	return at
}

// valueAt returns the word that begins at a place, without what encloses it. A value in
// quotes may have any signs in it.
func valueAt(text []byte, at int) span {
	ends := " \t\r\n\"'`\\<>,;)]}|&"
	for most := at + 40; at < len(text) && at < most && strings.IndexByte(" \t\"'`\\[{*+", text[at]) >= 0; at++ {
		switch c := text[at]; {
		case c == '\\' && at+1 < len(text) && isLetter(text[at+1]):
			return span{at, at} // the line ends
		case c == '"' || c == '\'' || c == '`':
			ends = " \t\r\n\\\"" + string(c) // a quotation mark may end the JSON around it
		}
	}
	if at+1 < len(text) && (text[at] == 'b' || text[at] == 'f') && (text[at+1] == '"' || text[at+1] == '\'') {
		return valueAt(text, at+1)
	}
	end := min(len(text), at+maxWordSecret+1)
	if n := bytes.IndexAny(text[at:end], ends); n >= 0 {
		end = at + n
	}
	for end > at && text[end-1] == '.' {
		end--
	}
	return span{at, end}
}

// afterScheme returns the word after a scheme: Bearer x, token x.
func afterScheme(text []byte, value span) (span, bool) {
	scheme := value.bytesIn(text)
	if len(scheme) < 2 || len(scheme) > 12 || value.end >= len(text) || text[value.end] != ' ' || bytes.ContainsFunc(scheme, func(c rune) bool { return !isASCIILetter(c) }) {
		return value, false
	}
	next := valueAt(text, value.end+1)
	return next, len(next.bytesIn(text)) >= minSecret
}

// cookiesFrom returns the values of a line of cookies that begins with value, and its end.
func cookiesFrom(text []byte, value span) (out []span, end int) {
	for {
		word := value.bytesIn(text)
		if n := bytes.IndexByte(word, ';'); n >= 0 { // in quotes it ends no value
			value.end = value.start + n
			word = word[:n]
		}
		if n := bytes.IndexByte(word, '='); n > 0 && isWordSecret(word[n+1:]) {
			out = append(out, span{value.start + n + 1, value.end})
		}
		if !bytes.HasPrefix(text[value.end:], []byte(";")) {
			return out, value.end
		}
		value = valueAt(text, value.end+1)
	}
}

// maxWordSecret is the length of the longest value that is taken for a secret, in bytes.
const maxWordSecret = 8 << 10

// isWordSecret reports whether a value cannot be guessed and is no expression, address or
// path: it has letters and digits, and more than words of a dictionary.
func isWordSecret(value []byte) bool {
	if len(value) < minWord || len(value) > maxWordSecret || strings.IndexByte("$<{(.@%", value[0]) >= 0 {
		return false
	}
	v := string(value)
	switch {
	case strings.IndexFunc(v, func(c rune) bool { return c < '!' || c > '~' }) >= 0:
		return false // what was redacted in base64 decodes to that
	case strings.HasPrefix(v, mark):
		return false
	case hasSecretForm(v):
		return true
	case !hasLettersAndDigits(v) || strings.Contains(v, "://") || strings.Contains(v, "${") || strings.Contains(v, "{{") || strings.Contains(v, "("):
		return false
	}
	bits := guessBits(v)
	if v[0] == '/' && bits < enoughBits {
		return false // a path
	}
	return bits >= leastIssuedBits && !slug.MatchString(v) && (bits > 36 || !identifier.MatchString(v))
}

var (
	// slug matches words and numbers: my-cache-key-v2, process.env.KEY_2.
	slug = regexp.MustCompile(`^(?:v?\d{1,4}|[A-Za-z]+)(?:[-_.:/](?:v?\d{1,4}|[A-Za-z]+))*$`)
	// identifier matches what a program calls a thing: config.oauth2Token, self.key1.
	identifier = regexp.MustCompile(`^(?:[A-Za-z]+_?\d?[A-Za-z_]*\.)*[A-Za-z]{3,}_?\d{0,2}[A-Za-z_]*$`)
)

// addressAround returns the URL whose "://" is at a place. Inside of another one, which ends
// at looked, it ends before the next: the parameters there are those of the other one.
func addressAround(text []byte, at, looked int) span {
	s := span{at, at + len("://")}
	for s.start > 0 && at-s.start < 20 && (isLetter(text[s.start-1]) || text[s.start-1] == '+') {
		s.start--
	}
	if n := bytes.Index(text[s.end:max(s.end, looked)], []byte("://")); n >= 0 {
		return span{s.start, s.end + n}
	}
	for s.end < len(text) && s.end-at < maxAddress && strings.IndexByte(" \t\r\n\"'`<>\\", text[s.end]) < 0 {
		s.end++
	}
	return s
}

// maxAddress is how much of a URL in a text is looked at, in bytes.
const maxAddress = 4 << 10

// lastOfUser returns the password of a user info, user:password, and any other secret as it is.
func lastOfUser(text []byte, s span) span {
	if n := bytes.IndexByte(s.bytesIn(text), ':'); n >= 0 && bytes.HasPrefix(text[s.end:], []byte("@")) {
		s.start += n + 1
	}
	return s
}

// privateMember matches the private numbers of a JSON Web Key.
var privateMember = regexp.MustCompile(`"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*"([A-Za-z0-9_-]{16,})`)

func privateMembers(text []byte) (out []wordSecret) {
	if !bytes.Contains(text, []byte(`"kty`)) {
		return nil
	}
	for _, m := range privateMember.FindAllSubmatchIndex(text, -1) {
		out = append(out, wordSecret{value: span{m[2], m[3]}})
	}
	return out
}
