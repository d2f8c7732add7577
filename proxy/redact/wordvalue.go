package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// place says what the place of a value in a text says about it.
type place uint8

const (
	anyPlace        place = iota // nothing: only the value can tell
	spokenPlace                  // it follows the name of a credential in a sentence
	keyPlace                     // it stands under the name of what machines make: a token, a key
	literalKeyPlace              // … in quotes, in the environment or at the beginning of a line
	passwordPlace                // it is given to the name of what people choose: a password
	linePlace                    // … before which no word stands, as in a file of settings
	literalPlace                 // … or it is no expression of a program: in quotes, after a flag, in the environment
)

// chosenNames are parts of the names of what people choose.
var chosenNames = [][]byte{[]byte("pass"), []byte("pwd"), []byte("psk"), []byte("pswd"), []byte("mnemonic"), []byte("phrase")}

// isChosen reports whether people choose what stands under a name.
func isChosen(name []byte) bool {
	var space [maxName]byte
	low := space[:0]
	for _, c := range name[:min(len(name), maxName)] {
		low = append(low, c|0x20) // digits stay
	}
	for _, part := range chosenNames {
		if bytes.Contains(low, part) {
			return true
		}
	}
	return bytes.HasSuffix(bytes.TrimRight(low, digits), []byte("pw"))
}

// maxWordSecret is the length of the longest value that is taken for a secret, in bytes.
const maxWordSecret = 8 << 10

// isSecretIn reports whether a value in a place cannot be guessed, and is no expression,
// address or path.
func isSecretIn(value []byte, p place) bool {
	hasDigit, isExpression := lookOver(value)
	if isExpression || bytes.IndexByte(value, '\\') >= 0 {
		if plain, hasAccents := withoutAccents(value); hasAccents {
			return isSecretIn(plain, p)
		}
	}
	if isExpression {
		return false
	}
	if !hasDigit && len(value) < leastLetters && p != literalPlace {
		return false
	}
	v := string(value)
	switch {
	case hasDigit && hasSecretForm(v):
		return true
	case p == anyPlace:
		return isRandom(v) && !hexadecimal.MatchString(v)
	case hasDigit && hasLettersAndDigits(v) && (isNoWord(v) || p >= keyPlace && isMixed(v)), letterSurprise(v) >= p.leastSurprise(v):
		return true
	case p == literalKeyPlace && isLettersOfBase64(v):
		return true
	case p == keyPlace || p == literalKeyPlace:
		return isPhrase(v, "-") || !isDigitOrLetter(value, len(value)-1) && chosenWord.MatchString(v) || isChosenWords(v) || p == literalKeyPlace && hasManySigns(v)
	}
	return p >= spokenPlace && isChosenPassword(v, p)
}

// isLettersOfBase64 reports whether a value is random letters in base64 for URLs, with its signs.
func isLettersOfBase64(v string) bool {
	signs := strings.Count(v, "-") + strings.Count(v, "_")
	return len(v) >= 20 && signs > 0 && 8*signs <= len(v) && v != strings.ToLower(v) && v != strings.ToUpper(v) && isRandomLetters(urlSigns.Replace(v))
}

var urlSigns = strings.NewReplacer("-", "+", "_", "/")

// isMixed reports whether a value changes so often between letters and digits that it is no name.
func isMixed(v string) bool {
	return 4*countDigits(v) >= len(v) && digitGroups(v) >= 2 && guessBits(v) >= 24 && strings.Trim(v, alphabet) == "" && len(v) >= leastLetters && !identifier.MatchString(v)
}

// hasManySigns reports whether a value has so many different signs that nobody wrote it by hand.
func hasManySigns(v string) bool {
	signs := 0
	for _, sign := range []byte("!#%^&*?+~@$;:<>=|{}[](),") {
		signs += min(strings.Count(v, string(sign)), 1)
	}
	return signs >= 3 && guessBits(v) >= 60 && !operators.MatchString(v)
}

// leastSurprise is how many bits less likely as words letters must be. Small letters leave out
// where a word begins, so it takes more of them.
func (p place) leastSurprise(v string) float64 {
	switch isOneCase := v == strings.ToLower(v) || v == strings.ToUpper(v); {
	case isOneCase && p == spokenPlace:
		return leastSurprise + 7
	case isOneCase && (p == keyPlace || p == passwordPlace):
		return leastSurprise + 3
	}
	return leastSurprise
}

// isExpression reports whether a value is too short or too long for a secret or is what
// a program evaluates: $X, f(x), {{x}}.
func isExpression(value []byte) bool {
	_, isExpression := lookOver(value)
	return isExpression
}

// lookOver looks through a value once: whether it has a digit, and whether it is an expression.
func lookOver(value []byte) (hasDigit, isExpression bool) {
	if len(value) < minWord || len(value) > maxWordSecret || strings.IndexByte("$<{(.@%", value[0]) >= 0 && !isEscapedLetter(value) || bytes.HasPrefix(value, []byte(mark)) {
		return false, true
	}
	for i, c := range value {
		switch {
		case isDigit(c):
			hasDigit = true
		case c < '!' || c > '~': // what was redacted in base64 decodes to that
			return false, true
		case c == '(' && isName(value[:i]) && isCallEnd(value), c == '\\' && i == 2 && value[1] == ':', c == '{' && (value[i-1] == '$' || value[i-1] == '{'), c == ':' && bytes.HasPrefix(value[i:], []byte("://")):
			return false, true
		}
	}
	return hasDigit, false
}

// isEscapedLetter reports whether a value begins with a letter with an accent as URLs have it: %C3%96.
func isEscapedLetter(value []byte) bool {
	return value[0] == '%' && value[1]|0x20 == 'c' && value[3] == '%'
}

// isCallEnd reports whether a text ends as a call does: f(x), f(x).y, or within its arguments.
func isCallEnd(text []byte) bool {
	end := bytes.LastIndexByte(text, ')') + 1
	return end == 0 || isName(text[end:]) && (end == len(text) || !isDigit(text[end]))
}

// isName reports whether a text has only what names of programs have.
func isName(text []byte) bool {
	for _, c := range text {
		if !isNameByte(c) {
			return false
		}
	}
	return true
}

// isNoWord reports whether a value is more than words of a dictionary and numbers.
func isNoWord(v string) bool {
	bits := guessBits(v)
	if isPath := v[0] == '/' || strings.HasPrefix(v, "~/"); isPath && bits < enoughBits && (strings.Count(v, "/") > 1+len(v)/20 || !isRandom(v)) {
		return false
	}
	switch {
	case bits < leastIssuedBits, slug.MatchString(v), bits <= 36 && identifier.MatchString(v), memberOf.MatchString(v), strings.HasPrefix(v, "urn:"):
		return false
	}
	return 12*countDigits(v) >= len(v) || surpriseOf(v, len(v)/2) > surelyWords // GoogleCloudV1alphaAccessToken
}

// surelyWords is the surprise of letters that are surely words.
const surelyWords = -20

// isRandom reports whether a value is so random that no name is needed to know that it is
// a secret, or the digest of something.
func isRandom(v string) bool {
	return len(v) >= 20 && strings.Trim(v, alphabet+"-_.~+/=") == "" && !uuid.MatchString(v) && !slug.MatchString(v) && !digest.MatchString(v) &&
		(digitGroups(v) >= 2 && guessBits(v) >= 70 && (12*countDigits(v) >= len(v) || surpriseOf(v, len(v)/2) > 0) || isRandomLetters(v))
}

// countDigits counts the digits of v.
func countDigits(v string) (n int) {
	for i := range len(v) {
		if isDigit(v[i]) {
			n++
		}
	}
	return n
}

// isChosenPassword reports whether a value that is given to a password is one that people
// choose: no single word, and what programs do not call a thing.
func isChosenPassword(v string, p place) bool {
	isLiteral := p == literalPlace
	hasSign := strings.IndexAny(strings.TrimRight(v, "!?"), "!#%^&*?+~@$") > 0 && !operators.MatchString(v)
	switch {
	case len(v) > 64 || strings.IndexByte("/~.", v[0]) >= 0:
		return false
	case p > keyPlace && isChosenWords(v), p >= linePlace && isJoinedWords(v), isLiteral && isTitle(v, "-"):
		return true
	case p > spokenPlace && isPhrase(v, "-"), isLiteral && (isPhrase(v, "_") || isPhrase(v, ".")):
		return true
	case hasLettersAndDigits(v):
		return guessBits(v) >= 17 && (isLiteral || hasSign || strings.ContainsAny(v[len(v)-1:], "!?") || p == linePlace && !slug.MatchString(v) && !identifier.MatchString(v))
	}
	if strings.Trim(v, digits) == "" {
		return p >= linePlace && len(v) >= minWord
	}
	return isLiteral && (hasSign && guessBits(v) >= 25 || letterSurprise(v) > 3)
}

var (
	// slug matches words and numbers: my-cache-key-v2, process.env.KEY_2.
	slug = regexp.MustCompile(`^(?:v?\d{1,4}|[A-Za-z]+)(?:[-_.:/](?:v?\d{1,4}|[A-Za-z]+))*$`)
	// identifier matches what a program calls a thing: config.oauth2Token, self.key1.
	identifier = regexp.MustCompile(`^(?:[A-Za-z]+_?\d?[A-Za-z_]*\.)*[A-Za-z]{3,}_?\d{0,2}[A-Za-z_]*$`)
	// memberOf matches a member of something: ed25519.PrivateKey.
	memberOf = regexp.MustCompile(`^(?:[A-Za-z]+\d*[A-Za-z_]*\.)+[A-Za-z_]{4,}$`)
	// operators matches what stands between the parts of an expression.
	operators = regexp.MustCompile(`[!=]=|&&|\?\.|!\.|\?\?|\+\+|->|=>|%[svdq]|\*\*\*`)
	// capitalisedWords matches two words with a sign or digits at the end, as people choose them:
	// Jackal_saffron!, BadgerBobcat15.
	capitalisedWords = regexp.MustCompile(`^[A-Z][a-z0]+(?:_[a-z0]+(?:\d{1,4}|[!?*#$.])|[A-Z][a-z0]+\d{2,4})[!?*#$.]?$`)
	// chosenWord matches a word with digits and a sign at its end: Summer2024!, walnut231*.
	chosenWord = regexp.MustCompile(`^[A-Za-z]{4,}\d{2,4}[!?#$%&*+@]{1,2}$`)
	// joinedWords matches words with a number after them, and two words of which the second has
	// the capital: saffron-Kettle-31, Harbor.Ostrich.6, walnut-Ostrich.
	joinedWords = regexp.MustCompile(`^[A-Za-z][a-z]{2,}(?:[-_.][A-Za-z][a-z]{2,})+[-_.]\d{1,4}$|^[a-z]{5,}-[A-Z][a-z]{3,}$`)
	// titleWords matches words that all begin with a capital: Tulip-Engine-Fog.
	titleWords = regexp.MustCompile(`^[A-Z][a-z]{2,}(?:-[A-Z][a-z]{2,})+-(?:\d{1,4}|[A-Z][a-z]{2,})[!?*#$]?$`)
	// credentialWord matches what programs call a password.
	credentialWord = regexp.MustCompile(`(?i)passw|secret|token|key|user|login|field|hash|test|string`)
	// digest matches what says that it is one.
	digest = regexp.MustCompile(`^(?i:sha\d{1,3}|md5|h1)[-:=]`)
)

// isChosenWords reports whether a value is two words as people choose them.
func isChosenWords(v string) bool {
	return isUpper(v[0]) && capitalisedWords.MatchString(v) && !credentialWord.MatchString(v)
}

// isJoinedWords reports whether a value is words with a sign between them and a capital, as
// people choose them who must have several kinds of characters.
func isJoinedWords(v string) bool {
	return v != strings.ToLower(v) && joinedWords.MatchString(v) && !hasSpokenWord(v)
}

// isTitle reports whether a text is at least three words with capitals, or a number at its end.
func isTitle(text, separator string) bool {
	return strings.Count(text, separator) >= 2 && titleWords.MatchString(strings.ReplaceAll(text, separator, "-")) && !hasSpokenWord(text)
}

// hasSpokenWord reports whether one of the words of a value is of a sentence or a placeholder,
// or names a credential. Who was asked to change a password may leave the request in it.
func hasSpokenWord(v string) bool {
	return credentialWord.MatchString(v) || slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(v), func(c rune) bool { return !isASCIILetter(c) }), func(word string) bool {
		return word != "changeme" && (spokenWords[word] || labelWords[word])
	})
}

// isPhrase reports whether a text is at least four words, and none of them of a sentence.
func isPhrase(text, separator string) bool {
	if strings.Count(text, separator) < 3 {
		return false
	}
	words := 0
	for word := range strings.SplitSeq(text, separator) {
		words++
		if isNumber := separator == " " && words > 1 && (hasNumber(word) || words > 3 && strings.Trim(word, alphabet) == ""); !isNumber && (len(word) < 3 || strings.Trim(word, alphabet[:52]) != "" || isUpper(word[len(word)-1]) || spokenWords[strings.ToLower(word)]) {
			return false
		}
	}
	return true
}

// hasNumber reports whether a word is of letters and digits.
func hasNumber(word string) bool {
	return strings.ContainsAny(word, digits) && strings.Trim(word, alphabet) == ""
}

// spokenWords are in sentences and in placeholders, not in a phrase that somebody drew.
var spokenWords = nameSet("the", "and", "your", "you", "for", "from", "with", "this", "that", "these", "not", "must", "should", "can", "will", "has", "have",
	"are", "was", "were", "been", "its", "our", "any", "all", "new", "old", "use", "used", "using", "enter", "please", "here", "when", "what", "which", "who",
	"how", "into", "only", "also", "then", "than", "but", "more", "least", "password", "passphrase", "passwort", "token", "secret", "key", "phrase", "user",
	"login", "account", "change", "changeme", "example", "placeholder", "test", "dummy", "fake", "replace", "insert", "value", "string", "required", "characters",
	"forgot", "reset", "confirm", "invalid", "wrong", "something", "secure", "strong", "random", "real", "before", "deploy", "production", "goes", "minimum", "maximum", "length", "letters", "digits", "numbers", "long", "field", "input", "database", "config", "credentials",
	"und", "der", "die", "das", "ein", "eine", "ist", "nicht", "mit", "ihr", "les", "des", "une", "pour", "votre", "est", "los", "las", "para", "con")

// phraseAt returns the words of a password that begin with value and have spaces between them:
// up to the end of the line or of the quotes.
func phraseAt(text []byte, value span, p place) (phrase span) {
	if p < linePlace {
		return span{}
	}
	end := min(len(text), value.start+maxPhrase)
	if n := bytes.IndexAny(text[value.start:end], "\n\\\"'`"); n >= 0 {
		end = value.start + n
	}
	phrase = span{value.start, end}
	words := string(phrase.bytesIn(text))
	if p == literalPlace && strings.ContainsAny(words, digits) && isTitle(words, " ") {
		return phrase
	}
	if first, _, _ := strings.Cut(words, " "); first == strings.ToLower(first) && isPhrase(words, " ") && (p == literalPlace && words == strings.ToLower(words) || strings.ContainsAny(words, digits)) {
		return phrase
	}
	return span{}
}

// maxPhrase is the length of the longest phrase, in bytes: 24 words.
const maxPhrase = 240

// afterOwnName returns a value without the name that it brings: of "secrets set KEY=x", x.
func afterOwnName(text []byte, value span) span {
	word := value.bytesIn(text)
	if n := bytes.IndexByte(word, '='); n > 0 && len(bytes.TrimRight(word, "=")) > n && !bytes.ContainsFunc(word[:n], func(c rune) bool { return c != '_' && !isASCIILetter(c) }) {
		value.start += n + 1
	}
	return value
}

// afterNext returns the value after a word that is none: a type, a member, a call.
//
//	let token: &str = "…"    "password": {"value": "…"}    token=Secret("…")
func afterNext(text []byte, word span) span {
	if word.end > word.start && text[word.end-1] == '(' {
		return valueAt(text, word.end)
	}
	end := min(len(text), word.end+24)
	if quoted := bytes.TrimLeft(text[word.end:end], "\\"); bytes.HasPrefix(quoted, []byte(`" `)) && len(quoted) > 2 && isLetter(quoted[2]) {
		return span{word.end, word.end} // another attribute of an element of XML
	}
	n := bytes.IndexAny(text[word.end:end], "=:,;}])\n")
	if n < 0 || word.end+n+1 == end || isSeveralLines(text[word.end:word.end+n]) || text[word.end+n] != '=' && text[word.end+n] != ':' {
		return span{word.end, word.end}
	}
	return valueAt(text, word.end+n+1)
}

// afterSign returns where the value of a name begins, -1 if none follows.
func afterSign(text []byte, name span, mayBePair bool) (at int) {
	at = pastAny(text, name.end, "\"'`\\)]*", 40)
	if n := pastTab(text, name.end); n > name.end {
		return n
	}
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
	case isQuoted && rest[0] == '{':
		return sign + max(len(hclDefault.Find(rest)), 1)
	case isQuoted && (rest[0] == ',' || rest[0] == '>' && isAttribute(text, name.start)):
		return sign + 1
	case bytes.HasPrefix(rest, []byte("</key>")): // of a property list
		if n := bytes.Index(rest[:min(len(rest), 48)], []byte("<string>")); n > 0 {
			return sign + n + len("<string>")
		}
		return -1
	case isElement(text, name) && (rest[0] == '>' || sign > name.end):
		if n := bytes.IndexAny(rest[:min(len(rest), maxAttributes)], "><\n"); n >= 0 && rest[n] == '>' {
			return sign + n + 1
		}
		return -1
	case bytes.HasPrefix(rest, []byte("is ")), bytes.HasPrefix(rest, []byte("is:")):
		return sign + len("is ")
	case bytes.HasPrefix(rest, []byte("— ")) || bytes.HasPrefix(rest, []byte("→ ")) || bytes.HasPrefix(rest, []byte("– ")):
		return sign + len("— ")
	case rest[0] == '|' && isCell(text, name.start):
		return sign + 1
	case bytes.HasPrefix(rest, []byte("<- ")): // of R
		return sign + len("<- ")
	case bytes.HasPrefix(rest, []byte("<<< ")):
		return sign + len("<<< ")
	case mayBePair && isPairName(text, name.end) > 0: // name: X, value: Y in YAML
		return afterSign(text, span{0, pastLetters(text, isPairName(text, name.end))}, false)
	case isQuoted || sign == at:
		return -1
	}
	return sign
}

// hclDefault matches what stands before the value of a variable of Terraform.
var hclDefault = regexp.MustCompile(`^\{(?:\\+n|\s){0,40}(?:\w+\s*=\s*\w+(?:\\+n|\s){1,40})?default\s*=`)

// isAttribute reports whether an attribute "name" of an XML element has its value at a place.
func isAttribute(text []byte, at int) bool {
	return bytes.HasSuffix(bytes.TrimRight(text[max(at-16, 0):at], "\"'\\"), []byte("name="))
}

// isCell reports whether the cell of a table begins before a place.
func isCell(text []byte, at int) bool {
	for at > 0 && strings.IndexByte(" `*", text[at-1]) >= 0 {
		at--
	}
	return at > 0 && text[at-1] == '|'
}

// maxAttributes is how long the attributes of an element are, at most.
const maxAttributes = 120

// isElement reports whether a name is that of an XML element: <Password, <wsse:Password.
func isElement(text []byte, name span) bool {
	at := name.start
	if at > 0 && text[at-1] == ':' {
		for at--; at > 0 && name.start-at < 20 && isLetter(text[at-1]); {
			at--
		}
	}
	return at > 0 && text[at-1] == '<'
}

// pastTab returns the end of tabs at a place, which may be escaped.
func pastTab(text []byte, at int) int {
	for {
		end := pastAny(text, at, "\\", 8)
		if end == at || end == len(text) || text[end] != 't' {
			return at
		}
		at = end + 1
	}
}

func pastLetters(text []byte, at int) int {
	for at < len(text) && isLetter(text[at]) {
		at++
	}
	return at
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
	ends, quote, depth := " \t\r\n\"'`\\<>,;)]}|&", byte(0), 0
	for most := at + 40; at < len(text) && at < most && strings.IndexByte(" \t\"'`\\[{*+", text[at]) >= 0; at++ {
		switch c := text[at]; {
		case c == '\\' && at+1 < len(text) && isLetter(text[at+1]):
			if writtenLength(text[at:], 0, 0) > 0 {
				return wordFrom(text, at, ends, quote, depth)
			}
			return span{at, at} // the line ends
		case quote != 0 && c == quote && isEmptyUpTo(text, at):
			return span{at, at}
		case c == '"' || c == '\'' || c == '`':
			ends = " \t\r\n\\\"" + string(c) // a quotation mark may end the JSON around it
			quote, depth = c, len(text[:at])-len(bytes.TrimRight(text[max(at-16, 0):at], "\\"))-max(at-16, 0)
		}
	}
	if bytes.HasPrefix(text[at:], []byte("]byte(")) { // the "[" is passed already
		return valueAt(text, at+len("]byte("))
	}
	if quote := pastAny(text, at+1, "\\", 4); at < len(text) && strings.IndexByte("bf@", text[at]) >= 0 && quote < len(text) && (text[quote] == '"' || text[quote] == '\'') {
		return valueAt(text, at+1)
	}
	return wordFrom(text, at, ends, quote, depth)
}

// isEmptyUpTo reports whether the quotation mark at a place ends a value that has nothing in it,
// or only signs.
func isEmptyUpTo(text []byte, at int) bool {
	before := bytes.TrimRight(text[max(at-16, 0):at], "\\")
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	return strings.IndexByte("*[{", last) >= 0 || last == text[at] && at+1 < len(text) && strings.IndexByte(",}])", text[at+1]) >= 0
}

// wordFrom returns the word from a place to one of the bytes that end it.
func wordFrom(text []byte, at int, ends string, quote byte, depth int) span {
	end, limit := at, min(len(text), at+maxWordSecret+1)
	for more := 1; more > 0; end += more {
		n := bytes.IndexAny(text[end:limit], ends)
		if n < 0 {
			end = limit
			break
		}
		end += n
		more = writtenLength(text[end:limit], quote, depth)
	}
	for end > at && text[end-1] == '.' {
		end--
	}
	return span{at, end}
}

// writtenLength returns the length of a character that a text begins with and that is written
// with a sign which would end a value: a letter with an accent, \u00e4, an entity of XML, and in
// quotes what has more backslashes before it than the quotation mark. It is 0 for another one.
func writtenLength(text []byte, quote byte, depth int) int {
	switch {
	case len(text) < 2:
		return 0
	case text[0] == '&':
		return len(entity.Find(text))
	case text[0] != '\\':
		return 0
	}
	n := pastAny(text, 0, "\\", 16)
	switch {
	case n == len(text):
		return 0
	case escapedAccent.Match(text[n:min(len(text), n+5)]):
		return n + 5
	case quote != 0 && n > depth && !isLetter(text[n]) && text[n] > ' ':
		return n + 1
	}
	return 0
}

var (
	entity        = regexp.MustCompile(`^&(?:amp|lt|gt|#\d{2,4});`)
	escapedAccent = regexp.MustCompile(`^u0[01][0-9a-fA-F]{2}$`)
)

// afterScheme returns the word after a scheme: Bearer x, token x.
func afterScheme(text []byte, value span) (span, bool) {
	scheme := value.bytesIn(text)
	if len(scheme) < 2 || len(scheme) > 16 || len(scheme) > 12 && bytes.IndexByte(scheme, '-') < 0 || value.end >= len(text) || text[value.end] != ' ' || bytes.ContainsFunc(scheme, func(c rune) bool { return c != '-' && !isASCIILetter(c) && (c < '0' || c > '9') }) {
		return value, false
	}
	next := valueAt(text, value.end+1)
	word := next.bytesIn(text)
	return next, len(word) >= minSecret && bytes.IndexByte(scheme, '-') < 0 || bytes.IndexByte(word, '=') > 0 && (len(word) >= minSecret || bytes.HasSuffix(word, []byte("=")))
}
