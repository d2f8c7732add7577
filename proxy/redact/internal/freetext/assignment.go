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

// signBytes are the bytes at which something else than a name may show a credential.
var signBytes = func() (out [256]bool) {
	for _, c := range []byte("-:=@$>\x9a\xe2") {
		out[c] = true
	}
	return out
}()

// lookAtSign looks at what a sign may be a part of.
func (w *search) lookAtSign(i int, c byte) {
	text := w.text
	switch c {
	case '-':
		if isFlagAt(text, i) {
			w.lookAtFlag(i)
		}
	case '$':
		if !lex.IsAlphanumericAt(text, i+1) {
			return
		}
		if m := passwordHash.Find(text[i:min(len(text), i+maxHash)]); m != nil {
			w.add(Secret{Value: lex.Between(i, i+len(m))})
			w.next = i + len(m)
		}
	case '@':
		w.lookAtLogin(i)
	case '>':
		w.lookAtRule(i)
	case boxByte:
		w.hasBox = w.hasBox || isBoxAt(text, i)
	case 0x9a:
		if bytes.HasSuffix(text[:i+1], []byte("：")) {
			w.lookAtForeignName(i+1-len("："), i+1)
		}
	default:
		w.lookAtAssignment(i, c)
	}
}

// lookAtAssignment looks at what stands around a colon or an equals sign.
func (w *search) lookAtAssignment(i int, c byte) {
	text := w.text
	if i == 0 {
		return
	}
	end := i
	if strings.IndexByte("\"' ", text[i-1]) >= 0 {
		end--
	}
	pw := end
	for pw > 1 && lex.IsDigit(text[pw-1]) {
		pw--
	}
	switch last := text[max(end-1, 0)]; {
	case isPW(text[:pw]):
		w.lookAtName(nameAround(text, pw-1))
	case isForeignWord(text, end):
		w.lookAtForeignName(end, i+1)
	case c == '=' && (lex.IsUpper(last) || lex.IsDigit(last)) && end == i:
		w.lookAtVariable(i)
	case c == '=' && end == i && lex.IsAlphanumericAt(text, i+1) && i >= w.looked:
		w.lookAtParameter(i)
	case c == '=':
	case bytes.HasPrefix(text[i:], []byte("::server:")):
		w.lookAtNodeToken(i)
	case bytes.HasPrefix(text[i:], []byte("://")):
		w.lookAtAddress(i)
	case bytes.HasPrefix(text[i:], []byte(": EAP ")):
		w.lookAtShared(i + len(": "))
	case end > 3 && last == 'I' && text[end-3] == 'A':
		w.lookAtForeignName(end, i+1)
	case text[i-1] == ']' && i+4 < len(text) && lex.IsDigit(text[i+2]) && !lex.IsDigit(text[i+4]):
		if m := relayLogin.FindSubmatchIndex(text[i:min(len(text), i+maxPasswordLine)]); m != nil {
			w.addIfPassword(lex.Between(i+m[2], i+m[3]))
		}
	case (lex.IsAlphanumericAt(text, i-1) || text[i-1] == '*') && i+4 < len(text) && (lex.IsDigit(text[i+1]) && lex.IsDigit(text[i+4]) || text[i+1] == '*'):
		if m := passwordLine.FindSubmatchIndex(text[i:min(len(text), i+maxPasswordLine)]); m != nil {
			w.addIfSecret(lex.Span{}, lex.Between(i+m[2], i+m[3]), values.PasswordPlace)
		}
	}
}

// isPW reports whether a text ends with the word "pw", too short for a stem.
func isPW(text []byte) bool {
	n := len(text)
	return n > 1 && text[n-1]|0x20 == 'w' && text[n-2]|0x20 == 'p' &&
		(n == 2 || !lex.IsLetter(text[n-3]) || text[n-2] == 'P' || bytes.HasSuffix(text[:n-2], []byte(`\n`)))
}

var (
	// passwordHash matches what crypt(3) and its like make of a password.
	passwordHash = regexp.MustCompile(`^\$(?:[156y]|apr1|2[abxy]|7|sha1|scrypt|argon2[id]{1,2}|pbkdf2[a-z0-9-]*)\$(?:[A-Za-z0-9./=,+-]+\$){0,4}[A-Za-z0-9./+=]{16,}`)
	// passwordLine matches what follows the host in a line of .pgpass.
	passwordLine = regexp.MustCompile(`^:(?:\d{4,5}|\*):[^:\s\\"']{1,64}:[^:\s\\"']{1,64}:([^:\s\\"'` + "`" + `]{8,128})`)
)

const (
	maxHash         = 200
	maxPasswordLine = 300
)

// maxParameterName is the length of the longest name of a parameter that is looked at, in bytes.
const maxParameterName = 24

// parameterEnd matches what ends the value of a parameter inside of a word.
var parameterEnd = regexp.MustCompile(`#|\\*u0026`)

// lookAtParameter looks at a parameter of a URL without a host: /home?ticket=X.
func (w *search) lookAtParameter(sign int) {
	start := sign
	for start > 0 && sign-start < maxParameterName && lex.IsNameByte(w.text[start-1]) {
		start--
	}
	if start == sign || start == 0 || w.text[start-1] != '?' && w.text[start-1] != '&' {
		return
	}
	name, value := lex.Between(start, sign), valueAt(w.text, sign+1)
	if end := parameterEnd.FindIndex(value.In(w.text)); end != nil {
		value.End = value.Start + end[0]
	}
	if structure.IsParameter(string(name.In(w.text)), value.In(w.text)) {
		w.addIfSecret(name, value, values.KeyPlace)
	}
}

// lookAtVariable looks at NAME=VALUE, where only the form of the value tells.
func (w *search) lookAtVariable(sign int) {
	start := sign
	for start > 0 && sign-start < names.MaxLength && (lex.IsUpper(w.text[start-1]) || lex.IsDigit(w.text[start-1]) || w.text[start-1] == '_') {
		start--
	}
	name := lex.Between(start, sign)
	isInside := start > 0 && lex.IsNameByte(w.text[start-1]) && !bytes.HasSuffix(w.text[:start], []byte(`\n`)) // of another word
	if bytes.IndexByte(name.In(w.text), '_') < 1 || lex.IsDigit(w.text[start]) || isInside {
		return
	}
	value := valueAt(w.text, sign+1)
	if v := value.In(w.text); values.IsSecretIn(v, values.AnyPlace) && !bytes.ContainsAny(v, "/:,") && !names.IsID(name.In(w.text)) {
		w.add(Secret{Name: name, Value: value})
	}
}

// foreignNames are words for a password that have other letters than English.
var foreignNames = []string{
	"密码", "密碼", "口令", "令牌", "密钥", "密鑰",
	"パスワード", "トークン", "비밀번호", "암호", "รหัสผ่าน", "סיסמה", "كلمة المرور",
	"пароль", "Пароль", "ПАРОЛЬ", "κωδικός",
	"contraseña", "Contraseña", "clave de API", "jeton d'accès", "clé API", "hasło", "Hasło", "şifre", "Şifre", "lösenord", "Lösenord",
	"jelszó", "Jelszó", "parolă", "mật khẩu",
}

// isForeignWord reports whether a word may end at a place that has letters which English does not have,
// where foreignNames have them.
func isForeignWord(text []byte, end int) bool {
	if end < len("ösenord") {
		return end > 0 && text[end-1] >= 0x80
	}
	return text[end-1]|text[end-2]|text[end-5]|text[end-7] >= 0x80 // пароль, hasło, şifre, lösenord
}

// lookAtForeignName looks at the value after a word that ends at a place.
func (w *search) lookAtForeignName(end, sign int) {
	for _, name := range foreignNames {
		if !bytes.HasSuffix(w.text[:end], []byte(name)) {
			continue
		}
		sign = lex.Past(w.text, sign, ":=>", 2)
		value, p := valueAt(w.text, sign), values.PasswordPlace
		switch {
		case isAfterAny(w.text, value, "\"'`"):
			p = values.LiteralPlace
		case beginsSetting(w.text, end-len(name)):
			p = values.LinePlace
		}
		if !w.addIfSecret(lex.Span{}, value, p) {
			w.addChosenAt(pair{name: lex.Between(end-len(name), end), class: names.Strong, sign: sign, value: value})
		}
		return
	}
}

// nodeToken matches what stands before "::server:" in the token of a node of K3s.
var nodeToken = regexp.MustCompile(`K10[0-9a-f]{64}$`)

// lookAtNodeToken looks at such a token, whose "::server:" is at a place.
func (w *search) lookAtNodeToken(at int) {
	start := max(at-len("K10")-64, 0)
	if nodeToken.Match(w.text[start:at]) {
		value := valueAt(w.text, at+len("::server:"))
		w.add(Secret{Value: lex.Between(start, at)})
		w.addIfSecret(lex.Span{}, value, values.KeyPlace)
	}
}
