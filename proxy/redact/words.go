package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// wordSecret is a credential in a text, and the name that it stands under, if it has one.
type wordSecret struct {
	name, value span
	flagLength  int // of a flag at the beginning of value: -pSECRET
}

// wordSearch finds the credentials in a text that is not made for programs alone: a file
// that a tool read, a command line, the words of a user. The name of a credential is
// followed by a sign, and the sign by a value that nobody can guess:
//
//	export API_KEY=…    password: "…"    ["Authorization","Token …"]    --token …
//
// The text may be escaped once or several times, so a backslash ends names and values.
type wordSearch struct {
	text  []byte
	names names
	found []wordSecret
	coded []int // where the base64 of JSON begins

	next     int // the end of the last name
	valueEnd int // … of the last long value, in which no names are looked for
	looked   int // … of the last URL
	listEnd  int // … of the last list of credentials
	tableEnd int // … of the last table, or line that begins none
	spoken   int // … of the beginning of the last sentence
}

// searchWords looks through a text once.
func searchWords(text []byte) (found []wordSecret, coded []int) {
	w := wordSearch{text: text}
	stem, set, signs := uint16(0), &stems, &signBytes
	for i, c := range text {
		stem = (stem<<5 | uint16(c&31)) & (1<<15 - 1)
		if set[stem>>6&(1<<9-1)]>>(stem&63)&1 == 0 && !signs[c] || i < w.next {
			continue
		}
		if signs[c] {
			w.lookAtSign(i, c)
		} else if isStem(text[:i+1]) {
			w.lookAtStem(i, stem)
		}
	}
	return append(w.found, privateMembers(text)...), w.coded
}

func (w *wordSearch) add(s wordSecret) { w.found = append(w.found, s) }

// addIfSecret adds a value that nobody can guess, and reports whether it is one.
func (w *wordSearch) addIfSecret(name, value span, p place) bool {
	isSecret := isSecretIn(value.bytesIn(w.text), p)
	if isSecret {
		w.add(wordSecret{name: name, value: value})
	}
	return isSecret
}

// stemOf is the code of three letters, five bits each.
func stemOf(s string) uint16 { return uint16(s[0]&31)<<10 | uint16(s[1]&31)<<5 | uint16(s[2]&31) }

// stems are three letters of the words that names of credentials have: a set that fits into
// the processor's first cache.
var stems = func() (out [1 << 9]uint64) {
	for _, s := range []string{
		"key", "tok", "sec", "pas", "pwd", "aut", "coo", "cre", "jwt", "bea", "psk", "pat", "ver", "dev",
		"ses", "ras", "mne", "phr", "iva", "cov", "kup", "srf", "hma", "otp", "swd", "eyj", "sig", "ied", "vau", "obs",
	} {
		code := stemOf(s)
		out[code>>6] |= 1 << (code & 63)
	}
	return out
}()

// Stems at which the search looks in a way of its own.
var (
	stemOfJSON       = stemOf("eyj") // in base64
	stemOfSignature  = stemOf("sig") // of a query
	stemOfIdentified = stemOf("ied") // IDENTIFIED BY 'PASSWORD'
	stemOfContrasena = stemOf("ras")
	stemOfVault      = stemOf("vau") // vault login TOKEN
	stemOfObscure    = stemOf("obs") // rclone obscure PASSWORD
)

// isStem reports whether a text ends with three letters.
func isStem(text []byte) bool {
	n := len(text)
	return n >= 3 && isLetter(text[n-1]) && isLetter(text[n-2]) && isLetter(text[n-3])
}

// lookAtStem looks at what three letters may be a part of.
func (w *wordSearch) lookAtStem(i int, stem uint16) {
	rest := w.text[i+1:]
	switch stem {
	case stemOfJSON:
		if bytes.HasSuffix(w.text[:i+1], []byte(base64Object)) {
			w.coded = append(w.coded, i+1-len(base64Object))
		}
	case stemOfSignature:
		if bytes.HasPrefix(rest, []byte("=")) && i > 2 && (w.text[i-3] == '&' || w.text[i-3] == '?') {
			w.addIfSecret(span{}, valueAt(w.text, i+2), keyPlace)
		}
	case stemOfIdentified:
		if n := len(" by '"); len(rest) > n && (bytes.EqualFold(rest[:n-1], []byte(" by "))) && strings.IndexByte("'\"\\", rest[n-1]) >= 0 {
			w.addIfSecret(span{}, valueAt(w.text, i+n), literalPlace)
		}
	case stemOfContrasena:
		if said := []byte("eña es "); bytes.HasPrefix(rest, said) {
			w.addIfSecret(span{}, valueAt(w.text, i+1+len(said)), passwordPlace)
		}
	case stemOfVault:
		w.lookAfter(i, "lt login ")
	case stemOfObscure:
		w.lookAfter(i, "cure ")
	default:
		w.lookAtName(nameAround(w.text, i))
	}
}

// lookAfter looks at the argument of a command whose text goes on with these words.
func (w *wordSearch) lookAfter(i int, words string) {
	if bytes.HasPrefix(w.text[i+1:], []byte(words)) {
		w.addIfSecret(span{}, valueAt(w.text, i+1+len(words)), passwordPlace)
	}
}

func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.' }

// nameAround returns the name that a byte of a text is in. "key" has the word before it:
// an API key is one, a sort key is not.
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
	if n := name.start; n > 1 && text[n-1] == ' ' && isLetter(text[n-2]) && isLastWord(name.bytesIn(text)) {
		for n--; n > 0 && isLetter(text[n-1]) && name.end-n < maxName; {
			n--
		}
		if n > 0 && text[n-1] == '\\' {
			n++
		}
		name.start = n
	}
	return name
}

// isLastWord reports whether a word tells nothing without the one before it: API key, seed phrase.
func isLastWord(word []byte) bool {
	return len(word) == len("key") && bytes.EqualFold(word, []byte("key")) || len(word) == len("phrase") && bytes.EqualFold(word, []byte("phrase"))
}

// longValue is the length of a value in which no names are looked for, in bytes.
const longValue = 256

// lookAtName looks for the secrets that stand under a name.
func (w *wordSearch) lookAtName(name span) {
	text := w.text
	w.next = name.end
	if name.start < w.valueEnd || name.end-name.start > maxName || name.end < len(text) && strings.IndexByte(" :=\"'`\\,;>)]*?+|\t\r\n\xef<(", text[name.end]) < 0 {
		return
	}
	if bytes.HasSuffix(text[:name.start], []byte("://")) || isInResourceName(text, name.start) {
		return // the user of a URL, of which urlSecrets knows more
	}
	class := w.names.class(name.bytesIn(text))
	switch {
	case bytes.HasPrefix(text[name.end:], []byte(" V1-----")), // a static key of OpenVPN
		bytes.HasSuffix(text[:name.end], []byte("PRIVATE KEY-----")), bytes.HasPrefix(text[name.end:], []byte(" BLOCK-----")) && hasSuffixFold(text[:name.end], "PRIVATE KEY"):
		w.lookAtKeyLines(name.end)
		return
	case class != strongName && class != weakName:
		w.lookAtOtherName(name)
		return
	case name.end == len(text):
		w.lookAtPipe(name)
		return
	}
	if w.lookAtTable(name) || w.lookAtPair(name, class) || w.lookAtList(name) || w.lookAtCall(name, class) || class == strongName && w.lookAtPipe(name) {
		return
	}
	w.lookAtValue(name, class)
}

// lookAtValue looks at what follows a name and a sign.
func (w *wordSearch) lookAtValue(name span, class nameClass) {
	text, word := w.text, name.bytesIn(w.text)
	at := afterSign(text, name, true)
	if at < 0 {
		w.lookAtSentence(name, class)
		return
	}
	value := valueAt(text, at)
	if text[at-1] == ',' && at < len(text) && isLineEnd(text, at) {
		value = valueBelow(text, at, word)
	}
	if at+1 < len(text) && text[at] == ' ' && strings.IndexByte("|>&", text[at+1]) >= 0 {
		node, isBlock := w.lookAtNode(name, class, at)
		if isBlock {
			return
		}
		value = node
	}
	if value.end-name.end > longValue {
		w.valueEnd = value.end
	}
	if value.end == value.start+1 && isDigit(text[value.start]) && text[at-1] == ' ' {
		value = valueAt(text, value.end) // password 7 X, of Cisco
	}
	if isParameter := text[at-1] == '=' && name.start > 0 && (text[name.start-1] == '?' || text[name.start-1] == '&'); isParameter {
		value.end = value.start + indexOrLength(value.bytesIn(text), '#') // of a URL, which goes on
	}
	next, hasScheme := afterScheme(text, value)
	if hasScheme && (bytes.IndexByte(next.bytesIn(text), '=') > 0 || !isSecretIn(value.bytesIn(text), keyPlace)) && !bytes.HasPrefix(value.bytesIn(text), []byte(mark)) {
		value = next
	}
	switch {
	case hasSuffixFold(word, "cookie"):
		w.lookAtParameters(name, value, ";")
		return
	case hasScheme && hasSuffixFold(word, "authorization") && bytes.IndexByte(value.bytesIn(text), '=') > 0:
		w.lookAtParameters(name, value, ",")
	}
	switch value = afterOwnName(text, value); {
	case hasSuffixFold(word, "ident"):
		value = lastOfUser(text, value)
	case bytes.HasPrefix(value.bytesIn(text), []byte("pass:")): // of openssl
		value.start += len("pass:")
	case string(value.bytesIn(text)) == "--body": // gh secret set NAME --body X
		at, value = value.end, valueAt(text, value.end)
	}
	if bytes.HasPrefix(value.bytesIn(text), []byte(mark)) {
		return
	}
	if w.addUnder(name, class, at, value) {
		return
	}
	if strings.IndexByte(":=>{", text[at-1]) < 0 {
		if next := afterNext(text, value); text[at-1] == ' ' && next.end > next.start && strings.IndexByte("\"'`", text[next.start-1]) >= 0 && w.addUnder(name, class, next.start-1, next) {
			return // var password string = "…"
		}
		w.lookAtSentence(name, class)
		return
	}
	if value.end < len(text) && text[value.end] == ' ' {
		if phrase := phraseAt(text, value, phrasePlace(placeOf(text, name, at, value), word)); phrase.end > phrase.start {
			w.add(wordSecret{name: name, value: phrase})
			return
		}
	}
	if value.start == value.end || !isDigitOrLetter(text, value.start) {
		w.lookAtSentence(name, class)
	}
	isID := string(value.bytesIn(text)) == "id"
	value = afterNext(text, value)
	if isID && providerSession.Match(value.bytesIn(text)) {
		return
	}
	w.addUnder(name, class, at, value)
	if value.end-name.end > longValue {
		w.valueEnd = max(w.valueEnd, value.end)
	}
}

// providerSession matches the id by which a provider names a session: {"session": {"id": "sess_…"}}.
var providerSession = regexp.MustCompile(`^sess_[A-Za-z0-9]+$`)

// valueBelow returns the element in the next line of a list in which a name stands, if the name is
// a flag or the element has a scheme; nothing for another one, as lists of names have it.
func valueBelow(text []byte, at int, name []byte) span {
	_, next := lineEnd(text, at)
	value := valueAt(text, next)
	if _, hasScheme := afterScheme(text, value); hasScheme || isFlag(name) {
		return value
	}
	return span{at, at}
}

// addUnder adds a value if it is a secret under its name, and reports whether it is.
func (w *wordSearch) addUnder(name span, class nameClass, at int, value span) bool {
	v, word := value.bytesIn(w.text), name.bytesIn(w.text)
	if len(v) < minWord || !isSecretIn(v, placeOf(w.text, name, at, value)) || class != strongName && !isKeyUnder(word, string(v)) {
		return false
	}
	if end := value.end; w.text[at-1] == ':' && end+1 < len(w.text) && w.text[end] == ' ' && isDigitOrLetter(w.text, end+1) && isJoinedWords(string(v)) {
		return false // a sentence goes on
	}
	w.add(wordSecret{name: name, value: value})
	return true
}

// phrasePlace is the place of a phrase: some names say that there is one.
func phrasePlace(p place, name []byte) place {
	if hasSuffixFold(name, "phrase") || hasSuffixFold(name, "mnemonic") {
		return literalPlace
	}
	return p
}

// isKeyUnder reports whether a value under a weak name is a key.
func isKeyUnder(name []byte, v string) bool {
	return hasSecretForm(v) || mayMeanKey(name) && (looksLikeKey(v) || encodedPassword(v) != nil) || isRandom(v) && !hexadecimal.MatchString(v) && !fileName.MatchString(v)
}

// placeOf says what the place of a value says about it.
func placeOf(text []byte, name span, at int, value span) place {
	word := name.bytesIn(text)
	switch sign := text[at-1]; {
	case sign == ' ' && text[at-2] == ' ' && bytes.IndexByte(word, '_') > 0 && bytes.Equal(bytes.ToUpper(word), word):
		return literalKeyPlace // in a list of variables
	case isChosen(word) && bytes.HasSuffix(text[:at], []byte(" is ")):
		return passwordPlace
	case sign == ' ' && bytes.Contains(text[max(name.start-maxName, 0):name.start], []byte("login ")):
		return linePlace // of a .netrc
	case sign == ' ' && isSet(text, name.start):
		return literalPlaceUnder(word)
	case sign == ' ' && isDirective(text, name, value):
		return linePlaceUnder(word)
	case sign == ' ' && !isFlag(word) && (value.start == 0 || strings.IndexByte("\"'`", text[value.start-1]) < 0):
		return spokenPlace
	case sign == ' ' && !isFlag(word):
		return passwordPlace
	case sign != ',' && value.start > 0 && strings.IndexByte("\"'`>", text[value.start-1]) >= 0, sign == '=' && bytes.Equal(bytes.ToUpper(word), word), isFlag(word):
		return literalPlaceUnder(word)
	case sign != ',' && beginsSetting(text, name.start):
		return linePlaceUnder(word)
	case !isChosen(word):
		return keyPlace
	}
	return passwordPlace
}

// linePlaceUnder is the place of a value that is alone with its name in a line.
func linePlaceUnder(name []byte) place {
	if isChosen(name) {
		return linePlace
	}
	return literalKeyPlace
}

// beginsSetting reports whether no word of a sentence stands before a place: a line begins
// there, or what a tool writes before one.
func beginsSetting(text []byte, at int) bool {
	for most := at - 40; at > 0 && at > most && strings.IndexByte(" \t", text[at-1]) >= 0; {
		at--
	}
	return at == 0 || !isLetter(text[at-1]) || at > 1 && text[at-2] == '\\'
}

// isFlag reports whether a name is a flag: --password, -storepass.
func isFlag(word []byte) bool {
	return len(word) > 2 && word[0] == '-' && (word[1] == '-' || len(word) > len("-pw"))
}

// isSet reports whether a command stands before a place that sets what is named there.
func isSet(text []byte, at int) bool {
	for most := at - maxName; at > 0 && at > most && text[at-1] > ' ' && text[at-1] != '"'; {
		at-- // npm config set //registry/:_authToken X
	}
	return slices.ContainsFunc(setters, func(command []byte) bool { return bytes.HasSuffix(text[:at], command) })
}

// setters are the ends of commands that set a variable or a secret.
var setters = [][]byte{[]byte("setenv "), []byte("secret set "), []byte("secrets set "), []byte("config set ")}

// isDirective reports whether a name and a value are all of a line, as in a file of settings:
// requirepass X.
func isDirective(text []byte, name, value span) bool {
	start, end := name.start, value.end
	for start > 0 && strings.IndexByte(" \t", text[start-1]) >= 0 {
		start--
	}
	isBegun := start == 0 || text[start-1] == '\n' || text[start-1] == '"' || bytes.HasSuffix(text[:start], []byte(`\n`))
	return isBegun && !isUpper(text[name.start]) && (end == len(text) || strings.IndexByte("\n\r\"\\", text[end]) >= 0)
}

func hasSuffixFold(text []byte, suffix string) bool {
	return len(text) >= len(suffix) && bytes.EqualFold(text[len(text)-len(suffix):], []byte(suffix))
}

// mayMeanKey reports whether a weak name means a secret where its value looks like a key: it
// is written as variables of the environment, flags or headers are, or says so.
func mayMeanKey(name []byte) bool {
	return bytes.IndexByte(name, '_') > 0 && bytes.Equal(bytes.ToUpper(name), name) ||
		name[0] == '-' || name[0]|0x20 == 'x' && len(name) > 1 && name[1] == '-' || meansSecret(name)
}

// lookAtParameters looks at the values of pairs after a name: a line of cookies, the parameters
// of a scheme of authorization.
func (w *wordSearch) lookAtParameters(name, value span, separator string) {
	text := w.text
	for range maxParameters {
		word := value.bytesIn(text)
		if n := bytes.IndexByte(word, ';'); n >= 0 { // in quotes it ends no value
			value.end = value.start + n
			word = word[:n]
		}
		if n := bytes.IndexByte(word, '='); n > 0 {
			parameter := span{value.start + n + 1, value.end}
			if parameter.start == parameter.end {
				parameter = valueAt(text, parameter.start) // in quotes
			}
			w.addIfSecret(name, parameter, keyPlace)
			value.end = pastAny(text, parameter.end, "\"\\", 4)
		}
		w.valueEnd = max(w.valueEnd, value.end)
		if !bytes.HasPrefix(text[value.end:], []byte(separator)) {
			return
		}
		value = valueAt(text, value.end+1)
	}
}

// maxParameters is how many parameters of one name are looked at.
const maxParameters = 64
