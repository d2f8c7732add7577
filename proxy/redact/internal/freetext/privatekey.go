package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// lookAtKeyLines looks at the lines of a private key after the one of a place.
func (w *search) lookAtKeyLines(at int) {
	_, next := lineEnd(w.text, at)
	if end, after := lineEnd(w.text, next); end == next {
		next = after // of PGP
	}
	for range maxKeyLines {
		end, after := lineEnd(w.text, next)
		m := keyLine.FindSubmatchIndex(w.text[next:end])
		if m == nil || m[3]-m[2] < values.MinSecret && !bytes.Contains(w.text[after:min(after+maxKeyEnd, len(w.text))], []byte("-----END")) {
			return
		}
		w.add(Secret{Value: lex.Between(next+m[2], next+m[3])})
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

// privateMember matches the private numbers of a JSON Web Key.
var privateMember = regexp.MustCompile(`"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*"([A-Za-z0-9_-]{16,})`)

// privateMembers finds the private numbers of the JSON Web Keys in a text.
func privateMembers(text []byte) (out []Secret) {
	for _, m := range privateMember.FindAllSubmatchIndex(text, -1) {
		out = append(out, Secret{Value: lex.Between(m[2], m[3])})
	}
	return out
}

// secretBlock matches the title of a block that holds a secret other than a private key, after
// "-----BEG".
var secretBlock = regexp.MustCompile(`^IN [A-Za-z0-9 -]{0,40}(?i:seed|jwt|secret|token|credentials?|(?:client|server|static|shared|symmetric|api) key)-----`)

// lookAtBlock looks at the first line of a block, whose "-----BEG" ends at a place.
func (w *search) lookAtBlock(at int) {
	if !bytes.HasSuffix(w.text[:at+1], []byte("-----BEG")) || !secretBlock.Match(w.text[at+1:min(len(w.text), at+1+maxTitle)]) {
		return
	}
	_, next := lineEnd(w.text, at)
	next = lex.Past(w.text, next, " :", 4) // of a comment
	if value := valueAt(w.text, next); value.End-value.Start >= values.MinSecret && !values.IsExpression(value.In(w.text)) {
		w.add(Secret{Value: value})
		w.next = value.End
	}
}

// maxTitle is the length of the longest title of a block, in bytes.
const maxTitle = 80

// accountKeys matches the private keys in a list of accounts, after "acco".
var accountKeys = regexp.MustCompile(`^unts[\\"']*\s?[:=]\s?\[((?:\s*[\\"']+0x[0-9a-fA-F]{64}[\\"']+,?)+)`)

// lookAtAccounts looks at the private keys of the accounts of a chain. An address is shorter.
func (w *search) lookAtAccounts(at int) {
	m := accountKeys.FindSubmatchIndex(w.text[at:min(len(w.text), at+maxList)])
	if m == nil {
		return
	}
	for start := at + m[2]; ; {
		n := bytes.Index(w.text[start:at+m[3]], []byte("0x"))
		if n < 0 {
			return
		}
		w.add(Secret{Value: lex.Between(start+n, start+n+len("0x")+64)})
		start += n + len("0x") + 64
	}
}
