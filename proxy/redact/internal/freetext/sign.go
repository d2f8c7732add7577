package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// afterSign returns where the value of a name begins, -1 if none follows.
func afterSign(text []byte, name lex.Span, mayBePair bool) (at int) {
	at = lex.Past(text, name.End, "\"'`\\)]*", 40)
	if n := pastTab(text, name.End); n > name.End {
		return n
	}
	isQuoted := at > name.End
	sign := lex.Past(text, at, " \t", 24)
	rest := text[sign:]
	switch {
	case len(rest) == 0:
		return -1
	case rest[0] == ':' || rest[0] == '=' || len(rest) > 1 && rest[1] == '=' && (rest[0] == '?' || rest[0] == '+'):
		return lex.Past(text, sign, ":=>?+~", 3)
	case bytes.HasPrefix(rest, []byte("：")):
		return sign + len("：")
	case lex.IsDigit(rest[0]) && numberedSign.Match(rest[:min(len(rest), 8)]):
		return sign + bytes.IndexByte(rest, ':') + 1
	case isQuoted && mayBePair && isPairName(text, name.End) > 0:
		return afterSign(text, lex.Between(0, pastLetters(text, isPairName(text, name.End))), false)
	case isQuoted && rest[0] == '{':
		return sign + max(len(hclDefault.Find(rest)), 1)
	case isQuoted && (rest[0] == ',' || rest[0] == '>' && isAttribute(text, name.Start)):
		return sign + 1
	case bytes.HasPrefix(rest, []byte("</key>")): // of a property list
		if n := bytes.Index(rest[:min(len(rest), 48)], []byte("<string>")); n > 0 {
			return sign + n + len("<string>")
		}
		return -1
	case isElement(text, name) && (rest[0] == '>' || sign > name.End):
		if n := bytes.IndexAny(rest[:min(len(rest), maxAttributes)], "><\n"); n >= 0 && rest[n] == '>' {
			return sign + n + 1
		}
		return -1
	case bytes.HasPrefix(rest, []byte("is ")), bytes.HasPrefix(rest, []byte("is:")):
		return sign + len("is ")
	case bytes.HasPrefix(rest, []byte("— ")) || bytes.HasPrefix(rest, []byte("→ ")) || bytes.HasPrefix(rest, []byte("– ")):
		return sign + len("— ")
	case strings.IndexByte("?|o", rest[0]) >= 0 && defaultValue.Match(rest[:min(len(rest), 16)]):
		return sign + bytes.IndexByte(rest, ' ') + 1
	case rest[0] == '|' && (isCell(text, name.Start) || beginsLine(text, name.Start)):
		return sign + 1
	case bytes.HasPrefix(rest, []byte("<- ")): // of R
		return sign + len("<- ")
	case bytes.HasPrefix(rest, []byte("<<< ")):
		return sign + len("<<< ")
	case mayBePair && isPairName(text, name.End) > 0: // name: X, value: Y in YAML
		return afterSign(text, lex.Between(0, pastLetters(text, isPairName(text, name.End))), false)
	case isQuoted && sign > at && isSet(text, name.Start):
		return sign
	case isQuoted || sign == at:
		return -1
	}
	return sign
}

// numberedSign matches the number of a credential and a sign: Unseal Key 1: …
var numberedSign = regexp.MustCompile(`^\d{1,2}: `)

// defaultValue matches what stands before the value of a setting that is not set:
// process.env.KEY ?? 'X'.
var defaultValue = regexp.MustCompile("^(?:\\?\\?|\\|\\||or) \\\\*[\"'`]")

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
func isElement(text []byte, name lex.Span) bool {
	at := name.Start
	if at > 0 && text[at-1] == ':' {
		for at--; at > 0 && name.Start-at < 20 && lex.IsLetter(text[at-1]); {
			at--
		}
	}
	return at > 0 && text[at-1] == '<'
}
