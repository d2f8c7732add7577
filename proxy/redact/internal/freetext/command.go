package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// isFlagAt reports whether a short flag or --user begins at a place.
func isFlagAt(text []byte, at int) bool {
	return (at == 0 || strings.IndexByte(" \"'\n", text[at-1]) >= 0) && at+2 < len(text)
}

// lookAtFlag looks at the password after a flag: -p X, -pX, -u user:X, at cookies after -b, and
// at what can only be a key.
func (w *search) lookAtFlag(at int) {
	if !w.lookAtProgramFlag(at) && !w.lookAtKnownFlag(at) {
		w.lookAtShortFlag(at)
	}
}

// lookAtKnownFlag looks at a flag that has a meaning of its own, and reports whether it is one.
func (w *search) lookAtKnownFlag(at int) bool {
	text, flag := w.text, w.text[at+1]
	switch {
	case flag == 'd' || bytes.HasPrefix(text[at:], []byte("--data")):
		w.lookAtForm(at)
	case flag == '-' && !bytes.HasPrefix(text[at:], []byte("--user")) && !bytes.HasPrefix(text[at:], []byte("--proxy-user")):
		// a long flag has a name, and is looked at there
	case bytes.HasSuffix(text[:at], []byte("htpasswd ")):
		w.lookAtPasswordFile(at)
	case flag == 'S':
		w.lookAtSudo(at)
	case flag == 'b' && hasCommand(text, at, []string{"curl"}):
		w.lookAtParameters(lex.Span{}, valueAt(text, at+len("-b")), ";")
	default:
		return strings.IndexByte("uUa-", flag) >= 0 && w.lookAtUser(at)
	}
	return true
}

// lookAtShortFlag looks at the value of a flag of one letter: it may be so random that no name is
// needed.
func (w *search) lookAtShortFlag(at int) {
	text, flag := w.text, w.text[at+1]
	start := at + 2
	if n := lex.Past(text, start, "\"'\\", 8); n > start && n < len(text) && text[n] == ',' {
		start = n + 1 // in an array
	}
	value := valueAt(text, start)
	if isKey := lex.IsLetter(flag) && flag != 'n' && value.Start > at+2 && value.End-value.Start >= leastKey && afterOwnName(text, value) == value; isKey {
		w.addIfSecret(lex.Span{}, value, values.AnyPlace)
	}
}

// lookAtPasswordFile looks at the last argument of htpasswd -b FILE USER PASSWORD, of htpasswd
// -nb USER PASSWORD.
func (w *search) lookAtPasswordFile(at int) {
	end := at + lex.IndexOrLength(w.text[at:min(len(w.text), at+maxCommand)], ' ')
	flags := w.text[at:end]
	if bytes.IndexByte(flags, 'b') < 0 {
		return
	}
	value := valueAt(w.text, end)
	for n := bytes.Count(flags, []byte("n")); n < 2; n++ {
		value = valueAt(w.text, value.End)
	}
	w.addIfPassword(value)
}

// lookAtForm looks at the pairs after -d or --data.
func (w *search) lookAtForm(at int) {
	start := at + 2
	if w.text[at+1] == '-' {
		n := bytes.IndexAny(w.text[start:min(len(w.text), start+24)], " =")
		if n < 0 {
			return
		}
		start += n + 1
	}
	form := valueAt(w.text, start)
	for _, s := range structure.PairSecrets(form.In(w.text), 0, nil) {
		w.addIfSecret(lex.Span{}, lex.Between(form.Start+s.Start, form.Start+s.End), values.LiteralPlace)
	}
}

// leastKey is the length of the shortest key that is found without a name, in bytes.
const leastKey = 24

// lookAtUser looks at the argument of -u user:X, --user user:X, -U user%X, and reports whether
// there is a password in it.
func (w *search) lookAtUser(at int) bool {
	text, start := w.text, at+2
	if text[at+1] == '-' {
		start = at + len("--user")
		start += max(bytes.IndexAny(text[start:min(len(text), start+10)], " ="), 0) + 1
	}
	if start >= len(text) {
		return false
	}
	value := valueAt(text, start)
	n := bytes.IndexByte(value.In(text), ':')
	if n < 0 && text[at+1] == 'U' {
		n = bytes.IndexByte(value.In(text), '%')
	}
	if n <= 0 {
		return false
	}
	p := values.PasswordPlace
	if isAfterAny(text, value, "\"'") {
		p = values.LiteralPlace
	}
	return w.addIfSecret(lex.Span{}, lex.Between(value.Start+n+1, value.End), p)
}

// hasCommand reports whether one of the commands stands in the line before a place.
func hasCommand(text []byte, at int, commands []string) bool {
	line := text[max(at-maxCommand, 0):at]
	line = line[lastLineEnd(line):]
	for _, c := range commands {
		if bytes.Contains(line, []byte(c)) {
			return true
		}
	}
	return false
}

// lookAtSudo looks at the password that sudo -S reads from a pipe.
func (w *search) lookAtSudo(at int) {
	if !hasCommand(w.text, at, []string{"sudo "}) || w.lookAtPipe(lex.Between(at, at)) || !bytes.HasSuffix(w.text[:at], []byte("sudo ")) {
		return
	}
	line := w.text[max(at-maxCommand, 0):at]
	if m := printedPhrase.FindSubmatchIndex(line[lastLineEnd(line):]); m != nil {
		w.addIfPassword(lex.Between(at-len(line)+lastLineEnd(line)+m[2], at-len(line)+lastLineEnd(line)+m[3]))
	}
}

// lookAtPipe looks at the password that a command reads: echo PASSWORD | sudo -S, and reports
// whether there was one.
func (w *search) lookAtPipe(name lex.Span) bool {
	if word := name.In(w.text); len(word) > 0 && !isFlag(word) && string(word) != "chpasswd" && !bytes.HasPrefix(w.text[name.End:], []byte(" --stdin")) && !isStoreCommand(w.text, name) {
		return false
	}
	line := w.text[max(name.Start-maxCommand, 0):name.Start]
	line = line[lastLineEnd(line):]
	pipe := bytes.LastIndexByte(line, '|')
	if pipe < 0 {
		return false
	}
	m := printedSecret.FindSubmatchIndex(line[:pipe])
	if m == nil {
		return false
	}
	offset := name.Start - len(line)
	value := lex.Between(offset+m[2], offset+m[3])
	if n := bytes.IndexByte(value.In(w.text), ':'); n > 0 && string(name.In(w.text)) == "chpasswd" {
		value.Start += n + 1
	}
	return w.addIfPassword(value)
}

// isStoreCommand reports whether a name is that of a command which stores a secret that it reads:
// | gcloud secrets versions add X.
func isStoreCommand(text []byte, name lex.Span) bool {
	word := name.In(text)
	if string(word) != "secret" && string(word) != "secrets" {
		return false
	}
	return storeVerb.Match(text[name.End:min(len(text), name.End+24)])
}

// storeVerb matches what such a command does with the secret.
var storeVerb = regexp.MustCompile(`^ (?:versions )?(?:add|create|import|put|set|update|write) `)

// maxCommand is how much of a command before a flag is looked at, in bytes.
const maxCommand = 200

// printedSecret matches what a command prints into a pipe.
var printedSecret = regexp.MustCompile(`\b(?:echo|printf|print)(?: -\w+)*(?: [\\"']*%s(?:\\+n)?[\\"']*)? [\\"']*([^\s\\"'|]+)[\\"']*\s*$`)

// printedPhrase matches what is printed in quotes for sudo.
var printedPhrase = regexp.MustCompile(`\b(?:echo|printf)(?: -\w+)* \\*["']([^\\"'|]+)\\*["'] *\| *sudo $`)
