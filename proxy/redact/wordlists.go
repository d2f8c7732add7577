package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// isPairName returns where the "value" or the "content" begins that is the next member after
// a name, as in {"name": "X-Key", "value": "…"}; 0 if there is none.
func isPairName(text []byte, at int) int {
	at = pastAny(text, at, "\"'\\, \t\r\nnr", 48)
	if rest := text[at:]; bytes.HasPrefix(rest, []byte("value")) || bytes.HasPrefix(rest, []byte("content=")) {
		return at
	}
	return 0
}

const (
	beforePair = 600 // how far the value of a pair may be before its name, in bytes
	afterPair  = 200 // … after it
)

var (
	// pairValue matches what stands before the value of one.
	pairValue = regexp.MustCompile(`(?i:value|\bresult|\bcontent)[\\"']*\s?[:=]\s?[\\"']*`)
	// codeValue matches what stands before the code of an OAuth flow.
	codeValue = regexp.MustCompile(`\bcode[\\"']*\s?[:=]\s?[\\"']*`)
)

// lookAtPair looks at the value of {"name": NAME, "value": VALUE}, in any order and with other
// members between, and reports whether there was one.
func (w *wordSearch) lookAtPair(name span, class nameClass) bool {
	if name.start == 0 || strings.IndexByte("\"'/\\", w.text[name.start-1]) < 0 || strings.IndexByte("\"'\\", w.text[name.end]) < 0 {
		return false
	}
	if isPairName(w.text, name.end) > 0 || !hasPairLabel(w.text, name.start) {
		return false
	}
	p := keyPlace
	if isChosen(name.bytesIn(w.text)) {
		p = literalPlace
	}
	return w.lookAround(name, pairValue, class, p)
}

// pairLabels are the members that hold the name of a pair.
var pairLabels = nameSet("name", "key", "type", "header", "field", "label", "variable")

// hasPairLabel reports whether such a member ends at a place: {"name": "X-Key", "value": "…"}.
func hasPairLabel(text []byte, at int) bool {
	before := func(any string) {
		for at > 0 && strings.IndexByte(any, text[at-1]) >= 0 {
			at--
		}
	}
	for most := at - maxName; at > 0 && at > most && (isNameByte(text[at-1]) || text[at-1] == '/'); {
		at--
	}
	before("\"'\\ ")
	if at == 0 || text[at-1] != ':' && text[at-1] != '=' {
		return false
	}
	at--
	before("\"'\\ ")
	end := at
	for at > 0 && end-at < 20 && isLetter(text[at-1]) {
		at--
	}
	var space [20]byte
	words := splitName(space[:0], string(text[at:end]))
	return pairLabels[string(words.last)]
}

// lookAround looks at the values after a label, in the object in which a name stands.
func (w *wordSearch) lookAround(name span, label *regexp.Regexp, class nameClass, p place) (ok bool) {
	text := w.text
	before := span{max(name.start-beforePair, 0), name.start}
	before.start += bytes.LastIndexAny(before.bytesIn(text), "{}<>") + 1
	after := span{name.end, min(name.end+afterPair, len(text))}
	if n := bytes.IndexAny(after.bytesIn(text), "}>"); n >= 0 {
		after.end = after.start + n
	}
	for _, area := range []span{after, before} {
		m := label.FindIndex(area.bytesIn(text))
		if m == nil {
			continue
		}
		at := area.start + m[1]
		value := valueAt(text, at-1) // from the quotation mark
		if value.start != at || value.end > area.end && area == before {
			continue
		}
		if hasSuffixFold(name.bytesIn(text), "cookie") {
			w.lookAtParameters(name, value, ";")
			return true
		}
		if v := value.bytesIn(text); isSecretIn(v, p) && (class == strongName || isRandom(string(v))) {
			w.add(wordSecret{name: name, value: value})
			ok = true
		}
	}
	return ok
}

// lookAtOtherName looks at a name that is not that of a credential.
func (w *wordSearch) lookAtOtherName(name span) {
	text, word := w.text, w.text[name.start:name.end]
	switch {
	case bytes.HasPrefix(word, []byte("AGE-SECRET-KEY-1")):
		w.add(wordSecret{value: name})
	case bytes.EqualFold(word, []byte("authorization_code")):
		w.lookAround(name, codeValue, strongName, keyPlace)
	case bytes.EqualFold(word, []byte("Private-Lines")):
		w.lookAtKeyLines(name.end)
	case bytes.EqualFold(word, []byte("Private-MAC")):
		w.addIfSecret(name, valueAt(text, name.end+len(": ")), keyPlace)
	case bytes.HasSuffix(word, []byte("stdin")):
		w.lookAtPipe(name)
	case bytes.HasSuffix(word, []byte("password-command")):
		w.addIfSecret(name, valueAt(text, pastAny(text, name.end, " =\"'\\echo", 16)), literalPlace)
	case bytes.HasPrefix(word, []byte("jwt.")):
		w.lookAtCall(name, strongName)
	case bytes.HasPrefix(word, []byte("pypi-token.")) && name.end < len(text): // of poetry
		w.addIfSecret(name, valueAt(text, name.end+1), keyPlace)
	}
}

// lookAtKeyLines looks at the lines of a private key after the one of a place.
func (w *wordSearch) lookAtKeyLines(at int) {
	_, next := lineEnd(w.text, at)
	if end, after := lineEnd(w.text, next); end == next {
		next = after // of PGP
	}
	for range maxKeyLines {
		end, after := lineEnd(w.text, next)
		m := keyLine.FindSubmatchIndex(w.text[next:end])
		if m == nil || m[3]-m[2] < minSecret && !bytes.Contains(w.text[after:min(after+maxKeyEnd, len(w.text))], []byte("-----END")) {
			return
		}
		w.add(wordSecret{value: span{next + m[2], next + m[3]}})
		w.valueEnd = end
		if after == next || end == after {
			return
		}
		next = after
	}
}

const (
	maxKeyLines = 64
	maxKeyEnd   = 24 // how soon after a short last line the end is said, in bytes
)

// keyLine matches a line of a key, with what numbers or quotes it and what ends the text
// around it.
var keyLine = regexp.MustCompile(`^(?:\s*\d+(?:\\+t|\t|→)|[\s+>|-]*)([A-Za-z0-9+/=]{1,80})(?:$|["'\\<\r ])`)

// lists are the last words of names that may hold several credentials.
var lists = []string{"secrets", "tokens", "passwords", "keys", "cookies", "credentials", "creds", "codes"}

// maxList is how much of a list of credentials is looked at, in bytes.
const maxList = 4 << 10

// lookAtList looks at the strings in a list or an object of credentials:
//
//	"secrets": {"stripe": "…"}    "tokens": ["…", "…"]    "cookies": [{"name": "sid", "value": "…"}]
func (w *wordSearch) lookAtList(name span) bool {
	text, word := w.text, name.bytesIn(w.text)
	if word[len(word)-1]|0x20 != 's' {
		return false
	}
	isList := false
	for _, last := range lists {
		isList = isList || hasSuffixFold(word, last) && (last != "keys" || len(word) > len(last))
	}
	if !isList {
		return false
	}
	at := pastAny(text, pastAny(text, name.end, "\"'\\ ", 8), ":= ", 4)
	at = pastAny(text, at, " \t\r\n\\nrt", 24)
	if at <= name.end || at < w.listEnd || at == len(text) || text[at] != '[' && text[at] != '{' {
		return false
	}
	isCodes := hasSuffixFold(word, "codes")
	depth, end := 0, min(len(text), at+maxList)
	key := span{}
	for i := at; i < end; i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				end = i
			}
		case '"', '\'':
			n := bytes.IndexByte(text[i+1:end], text[i])
			if n < 0 {
				end = i
				break
			}
			value := span{i + 1, i + 1 + n}
			i = value.end
			for value.end > value.start && text[value.end-1] == '\\' {
				value.end--
			}
			if next := pastAny(text, i+1, " ", 4); next < len(text) && text[next] == ':' {
				key = value
			} else if isCookie(word) && bytes.IndexByte(value.bytesIn(text), '=') > 0 {
				w.lookAtParameters(name, valueAt(text, value.start-1), ";")
			} else {
				w.lookAtElement(key, value, isCodes)
			}
		}
	}
	w.listEnd = end
	return true
}

// lookAtElement looks at a string in a list of credentials.
func (w *wordSearch) lookAtElement(key, value span, isCode bool) {
	class, v := w.names.class(key.bytesIn(w.text)), value.bytesIn(w.text)
	switch {
	case isExpression(v):
	case isCode && isOneTimeWord(v), hasSecretForm(string(v)),
		class == strongName && isSecretIn(v, literalPlace),
		class != publicName && isRandom(string(v)):
		w.add(wordSecret{name: key, value: value})
	case class == strongName && encodedPassword(string(v)) != nil:
		w.add(wordSecret{name: key, value: value})
	}
}

// isOneTimeWord reports whether a value is a code that replaces a second factor once: digits and
// letters, or letters that are no word.
func isOneTimeWord(v []byte) bool {
	surprise := surpriseOf(string(v), len(v))
	return recoveryCode.Match(v) || len(v) >= minWord && surprise != 0 && surprise > leastCodeSurprise
}

// leastCodeSurprise is how likely words letters may be to be a code.
const leastCodeSurprise = -3

// recoveryCode matches such a code with digits that replaces a second factor once.
var recoveryCode = regexp.MustCompile(`^[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+$|^[a-z]*\d[a-z0-9]{6,}$`)

// maxCall is how long the arguments of a call are, at most, in bytes.
const maxCall = 200

// lookAtCall looks at the strings among the arguments of SetBasicAuth("user", "…"),
// auth=("user", "…"), jwt.sign(payload, "…"), and reports whether there was a secret.
func (w *wordSearch) lookAtCall(name span, class nameClass) (ok bool) {
	text := w.text
	word := name.bytesIn(text)
	if class != strongName && !hasSuffixFold(word, "auth") && !hasSuffixFold(word, "credentials") && !hasSuffixFold(bytes.TrimRight(word, digits), "hmac") {
		return false
	}
	at := name.end
	if text[at] == '=' {
		at++
	}
	if at >= len(text) || text[at] != '(' {
		return false
	}
	end := min(len(text), at+maxCall)
	if n := bytes.IndexAny(text[at:end], ")\n"); n >= 0 {
		end = at + n
	}
	for i := at + 1; i < end; i++ {
		if text[i] != '"' && text[i] != '\'' {
			continue
		}
		value := valueAt(text, i)
		if v := value.bytesIn(text); value.end <= end && isSecretIn(v, passwordPlace) {
			w.add(wordSecret{name: name, value: value})
			ok = true
		}
		i = max(i, pastAny(text, value.end, "\\", 8))
	}
	return ok
}

// lookAtPipe looks at the password that a command reads: echo PASSWORD | sudo -S, and reports
// whether there was one.
func (w *wordSearch) lookAtPipe(name span) bool {
	if word := name.bytesIn(w.text); len(word) > 0 && !isFlag(word) && string(word) != "chpasswd" {
		return false
	}
	line := w.text[max(name.start-maxCommand, 0):name.start]
	line = line[lastLineEnd(line):]
	pipe := bytes.LastIndexByte(line, '|')
	if pipe < 0 {
		return false
	}
	m := printedSecret.FindSubmatchIndex(line[:pipe])
	if m == nil {
		return false
	}
	offset := name.start - len(line)
	value := span{offset + m[2], offset + m[3]}
	if n := bytes.IndexByte(value.bytesIn(w.text), ':'); n > 0 && string(name.bytesIn(w.text)) == "chpasswd" {
		value.start += n + 1
	}
	if !isSecretIn(value.bytesIn(w.text), literalPlace) {
		return false
	}
	w.add(wordSecret{name: name, value: value})
	return true
}

// maxCommand is how much of a command before a flag is looked at, in bytes.
const maxCommand = 200

// printedSecret matches what a command prints into a pipe.
var printedSecret = regexp.MustCompile(`\b(?:echo|printf|print)(?: -\w+)*(?: [\\"']*%s(?:\\+n)?[\\"']*)? [\\"']*([^\s\\"'|]+)[\\"']*\s*$`)
