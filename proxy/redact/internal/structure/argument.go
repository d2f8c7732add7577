package structure

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// IsArguments reports whether a member holds the command line of another program.
func IsArguments(key []byte) bool {
	return len(key) >= 3 && len(key) < 16 && argumentNames[strings.ToLower(string(key))]
}

var argumentNames = lex.Set("args argv command cmd command_line commandline extra_args extraargs entrypoint run")

// argumentSecrets finds the credentials in an argument of a command, or in a whole command
// line, given the argument before it.
func argumentSecrets(arg, previous []byte) []lex.Span {
	whole := []lex.Span{lex.Between(0, len(arg))}
	switch {
	case values.IsReference(string(arg)):
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
func flagSecrets(arg []byte) []lex.Span {
	name, value, _ := bytes.Cut(arg, []byte("="))
	found := settingSecrets(value)
	if isUserFlag(name) {
		found = afterByte(value, ':')
	}
	return lex.Shifted(found, len(name)+1)
}

// lineSecrets finds the values of flags in a whole command line.
func lineSecrets(line []byte) (out []lex.Span) {
	var previous []byte
	at := 0
	for word := range bytes.FieldsSeq(line) {
		at += bytes.Index(line[at:], word)
		if unquoted := bytes.Trim(word, `"'`); len(unquoted) > 0 {
			at, word = at+bytes.Index(word, unquoted), unquoted
		}
		if isSecretFlag(previous) && bytes.IndexByte(previous, '=') < 0 || isUserFlag(previous) || isSecretFlag(word) {
			for _, s := range argumentSecrets(word, previous) {
				quote := lex.Past(word, s.Start, `"'`, 1) // --password='x'
				out = append(out, lex.Between(at+quote, at+s.End))
			}
		}
		at += len(word)
		previous = word
	}
	return out
}

// afterByte returns the rest of arg after the first c, nothing without one.
func afterByte(arg []byte, c byte) []lex.Span {
	if n := bytes.IndexByte(arg, c); n >= 0 && n+1 < len(arg) {
		return []lex.Span{lex.Between(n+1, len(arg))}
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
	return names.Classify(string(name)) == names.Strong
}

// isUserFlag reports whether an argument is one before user:password.
func isUserFlag(arg []byte) bool { return string(arg) == "-u" || string(arg) == "--user" }
