package redact

import (
	"bytes"
	"strings"
)

// isFlagAt reports whether a short flag or --user begins at a place.
func isFlagAt(text []byte, at int) bool {
	return (at == 0 || strings.IndexByte(" \"'\n", text[at-1]) >= 0) && at+2 < len(text)
}

// passwordFlags are the short flags before a password, and the commands that have them.
var passwordFlags = map[byte][]string{
	'p': {"mysql", "mariadb", "sshpass", "docker", "podman", "mongo", "az ", "twine", "7z", "useradd"},
	'P': {"sqlcmd", "zip", "mosquitto", "ssh-keygen", "bcp "},
	'a': {"redis-cli"},
	'w': {"ldap"},
	'k': {"openssl"},
	'N': {"ssh-keygen"},
}

// lookAtFlag looks at the password after a flag: -p X, -pX, -u user:X, at cookies after -b, and
// at what can only be a key.
func (w *wordSearch) lookAtFlag(at int) {
	text, flag := w.text, w.text[at+1]
	switch {
	case flag == 'd' || bytes.HasPrefix(text[at:], []byte("--data")):
		w.lookAtForm(at)
		return
	case flag == '-' && !bytes.HasPrefix(text[at:], []byte("--user")) && !bytes.HasPrefix(text[at:], []byte("--proxy-user")):
		return
	case bytes.HasSuffix(text[:at], []byte("htpasswd ")):
		w.lookAtPasswordFile(at)
		return
	case bytes.HasPrefix(text[at:], []byte("-p")) && bytes.HasSuffix(text[:at], []byte("sshpass ")):
		w.addIfSecret(span{}, valueAt(text, at+len("-p")), literalPlace)
		return
	case flag == 'S':
		w.lookAtSudo(at)
		return
	case flag == 'b' && hasCommand(text, at, []string{"curl"}):
		w.lookAtParameters(span{}, valueAt(text, at+2), ";")
		return
	case strings.IndexByte("uUa-", flag) >= 0:
		if value, ok := userPassword(text, at); ok {
			w.add(wordSecret{value: value})
			return
		}
	}
	start := at + 2
	if n := pastAny(text, start, "\"'\\", 8); n > start && n < len(text) && text[n] == ',' {
		start = n + 1 // in an array
	}
	value := valueAt(text, start)
	isJoined := value.start == at+2
	switch {
	case passwordFlags[flag] != nil && isSecretIn(value.bytesIn(text), passwordPlace) && hasCommand(text, at, passwordFlags[flag]):
	case isLetter(flag) && flag != 'n' && !isJoined && value.end-value.start >= leastKey && afterOwnName(text, value) == value && isSecretIn(value.bytesIn(text), anyPlace):
	default:
		return
	}
	if isJoined && value.end-value.start < minSecret {
		w.add(wordSecret{value: span{at, value.end}, flagLength: value.start - at})
		return
	}
	w.add(wordSecret{value: value})
}

// lookAtPasswordFile looks at the last argument of htpasswd -b FILE USER PASSWORD, of htpasswd
// -nb USER PASSWORD.
func (w *wordSearch) lookAtPasswordFile(at int) {
	end := at + indexOrLength(w.text[at:min(len(w.text), at+maxCommand)], ' ')
	flags := w.text[at:end]
	if bytes.IndexByte(flags, 'b') < 0 {
		return
	}
	value := valueAt(w.text, end)
	for n := bytes.Count(flags, []byte("n")); n < 2; n++ {
		value = valueAt(w.text, value.end)
	}
	w.addIfSecret(span{}, value, literalPlace)
}

// lookAtForm looks at the pairs after -d or --data.
func (w *wordSearch) lookAtForm(at int) {
	start := at + 2
	if w.text[at+1] == '-' {
		n := bytes.IndexAny(w.text[start:min(len(w.text), start+24)], " =")
		if n < 0 {
			return
		}
		start += n + 1
	}
	form := valueAt(w.text, start)
	for _, s := range pairSecrets(form.bytesIn(w.text), 0, nil) {
		w.addIfSecret(span{}, span{form.start + s.start, form.start + s.end}, literalPlace)
	}
}

// leastKey is the length of the shortest key that is found without a name, in bytes.
const leastKey = 24

// userPassword returns the password in the argument of -u user:X, --user user:X, -U user%X.
func userPassword(text []byte, at int) (span, bool) {
	start := at + 2
	if text[at+1] == '-' {
		start = at + len("--user")
		start += max(bytes.IndexAny(text[start:min(len(text), start+10)], " ="), 0) + 1
	}
	if start >= len(text) {
		return span{}, false
	}
	value := valueAt(text, start)
	n := bytes.IndexByte(value.bytesIn(text), ':')
	if n < 0 && text[at+1] == 'U' {
		n = bytes.IndexByte(value.bytesIn(text), '%')
	}
	if n <= 0 {
		return span{}, false
	}
	p := passwordPlace
	if value.start > 0 && strings.IndexByte("\"'", text[value.start-1]) >= 0 {
		p = literalPlace
	}
	value.start += n + 1
	return value, isSecretIn(value.bytesIn(text), p)
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
func (w *wordSearch) lookAtSudo(at int) {
	if hasCommand(w.text, at, []string{"sudo "}) {
		w.lookAtPipe(span{at, at})
	}
}
