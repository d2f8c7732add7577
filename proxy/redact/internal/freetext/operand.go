package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Passwords that follow the words of a command or of a protocol. The first group of each form is what
// ends before the password.
var (
	// rabbitUser follows "rabbitmqc".
	rabbitUser = regexp.MustCompile(`^tl(?: -\S+(?: \w+@\S+)?)* (?:add_user|change_password|authenticate_user) \S+ `)
	// loginKey stands before the "in" of a command that stores a token: wandb login X.
	loginKey = regexp.MustCompile(`(?:wandb|cargo|snyk|bw|heroku|surge|doctl|scw|hf) log$`)
	// imapTag stands before the "IN" of IMAP's a1 LOGIN user X.
	imapTag = regexp.MustCompile(`(?:^|[\s"'>:n])[A-Za-z.]{0,4}\d{1,6} LOG$`)
	// imapUser follows it.
	imapUser = regexp.MustCompile(`^ (?:\\*"[^"\\\s]+\\*"|[^\s"\\]+) `)
	// redisUser stands before the ">" of user NAME on >X.
	redisUser = regexp.MustCompile(`(?i)\b(?:user|setuser)[\\"', ]+[^\s"',\\]+[\\"', ]+(?:(?:on|off|reset\w*|nopass|all\w+|[~+&@%(-][^\s"',\\]*)[\\"', ]+)+$`)
	// authWords are the arguments of AUTH in a protocol without a user, or with one: AUTH user X.
	authWords = regexp.MustCompile(`^[\\"',]{0,4} ?(?:[\\"']{0,4}[\w.@-]{1,40}[\\"']{0,4},? )?[\\"']{0,4}([^\s\\"',)]{8,64})[\\"'\]]*(?:$|\\+[nr]|[\r\n"'])`)
	// authMechanism is the first argument of AUTH where it is a mechanism of SASL.
	authMechanism = regexp.MustCompile(`^ (?:PLAIN|LOGIN|CRAM|DIGEST|XOAUTH|OAUTH|NTLM|GSSAPI|SCRAM|EXTERNAL|ANONYMOUS|TLS|SSL)`)
	// relayLogin follows the host in a table of Postfix: [host]:587 user:X.
	relayLogin = regexp.MustCompile(`^:(?:25|465|587|2525)(?:[ \t]|\\+t)+[^\s:"'\\]+:([^\s:\\"']{8,64})`)
	// minioAlias stands before the address in mc alias set NAME URL KEY SECRET.
	minioAlias = regexp.MustCompile(`\b(?:alias set|config host add) \S+ [\\"']{0,4}$`)
	// networkName follows "wpa_passphrase".
	networkName = regexp.MustCompile(`^ (?:\\*"[^"\\]+\\*"|\S+) `)
)

// addAfter adds the password behind what a form matches at a place, and reports whether there is one.
func (w *search) addAfter(at int, form *regexp.Regexp) bool {
	m := form.Find(w.text[at:min(len(w.text), at+maxCommand)])
	return m != nil && w.addIfPassword(passwordAt(w.text, at+len(m)))
}

// lookAtLoginWord looks at the token that a command stores, and at LOGIN of IMAP, of which "log" ends at a
// place.
func (w *search) lookAtLoginWord(at int) {
	text := w.text
	before := text[max(at-longestTag, 0):at]
	switch {
	case bytes.HasPrefix(text[at:], []byte("in ")) && loginKey.Match(before):
		w.addIfSecret(lex.Span{}, valueAt(text, at+len("in ")), values.PasswordPlace)
	case bytes.HasPrefix(text[at:], []byte("IN ")) && imapTag.Match(before):
		w.addAfter(at+len("IN"), imapUser)
	}
}

// longestTag is how much before a word is looked at, in bytes.
const longestTag = 16

// lookAtAuth looks at the arguments of AUTH in Redis and its like, and reports whether there is a
// password.
func (w *search) lookAtAuth(name lex.Span) bool {
	text := w.text
	if isWord := name.Start == 0 || bytes.IndexByte([]byte("\"'\n"), text[name.Start-1]) >= 0 || bytes.HasSuffix(text[:name.Start], []byte(`\n`)) || bytes.HasSuffix(text[:name.Start], []byte("> ")); !isWord {
		return false
	}
	rest := text[name.End:min(len(text), name.End+maxCommand)]
	m := authWords.FindSubmatchIndex(rest)
	return m != nil && !authMechanism.Match(rest) && w.addIfPassword(lex.Between(name.End+m[2], name.End+m[3]))
}

// lookAtRule looks at the password in a rule of Redis, user NAME on >X, whose ">" is at a place.
func (w *search) lookAtRule(at int) {
	text := w.text
	if at == 0 || !lex.IsAlphanumericAt(text, at+1) || bytes.IndexByte([]byte(" \"'"), text[at-1]) < 0 {
		return
	}
	if redisUser.Match(commandBefore(text, at)) {
		w.addIfPassword(valueAt(text, at+1))
	}
}

// lookBehindAddress looks at the second word after a URL in a command that stores it with a key and a
// secret.
func (w *search) lookBehindAddress(address lex.Span) {
	if minioAlias.Match(commandBefore(w.text, address.Start)) {
		key := valueAt(w.text, address.End)
		w.addIfPassword(passwordAt(w.text, key.End))
	}
}
