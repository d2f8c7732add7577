package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// signBytes are the bytes at which something else than a name may show a credential.
var signBytes = func() (out [256]bool) {
	for _, c := range []byte("-:=@$\x9a") {
		out[c] = true
	}
	return out
}()

// lookAtSign looks at what a sign may be a part of.
func (w *wordSearch) lookAtSign(i int, c byte) {
	text := w.text
	switch c {
	case '-':
		if isFlagAt(text, i) {
			w.lookAtFlag(i)
		}
	case '$':
		if !isDigitOrLetter(text, i+1) {
			return
		}
		if m := passwordHash.Find(text[i:min(len(text), i+maxHash)]); m != nil {
			w.add(wordSecret{value: span{i, i + len(m)}})
			w.next = i + len(m)
		}
	case '@':
		w.lookAtLogin(i)
	case 0x9a:
		if bytes.HasSuffix(text[:i+1], []byte("：")) {
			w.lookAtForeignName(i+1-len("："), i+1)
		}
	default:
		w.lookAtAssignment(i, c)
	}
}

// lookAtAssignment looks at what stands around a colon or an equals sign.
func (w *wordSearch) lookAtAssignment(i int, c byte) {
	text := w.text
	if i == 0 {
		return
	}
	end := i
	if strings.IndexByte("\"' ", text[i-1]) >= 0 {
		end--
	}
	pw := end
	for pw > 1 && isDigit(text[pw-1]) {
		pw--
	}
	switch last := text[max(end-1, 0)]; {
	case pw > 1 && text[pw-1]|0x20 == 'w' && text[pw-2]|0x20 == 'p' && (pw == 2 || !isLetter(text[pw-3]) || text[pw-2] == 'P' || bytes.HasSuffix(text[:pw-2], []byte(`\n`))):
		w.lookAtName(nameAround(text, pw-1))
	case c == '=' && (isUpper(last) || isDigit(last)) && end == i:
		w.lookAtVariable(i)
	case c == '=':
	case bytes.HasPrefix(text[i:], []byte("://")):
		w.lookAtAddress(i)
	case last >= 0x80, end > 3 && (text[end-2] >= 0x80 || last == 'I' && text[end-3] == 'A'):
		w.lookAtForeignName(end, i+1)
	case isDigitOrLetter(text, i-1) && i+4 < len(text) && (isDigit(text[i+1]) && isDigit(text[i+4]) || text[i+1] == '*'):
		if m := passwordLine.FindSubmatchIndex(text[i:min(len(text), i+maxPasswordLine)]); m != nil {
			w.addIfSecret(span{}, span{i + m[2], i + m[3]}, passwordPlace)
		}
	}
}

func isDigitOrLetter(text []byte, at int) bool {
	return at >= 0 && at < len(text) && (isDigit(text[at]) || isLetter(text[at]))
}

var (
	// passwordHash matches what crypt(3) and its like make of a password.
	passwordHash = regexp.MustCompile(`^\$(?:[156y]|apr1|2[abxy]|7|sha1|scrypt|argon2[id]{1,2}|pbkdf2[a-z0-9-]*)\$(?:[A-Za-z0-9./=,+-]+\$){0,4}[A-Za-z0-9./+=]{16,}`)
	// passwordLine matches what follows the host in a line of .pgpass.
	passwordLine = regexp.MustCompile(`^:(?:\d{4,5}|\*):[^:\s\\"']{1,64}:[^:\s\\"']{1,64}:([^:\s\\"'` + "`" + `]{8,128})`)
	// oddPassword matches the password of a URL that should have been escaped.
	oddPassword = regexp.MustCompile(`^://[^/\s:@?#]*:([^/\s@]*[?#][^/\s@]*)@`)
	// databaseLogin matches the words before USER/PASSWORD@DATABASE.
	databaseLogin = regexp.MustCompile(`(?i)(?:sqlplus|oracle|sqlldr|expdp|impdp)\b`)
)

const (
	maxHash         = 200
	maxPasswordLine = 300
)

// lookAtVariable looks at NAME=VALUE, where only the form of the value tells.
func (w *wordSearch) lookAtVariable(sign int) {
	start := sign
	for start > 0 && sign-start < maxName && (isUpper(w.text[start-1]) || isDigit(w.text[start-1]) || w.text[start-1] == '_') {
		start--
	}
	name := span{start, sign}
	if bytes.IndexByte(name.bytesIn(w.text), '_') < 1 || isDigit(w.text[start]) || start > 0 && isNameByte(w.text[start-1]) && !bytes.HasSuffix(w.text[:start], []byte(`\n`)) {
		return
	}
	value := valueAt(w.text, sign+1)
	if v := value.bytesIn(w.text); isSecretIn(v, anyPlace) && bytes.IndexAny(v, "/:,") < 0 && !idVariable.Match(name.bytesIn(w.text)) {
		w.add(wordSecret{name: name, value: value})
	}
}

// lookAtLogin looks at USER/PASSWORD@DATABASE, whose "@" is at a place.
func (w *wordSearch) lookAtLogin(at int) {
	if isDSN := bytes.HasPrefix(w.text[at:], []byte("@tcp(")) || bytes.HasPrefix(w.text[at:], []byte("@unix(")); isDSN {
		start := bytes.LastIndexByte(w.text[max(at-maxName, 0):at], ':') + 1 + max(at-maxName, 0)
		w.addIfSecret(span{}, span{start, at}, passwordPlace)
		return
	}
	start := at
	for start > 0 && at-start < maxName && strings.IndexByte(" /\t\n\"'\\:", w.text[start-1]) < 0 {
		start--
	}
	if at-start < minWord || start < 2 || w.text[start-1] != '/' || !isDigitOrLetter(w.text, start-2) {
		return
	}
	if databaseLogin.Match(w.text[max(start-maxName, 0):start]) {
		w.addIfSecret(span{}, span{start, at}, passwordPlace)
	}
}

// foreignNames are words for a password that have other letters than English.
var foreignNames = []string{
	"密码", "密碼", "口令", "パスワード", "비밀번호", "암호", "пароль", "Пароль", "ПАРОЛЬ", "contraseña", "Contraseña", "hasło", "Hasło",
	"jeton d'accès", "clé API", "clave de API", "κωδικός", "סיסמה", "كلمة المرور", "รหัสผ่าน", "şifre", "Şifre", "令牌", "密钥", "密鑰", "トークン",
}

// lookAtForeignName looks at the value after a word that ends at a place.
func (w *wordSearch) lookAtForeignName(end, sign int) {
	for _, name := range foreignNames {
		if bytes.HasSuffix(w.text[:end], []byte(name)) {
			w.addIfSecret(span{}, valueAt(w.text, sign), passwordPlace)
			return
		}
	}
}

// lookAtAddress looks at the URL whose "://" is at a place.
func (w *wordSearch) lookAtAddress(i int) {
	address := addressAround(w.text, i, w.looked) // its parameters have names, too
	if m := oddPassword.FindSubmatchIndex(w.text[i:address.end]); m != nil {
		w.addIfSecret(span{}, span{i + m[2], i + m[3]}, passwordPlace)
	}
	w.looked = max(w.looked, address.end)
	for _, s := range urlSecrets(string(address.bytesIn(w.text))) {
		s = span{address.start + s.start, address.start + s.end}
		switch isUser := bytes.HasPrefix(w.text[s.end:], []byte("@")); {
		case !isUser:
			w.addIfSecret(span{}, s, keyPlace)
		case isPasswordOfUser(s.bytesIn(w.text)):
			w.add(wordSecret{value: s})
		}
	}
}

// isPasswordOfUser reports whether the password in a URL, which is no reference, is one: all but
// a single word that is likely to stand elsewhere, too.
func isPasswordOfUser(v []byte) bool {
	return isSecretIn(v, literalPlace) || len(v) >= minUserPassword && !isExpression(v) && len(bytes.Trim(v, alphabet[:52])) > 0
}

// minUserPassword is the length of the shortest password of a URL that may be words, in bytes.
const minUserPassword = 8

// addressAround returns the URL whose "://" is at a place. Inside of another one, which ends
// at looked, it ends before the next: the parameters there are those of the other one.
func addressAround(text []byte, at, looked int) span {
	s := span{at, at + len("://")}
	for s.start > 0 && at-s.start < 20 && (isLetter(text[s.start-1]) || text[s.start-1] == '+') {
		s.start--
	}
	if n := bytes.Index(text[s.end:max(s.end, looked)], []byte("://")); n >= 0 {
		return span{s.start, s.end + n}
	}
	for s.end < len(text) && s.end-at < maxAddress && strings.IndexByte(" \t\r\n\"'`<>\\", text[s.end]) < 0 {
		s.end++
	}
	return s
}

// maxAddress is how much of a URL in a text is looked at, in bytes.
const maxAddress = 4 << 10

// lastOfUser returns the password of a user info, user:password, and any other secret as it is.
func lastOfUser(text []byte, s span) span {
	if n := bytes.IndexByte(s.bytesIn(text), ':'); n >= 0 {
		s.start += n + 1
	}
	return s
}

// privateMember matches the private numbers of a JSON Web Key.
var privateMember = regexp.MustCompile(`"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*"([A-Za-z0-9_-]{16,})`)

func privateMembers(text []byte) (out []wordSecret) {
	if !bytes.Contains(text, []byte(`"kty`)) {
		return nil
	}
	for _, m := range privateMember.FindAllSubmatchIndex(text, -1) {
		out = append(out, wordSecret{value: span{m[2], m[3]}})
	}
	return out
}
