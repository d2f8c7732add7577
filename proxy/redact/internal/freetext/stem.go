package freetext

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// stemOf is the code of three letters, five bits each.
func stemOf(s string) uint16 { return uint16(s[0]&31)<<10 | uint16(s[1]&31)<<5 | uint16(s[2]&31) }

// stems are three letters of the words that names of credentials have: a set that fits into
// the processor's first cache.
var stems = func() (out [1 << 9]uint64) {
	for _, s := range lex.Words(
		// names of keys and tokens: token, secret, bearer, cookie, …
		"key tok sec aut coo cre jwt bea pat dev ses hma srf byp",
		// of passwords: password, passwd, psk, contraseña, mnemonic, phrase, …
		"pas pwd swd psk otp ras mne phr dpw",
		// … in other languages: kennwort, senha, haslo, heslo, wachtwoord, adgangskode, salasana, lozinka, chiave
		"nnw nha asl esl cht gsk asa ozi hia",
		// pepper, macaroon
		"pep oon",
		// codes and lines of keys: verifier, recovery, backup, private
		"ver cov kup iva",
		// what is looked at in a way of its own
		"eyj gho ghs ya2 sig ied vau obs mqc kty ogi beg cea cco bho snm",
	) {
		code := stemOf(s)
		out[code>>6] |= 1 << (code & 63)
	}
	return out
}()

// lookAtIssued looks for a credential that begins at a place and shows by its form what it is.
func (w *search) lookAtIssued(at int) {
	if lex.IsAlphanumericAt(w.text, at-1) && !bytes.HasSuffix(w.text[:at], []byte(`\n`)) {
		return // inside of a word
	}
	if n := len(w.found); n > 0 && at < w.found[n-1].Value.End {
		return // found by its name
	}
	if n := values.IssuedLength(w.text[at:]); n > 0 {
		w.add(Secret{Value: lex.Between(at, at+n)})
		w.next = at + n
	}
}

// Stems at which the search looks in a way of its own.
var (
	stemOfJSON       = stemOf("eyj") // in base64, and signed tokens
	stemOfUserToken  = stemOf("gho") // of GitHub
	stemOfRunToken   = stemOf("ghs")
	stemOfGoogle     = stemOf("ya2") // the only one with a digit
	stemOfSignature  = stemOf("sig") // of a query
	stemOfIdentified = stemOf("ied") // IDENTIFIED BY 'PASSWORD'
	stemOfContrasena = stemOf("ras") // contraseña
	stemOfVault      = stemOf("vau") // vault login TOKEN
	stemOfObscure    = stemOf("obs") // rclone obscure PASSWORD
	stemOfRabbit     = stemOf("mqc") // rabbitmqctl add_user USER PASSWORD
	stemOfKeyType    = stemOf("kty") // of a JSON Web Key
	stemOfBlock      = stemOf("beg") // -----BEGIN USER NKEY SEED-----
	stemOfAccounts   = stemOf("cco") // accounts: ["0x…"]
	stemOfCommunity  = stemOf("snm") // snmp-server community X
	stemOfLogin      = stemOf("ogi") // a1 LOGIN USER PASSWORD
)

// isStem reports whether a text ends with three letters.
func isStem(text []byte) bool {
	n := len(text)
	return n >= 3 && lex.IsLetter(text[n-1]) && lex.IsLetter(text[n-2]) && lex.IsLetter(text[n-3])
}

// lookAtStem looks at what three letters may be a part of.
func (w *search) lookAtStem(i int, stem uint16) {
	rest := w.text[i+1:]
	switch stem {
	case stemOfJSON:
		if bytes.HasSuffix(w.text[:i+1], []byte(base64Object)) {
			w.coded = append(w.coded, i+1-len(base64Object))
			w.lookAtIssued(i + 1 - len(base64Object))
		}
	case stemOfUserToken, stemOfRunToken:
		w.lookAtIssued(i - 2)
	case stemOfGoogle: // three letters with the same code
	case stemOfSignature:
		if bytes.HasPrefix(rest, []byte("=")) && i > 2 && (w.text[i-3] == '&' || w.text[i-3] == '?') {
			w.addIfSecret(lex.Span{}, valueAt(w.text, i+2), values.KeyPlace)
		}
	case stemOfIdentified:
		if n := len(" by '"); len(rest) > n && (bytes.EqualFold(rest[:n-1], []byte(" by "))) && strings.IndexByte("'\"\\", rest[n-1]) >= 0 {
			w.addIfSecret(lex.Span{}, valueAt(w.text, i+n), values.LiteralPlace)
		}
	case stemOfContrasena:
		if said := []byte("eña es "); bytes.HasPrefix(rest, said) {
			w.addIfSecret(lex.Span{}, valueAt(w.text, i+1+len(said)), values.PasswordPlace)
		} else {
			w.lookAtName(nameAround(w.text, i))
		}
	case stemOfVault:
		w.lookAfter(i, "lt login ")
	case stemOfObscure:
		if bytes.HasSuffix(w.text[:i-2], []byte("rclone ")) {
			w.lookAfter(i, "cure ")
		}
	case stemOfKeyType:
		w.hasKeyType = true
	case stemOfBlock:
		w.lookAtBlock(i)
	case stemOfAccounts:
		w.lookAtAccounts(i + 1)
	case stemOfCommunity:
		w.lookAfter(i, "p-server community ")
	case stemOfRabbit:
		w.addAfter(i+1, rabbitUser)
	case stemOfLogin:
		w.lookAtLoginWord(i)
	default:
		w.lookAtName(nameAround(w.text, i))
	}
}

// lookAfter looks at the argument of a command whose text goes on with these words.
func (w *search) lookAfter(i int, words string) {
	if bytes.HasPrefix(w.text[i+1:], []byte(words)) {
		if value := valueAt(w.text, i+1+len(words)); isSurelyPassword(value.In(w.text)) {
			w.add(Secret{Value: value}) // a word may go on in a sentence
		}
	}
}
