package values

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
)

// IsReference reports whether a value is no credential itself: it leads to one (a variable, a
// template, an entry of a vault), is the name of one, or stands for one until somebody fills it in.
func IsReference(v string) bool {
	v = strings.TrimSpace(WithoutScheme(v))
	if v == "" || len(v) > maxReference {
		return false
	}
	return placeholders[strings.ToLower(v)] || leadsToCredential(v) || isLabel(v)
}

// leadsToCredential reports whether a value is where a credential is, or the name of one.
func leadsToCredential(v string) bool {
	return lookup.MatchString(v) || isNameOfCredential(v) || isPath(v) || isPublicID(v)
}

// maxReference is the length of the longest reference, in bytes.
const maxReference = 200

// lookup matches what a program or a person replaces by the credential.
var lookup = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`\$\{.*\}`, `\$\(.*\)`, `\$[A-Z_][A-Z_0-9]*`, `\$[A-Za-z_]{1,40}(?:\).*)?`, `\{\{.*\}\}`, `\{\w+\}`, `<[^<>]*>`,
	`%\w+%`, `\[[A-Za-z _-]+\]`,
	`\{(?:env|file):.*\}`, `(?:op|vault|ssm|keychain|env|file|secretref|secret)://?.+`, `(?:env|file|secretref):.+`,
	`arn:aws[a-z-]*:.+`, `projects/[^/]+/secrets/.+`, `@Microsoft\.KeyVault\(.*\)`, `ENC\[.*\]`,
	`(?:os\.environ|process\.env|import\.meta\.env|ENV|secrets|vars?|env|settings|config|local|data|self|this)(?:\.[A-Za-z_][\w.]*|\[['"]?[\w.-]+['"]?\])`,
	`(?:[a-z]+\.)*(?:getenv|environ\.get|env|secret)\(.*\)`,
	`[*•.xX_-]+`, `(?i)(?:your|my|some|insert|enter|replace|change|example|dummy|fake|sample)(?:[-_ ][a-z]+){1,5}`,
}, "|") + `)$`)

// placeholders are words that stand in the place of a credential and are none.
var placeholders = lex.Set(
	// values that are none
	"true false yes no on off none null nil undefined n/a empty unset missing",
	// what a member must be
	"default required optional string text number boolean object",
	// what became of a credential
	"hidden masked redacted invalid expired enabled disabled",
	// kinds of authentication
	"bearer basic digest negotiate oauth oauth2 oidc jwt apikey",
	// what somebody has to fill in
	"env changeme changeit example placeholder todo tbd",
)

// isNameOfCredential reports whether a value is itself a name: X-Auth-Token, DB_PASSWORD.
func isNameOfCredential(v string) bool {
	if len(v) > names.MaxLength || strings.Trim(v, lex.Alphabet[:52]+"_-.") != "" {
		return false
	}
	return names.HasSeveralWords(v) && names.Classify(v) == names.Strong
}

// isPath reports whether a value is a path of words. A random text may begin with a slash, too.
func isPath(v string) bool {
	isBegun := v[0] == '/' || strings.HasPrefix(v, "~/") || strings.HasPrefix(v, "./")
	return isBegun && strings.Trim(v, lex.Alphabet+"/-_.~") == "" && !IsRandom(v) && GuessBits(v) < enoughBits
}

// isLabel reports whether a value is what people read beside a credential: its name in some
// language, or a sentence about it.
func isLabel(v string) bool {
	words := strings.FieldsFunc(strings.ToLower(v), unicode.IsSpace)
	isAbout := false
	for _, word := range words {
		word = strings.Trim(word, ".,:;!?…*()\"'«»")
		if isNumber := len(words) > 3 && word != "" && strings.Trim(word, lex.Digits) == ""; isNumber {
			continue // "is too short (minimum is 8 characters)"
		}
		if strings.IndexFunc(word, func(c rune) bool {
			return !unicode.IsLetter(c) && c != '-' && c != '\'' &&
				c != '’'
		}) >= 0 {
			return false
		}
		isAbout = isAbout || labelWords[word] || len(words) > 1 && spokenWords[word]
	}
	return isAbout
}

// labelWords name a credential in the languages of many users.
var labelWords = lex.Set(
	"password passwords passphrase passcode token secret pin",
	"kennwort passwort schlüssel zugangsdaten",
	"passe clé jeton",
	"contraseña clave ficha",
	"senha chave",
	"parola chiave",
	"wachtwoord sleutel lösenord nyckel adgangskode kodeord passord salasana",
	"slaptažodis slaptazodis pasahitza contrasenya contrasinal wagwoord fjalëkalimi fjalekalimi sandi lozinka",
	"hasło heslo jelszó şifre parolă",
	"пароль ключ токен κωδικός",
	"密码 密碼 密钥 令牌 パスワード トークン 비밀번호 토큰 암호",
)
