package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// isArguments reports whether a member holds the command line of another program.
func isArguments(key []byte) bool {
	return len(key) >= 3 && len(key) < 16 && argumentNames[strings.ToLower(string(key))]
}

var argumentNames = nameSet("args", "argv", "command", "cmd", "command_line", "commandline", "extra_args", "extraargs", "entrypoint", "run")

// argumentSecrets finds the credentials in an argument of a command, or in a whole command
// line, given the argument before it.
func argumentSecrets(arg, previous []byte) []span {
	whole := []span{{0, len(arg)}}
	switch {
	case isReference(string(arg)):
		return nil
	case bytes.IndexByte(previous, '=') < 0 && isSecretFlag(previous):
		return whole // --token=x has its value already
	case isUserFlag(previous):
		return afterByte(arg, ':')
	case isSecretFlag(arg):
		return afterByte(arg, '=')
	case isLongFlag(arg):
		return flagSecrets(arg)
	case bytes.HasPrefix(arg, []byte("-")) || bytes.IndexByte(arg, ' ') < 0:
		return settingSecrets(arg)
	}
	return append(lineSecrets(arg), settingSecrets(arg)...)
}

// isLongFlag reports whether an argument is a flag with its value: --env=NAME=VALUE.
func isLongFlag(arg []byte) bool {
	name, _, hasValue := bytes.Cut(arg, []byte("="))
	return hasValue && bytes.HasPrefix(name, []byte("--")) && bytes.IndexByte(name, ' ') < 0
}

// flagSecrets finds the credentials in the value of a long flag.
func flagSecrets(arg []byte) []span {
	name, value, _ := bytes.Cut(arg, []byte("="))
	found := settingSecrets(value)
	if isUserFlag(name) {
		found = afterByte(value, ':')
	}
	for i := range found {
		found[i].start, found[i].end = found[i].start+len(name)+1, found[i].end+len(name)+1
	}
	return found
}

// lineSecrets finds the values of flags in a whole command line.
func lineSecrets(line []byte) (out []span) {
	var previous []byte
	at := 0
	for word := range bytes.FieldsSeq(line) {
		at += bytes.Index(line[at:], word)
		if unquoted := bytes.Trim(word, `"'`); len(unquoted) > 0 {
			at, word = at+bytes.Index(word, unquoted), unquoted
		}
		if isSecretFlag(previous) && bytes.IndexByte(previous, '=') < 0 || isUserFlag(previous) || isSecretFlag(word) {
			for _, s := range argumentSecrets(word, previous) {
				quote := pastAny(word, s.start, `"'`, 1) // --password='x'
				out = append(out, span{at + quote, at + s.end})
			}
		}
		at += len(word)
		previous = word
	}
	return out
}

// afterByte returns the rest of arg after the first c, nothing without one.
func afterByte(arg []byte, c byte) []span {
	if n := bytes.IndexByte(arg, c); n >= 0 && n+1 < len(arg) {
		return []span{{n + 1, len(arg)}}
	}
	return nil
}

// isSecretFlag reports whether an argument is a flag with the name of a credential. Its
// value follows a "=", or is the next argument.
func isSecretFlag(arg []byte) bool {
	name, _, _ := bytes.Cut(arg, []byte("="))
	if !bytes.HasPrefix(name, []byte("-")) || bytes.ContainsAny(name, " \t") {
		return false
	}
	if string(name) == "--key" || string(name) == "--auth" || string(name) == "--oauth2-bearer" {
		return true
	}
	return classifyName(string(name)) == strongName
}

// isUserFlag reports whether an argument is one before user:password.
func isUserFlag(arg []byte) bool { return string(arg) == "-u" || string(arg) == "--user" }

// settingSecrets finds the credentials inside a longer setting: URLs, headers, flags,
// NAME=VALUE and connection strings.
func settingSecrets(text []byte) (out []span) {
	if len(text) > maxSetting {
		return nil
	}
	out = addressSecrets(text)
	if bytes.IndexByte(text, '=') < 0 && bytes.IndexByte(text, ':') < 0 && bytes.IndexByte(text, ' ') < 0 || bytes.IndexByte(text, ';') >= 0 {
		return out
	}
	if bytes.Contains(text, []byte("login ")) {
		for _, m := range loginPassword.FindAllSubmatchIndex(text, -1) {
			out = append(out, span{m[2], m[3]})
		}
	}
	for _, m := range namedValue.FindAllSubmatchIndex(text, -1) {
		name, value := text[m[2]:m[3]], groupOf(m[4:])
		if classifyName(string(name)) == strongName && !isReference(string(value.bytesIn(text))) && !bytes.HasPrefix(text[value.end:], []byte("://")) && !isAddress(string(value.bytesIn(text))) && !isTerm(text, span{m[2], m[3]}, value) {
			secrets := []span{{0, value.end - value.start}}
			if isCookie(name) {
				secrets = cookieSpans(value.bytesIn(text))
			}
			out = appendShifted(out, secrets, value.start)
		}
	}
	return out
}

// isTerm reports whether a name, a colon and a value are a term of some language: a scope
// (secret:read), an order (token:asc), a variable of GraphQL ($token: String!), a part of the name
// of a resource (arn:…:secret:…).
func isTerm(text []byte, name, value span) bool {
	v := value.bytesIn(text)
	switch sign := text[name.end:value.start]; {
	case sign[0] != ':':
		return false
	case name.start > 0 && text[name.start-1] == '$':
		return graphQLType.Match(v)
	case len(sign) > 1:
		return false
	}
	return len(v) < minWord && len(bytes.Trim(v, alphabet[26:52])) == 0 || isInResourceName(text, name.start)
}

// graphQLType matches the type of a variable, and the code after it.
var graphQLType = regexp.MustCompile(`^\[*[A-Z][A-Za-z]+[!\]]*(?:\)|$)`)

// isInResourceName reports whether a place is in the name of a resource of AWS.
func isInResourceName(text []byte, at int) bool {
	if at == 0 || text[at-1] != ':' {
		return false
	}
	word := text[max(at-maxName, 0):at]
	return bytes.HasPrefix(word[bytes.LastIndexAny(word, " \t\r\n\"'`\\=(,")+1:], []byte("arn:"))
}

// addressSecrets finds the credentials in what leads to a server: URLs and connection
// strings of NAME=VALUE with semicolons.
func addressSecrets(text []byte) (out []span) {
	if bytes.Contains(text, []byte("://")) {
		out = urlsIn(text)
	}
	if bytes.IndexByte(text, ';') < 0 {
		return out
	}
	at, pairs := 0, 0
	var passwords []span
	for part := range bytes.SplitSeq(text, []byte(";")) {
		name, value, isPair := bytes.Cut(part, []byte("="))
		if isPair && !isSeveralLines(part) {
			pairs++
			if end := at + len(part); len(value) > 0 && classifyName(string(name)) == strongName {
				passwords = append(passwords, span{end - len(value), end})
			}
		}
		at += len(part) + 1
	}
	if pairs < 2 {
		return out // a statement of a program
	}
	return append(out, passwords...)
}

// isSeveralLines reports whether a text, which may be escaped, has an end of a line in it.
func isSeveralLines(text []byte) bool {
	return bytes.IndexByte(text, '\n') >= 0 || bytes.Contains(text, []byte(`\n`))
}

// maxSetting is the length of the longest setting that is taken apart, in bytes.
const maxSetting = 16 << 10

// namedValue matches NAME=VALUE, Name: scheme VALUE and --name VALUE.
var namedValue = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]{1,60})(?:["']?\s?[=:]\s?(?:(?i:bearer|basic|token) )?|(?i: bearer ))(?:"([^"\n]+)"|'([^'\n]+)'|['"]?([^\s'";,&\\{[][^\s'";,&\\]*))`)

// groupOf returns the one group of several that matched.
func groupOf(groups []int) span {
	for len(groups) > 2 && groups[0] < 0 {
		groups = groups[2:]
	}
	return span{groups[0], groups[1]}
}

// loginPassword matches the password of an entry of a .netrc file.
var loginPassword = regexp.MustCompile(`\blogin\s+\S+\s+password\s+(\S+)`)

// urlsIn finds the secrets of the URLs in a text.
func urlsIn(text []byte) (out []span) {
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte("://"))
		if n < 0 {
			return out
		}
		start, end := at+n, at+n+len("://")
		for start > at && (isLetter(text[start-1]) || isDigit(text[start-1]) || text[start-1] == '+') {
			start--
		}
		for end < len(text) && strings.IndexByte(" \t\r\n\"'<>\\", text[end]) < 0 {
			end++
		}
		for _, s := range urlSecrets(string(text[start:end])) {
			out = append(out, span{start + s.start, start + s.end})
		}
		at = end
	}
}

// element matches an XML element of text: the credentials that AWS and SAML hand out.
var element = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9_.:-]{1,60})(?:\s[^<>]{0,120})?>([^<>\s]+)</`)

// elementCredentials finds the credentials in XML.
func elementCredentials(b []byte) (out []span) {
	if !bytes.Contains(b, []byte("</")) {
		return nil
	}
	for _, m := range element.FindAllSubmatchIndex(b, -1) {
		if classifyName(string(b[m[2]:m[3]])) == strongName && !isReference(string(b[m[4]:m[5]])) && !isAddress(string(b[m[4]:m[5]])) {
			out = append(out, span{m[4], m[5]})
		}
	}
	return out
}

// partName finds the name of a part in its header.
var partName = regexp.MustCompile(`(?i)\r\ncontent-disposition:[^\r\n]*[; ]name="?([^";\r\n]+)`)

// multipartCredentials finds the values of the parts with names of credentials, and the
// credentials in parts of JSON.
func multipartCredentials(b []byte, boundary string) (out []span) {
	line := []byte("\r\n--" + boundary)
	for at := 0; ; {
		n := bytes.Index(b[at:], []byte("\r\n\r\n"))
		if n < 0 {
			return out
		}
		header, start := b[at:at+n], at+n+len("\r\n\r\n")
		end := start + bytes.Index(b[start:], line)
		if end < start {
			end = len(b)
		}
		name := partName.FindSubmatch(header)
		switch {
		case end == start:
		case name != nil && isParameter(string(name[1]), b[start:end]):
			out = append(out, span{start, end})
		case b[start] == '{' || b[start] == '[':
			for _, s := range searchJSON(b[start:end], false, false).credentials {
				out = append(out, span{start + s.start, start + s.end})
			}
		}
		at = end
	}
}
