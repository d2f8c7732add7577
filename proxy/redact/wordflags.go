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
	'P': {"sqlcmd", "zip", "mosquitto"},
	'a': {"redis-cli"},
	'w': {"ldap"},
	'k': {"openssl"},
}

// flagValue returns the password after a flag: -p X, -pX, -u user:X.
func flagValue(text []byte, at int) (span, bool) {
	flag := text[at+1]
	if flag == 'u' || flag == 'U' || flag == 'a' || bytes.HasPrefix(text[at:], []byte("--user")) || bytes.HasPrefix(text[at:], []byte("--proxy-user")) {
		start := at + 2
		if flag == '-' {
			start = at + len("--user")
			start += max(bytes.IndexAny(text[start:min(len(text), start+10)], " ="), 0) + 1
		}
		if start >= len(text) {
			return span{}, false
		}
		value := valueAt(text, start)
		if n := bytes.IndexByte(value.bytesIn(text), ':'); n > 0 {
			value.start += n + 1
			return value, isWordSecret(value.bytesIn(text))
		}
	}
	commands := passwordFlags[flag]
	if commands == nil {
		return span{}, false
	}
	value := valueAt(text, at+2)
	if !isWordSecret(value.bytesIn(text)) {
		return span{}, false
	}
	line := text[max(at-200, 0):at]
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	for _, c := range commands {
		if bytes.Contains(line, []byte(c)) {
			return value, true
		}
	}
	return span{}, false
}
