package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// nameAround returns the name that a byte of a text is in. "key" has the word before it:
// an API key is one, a sort key is not.
func nameAround(text []byte, at int) lex.Span {
	name := lex.Between(at, at+1)
	for name.End < len(text) && lex.IsNameByte(text[name.End]) {
		name.End++
	}
	for name.Start > 0 && lex.IsNameByte(text[name.Start-1]) && at-name.Start < names.MaxLength {
		name.Start--
	}
	if name.Start > 0 && text[name.Start-1] == '\\' {
		name.Start++ // of an escape, such as \n
	}
	if n := name.Start; n > 1 && text[n-1] == ' ' && lex.IsLetter(text[n-2]) && isLastWord(name.In(text)) {
		for n--; n > 0 && lex.IsLetter(text[n-1]) && name.End-n < names.MaxLength; {
			n--
		}
		if n > 0 && text[n-1] == '\\' {
			n++
		}
		name.Start = n
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
func (w *search) lookAtName(name lex.Span) {
	text := w.text
	w.next = name.End
	if bytes.HasSuffix(text[:name.Start], []byte("vault.azure.net/")) {
		w.lookAround(name, pairValue, names.Strong, values.LiteralPlace)
		return
	}
	if name.Start < w.valueEnd || name.End-name.Start > names.MaxLength || name.End < len(text) && strings.IndexByte(" :=\"'`\\,;>)]*?+|\t\r\n\xef<(", text[name.End]) < 0 {
		return
	}
	if bytes.HasSuffix(text[:name.Start], []byte("://")) || structure.IsInResourceName(text, name.Start) {
		return // the user of a URL, which is looked at as one
	}
	class := w.names.Class(name.In(text))
	switch {
	case string(name.In(text)) == "AUTH" && w.lookAtAuth(name), string(name.In(text)) == "wpa_passphrase" && w.addAfter(name.End, networkName):
		return
	case bytes.HasPrefix(text[name.End:], []byte(" V1-----")), // a static key of OpenVPN
		bytes.HasSuffix(text[:name.End], []byte("PRIVATE KEY-----")), bytes.HasPrefix(text[name.End:], []byte(" BLOCK-----")) && lex.HasSuffixFold(text[:name.End], "PRIVATE KEY"):
		w.lookAtKeyLines(name.End)
		return
	case class != names.Strong && class != names.Weak:
		w.lookAtOtherName(name)
		return
	case name.End == len(text):
		w.lookAtPipe(name)
		return
	}
	if class == names.Strong && w.lookAtTuple(name) || w.lookAtTable(name) || w.lookAtPair(name, class) || w.lookAtList(name) || w.lookAtCall(name, class) || (class == names.Strong || isStoreCommand(text, name)) && w.lookAtPipe(name) {
		return
	}
	w.lookAtValue(name, class)
}

// lookAtOtherName looks at a name that is not that of a credential.
func (w *search) lookAtOtherName(name lex.Span) {
	text, word := w.text, w.text[name.Start:name.End]
	switch {
	case bytes.HasPrefix(word, []byte("AGE-SECRET-KEY-1")):
		w.add(Secret{Value: name})
	case name.End < len(text) && text[name.End] == '=' && isSessionName(word):
		w.lookAtSessionCookie(name)
	case name.End < len(text) && text[name.End] == '>' && isSessionName(word) && isElement(text, name):
		if value := valueAt(text, name.End+1); value.End-value.Start >= leastSession && !values.IsUUID(string(value.In(text))) {
			w.addIfSecret(name, value, values.KeyPlace)
		}
	case string(word) == "CONCEALED": // of 1Password
		w.lookAround(name, pairValue, names.Strong, values.LiteralPlace)
	case lex.HasSuffixFold(word, "user.info"):
		if at := afterSign(text, name, false); at > 0 {
			w.addIfSecret(name, lastOfUser(text, valueAt(text, at)), values.LiteralKeyPlace)
		}
	case lex.HasSuffixFold(word, "webhook_id"):
		if at := afterSign(text, name, false); at > 0 && isHook.Match(valueAt(text, at).In(text)) {
			w.add(Secret{Name: name, Value: valueAt(text, at)})
		}
	case bytes.EqualFold(word, []byte("authorization_code")):
		w.lookAround(name, codeValue, names.Strong, values.KeyPlace)
	case bytes.EqualFold(word, []byte("Private-Lines")):
		w.lookAtKeyLines(name.End)
	case bytes.EqualFold(word, []byte("Private-MAC")):
		w.addIfSecret(name, valueAt(text, name.End+len(": ")), values.KeyPlace)
	case bytes.HasSuffix(word, []byte("stdin")):
		w.lookAtPipe(name)
	case bytes.HasSuffix(word, []byte("password-command")):
		w.addIfSecret(name, valueAt(text, lex.Past(text, name.End, " =\"'\\echo", 16)), values.LiteralPlace)
	case bytes.HasPrefix(word, []byte("jwt.")), bytes.HasSuffix(word, []byte("CredentialsImpl")) && name.End < len(text):
		w.lookAtCall(name, names.Strong)
	case bytes.HasPrefix(word, []byte("pypi-token.")) && name.End < len(text): // of poetry
		w.addIfSecret(name, valueAt(text, name.End+1), values.KeyPlace)
	}
}

// leastSession is the length of the shortest id of a session in XML, in bytes.
const leastSession = 32

// isHook matches the id of a webhook that only its sender knows.
var isHook = regexp.MustCompile(`^[0-9a-f]{64}$`)

// isSessionName reports whether a name is that of the id of a session.
func isSessionName(word []byte) bool {
	return lex.HasSuffixFold(word, "session_id") || lex.HasSuffixFold(word, "sessionid")
}

// lookAtSessionCookie looks at the id of a session in a line of cookies, in which it opens the session:
// session_id=X; theme=dark.
func (w *search) lookAtSessionCookie(name lex.Span) {
	value := valueAt(w.text, name.End+1)
	if bytes.HasPrefix(w.text[value.End:], []byte("; ")) {
		w.addIfSecret(name, value, values.AnyPlace)
	}
}

// isKeyOfLogin reports whether a name is "key" and stands beside that of a user: it is what the user
// logs in with.
func isKeyOfLogin(text []byte, name lex.Span) bool {
	before := text[max(name.Start-maxUser, 0):name.Start]
	return bytes.EqualFold(bytes.TrimSpace(name.In(text)), []byte("key")) && (userBefore.Match(before) || ownerBefore.Match(before))
}

// maxUser is how much of a text before a name is looked at for a user, in bytes.
const maxUser = 96

// ownerBefore matches what a key is a part of where only a secret one is: 'crypt' => ['key' => '…'],
// login(key="…"), the lines of a server of TACACS or RADIUS.
var ownerBefore = regexp.MustCompile(`(?i:\bcrypt|encryption|cipher|\bhmac)[\\"']*\s?(?::|=>|=)(?:\s|\\+n|[\[{(])*[\\"']*$|(?i:\blogin|\bauthenticate)\([\\"']*$|(?i:tacacs|radius)[^\n]{0,60}?(?:\n|\\n) *$`)

// userBefore matches the name of a user, and what is between it and the next member.
var userBefore = regexp.MustCompile(`(?i:username|user|login|email)[\\"']*\s?[:=]\s?[\\"']*[\w.@+-]{1,64}[\\"']*(?:,\s?|\s|\\+n)\s{0,8}[\\"']*$`)

// mayMeanKey reports whether a weak name means a secret where its value looks like a key: it
// is written as variables of the environment, flags or headers are, or says so.
func mayMeanKey(name []byte) bool {
	return isVariable(name) || name[0] == '-' || name[0]|0x20 == 'x' && len(name) > 1 && name[1] == '-' || names.MeansSecret(name)
}

// isVariable reports whether a name is written as variables of the environment are.
func isVariable(name []byte) bool {
	return bytes.IndexByte(name, '_') > 0 && bytes.Equal(bytes.ToUpper(name), name)
}

// isFlag reports whether a name is a flag: --password, -storepass.
func isFlag(word []byte) bool {
	return len(word) > 2 && word[0] == '-' && (word[1] == '-' || len(word) > len("-pw"))
}
