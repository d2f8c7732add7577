package names

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// IsChosen reports whether people choose what stands under a name.
func IsChosen(name []byte) bool {
	var space [MaxLength]byte
	low := space[:0]
	for _, c := range name[:min(len(name), MaxLength)] {
		low = append(low, c|0x20) // digits stay
	}
	for _, part := range chosenNames {
		if bytes.Contains(low, part) {
			return true
		}
	}
	low = bytes.TrimRight(low, lex.Digits)
	return bytes.HasSuffix(low, []byte("pw")) ||
		slices.ContainsFunc(chosenEndings, func(end []byte) bool { return bytes.HasSuffix(low, end) })
}

// chosenNames are parts of the names of what people choose.
var chosenNames = [][]byte{[]byte("pass"), []byte("pwd"), []byte("psk"), []byte("pswd"), []byte("mnemonic"),
	[]byte("phrase")}

// chosenEndings are the ends of such names in other languages.
var chosenEndings = [][]byte{[]byte("kennwort"), []byte("senha"), []byte("contrasena"), []byte("haslo"),
	[]byte("heslo"), []byte("wachtwoord"), []byte("adgangskode"), []byte("salasana"), []byte("lozinka")}

// IsCode reports whether a name is that of a code of a few digits that proves who somebody is.
func IsCode(name []byte) bool {
	var space [MaxLength]byte
	return len(name) <= MaxLength && isCodeName(splitName(space[:0], string(name)).joined)
}

// isCodeName is [IsCode] for a name in lower case and without separators.
func isCodeName(joined []byte) bool {
	return string(joined) == "pin" ||
		slices.ContainsFunc(codeEndings, func(end string) bool { return bytes.HasSuffix(joined, []byte(end)) })
}

var codeEndings = lex.Words(
	"otp cvv pincode passcode otpcode mfacode tokencode authcode verificationcode securitycode twofactorcode smscode",
)

// codeLast are the last words of such names.
var codeLast = lex.Set("code otp totp pin pincode cvv")

// IsPlural reports whether a name is that of several credentials. Keys alone may be those of
// anything.
func IsPlural(name []byte) bool { return len(name) > len("keys") && lex.HasSuffixFold(name, "s") }

// IsCodeList reports whether a name is that of codes that replace a second factor once.
func IsCodeList(name []byte) bool { return lex.HasSuffixFold(name, "codes") }

// IsListOfPasswords reports whether a name is that of several passwords.
func IsListOfPasswords(name []byte) bool {
	return lex.HasSuffixFold(name, "passwords") || lex.HasSuffixFold(name, "passphrases")
}

// HoldSecrets reports whether the members of an object of this name are secrets, whatever
// they are called.
func HoldSecrets(name []byte) bool {
	plain := Spelling(name[:min(len(name), MaxLength)])
	return strings.HasSuffix(plain, "secrets") || strings.HasSuffix(plain, "passwords")
}

// MeansSecret reports whether a weak name means a secret where its value is no word.
func MeansSecret(name []byte) bool {
	plain := Spelling(name[:min(len(name), MaxLength)])
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.HasSuffix(plain, word) })
}

var secretWords = lex.Words("auth authentication cred creds credentials secrets tokens passwords pat otp")

// IsQualifier reports whether a name says which of several credentials it is: old, prod, v2.
func IsQualifier(name string) bool { return qualifiers[name] }

// IsID reports whether a name, written as variables are, says that its value is an id, a hash, a
// version or a setting.
func IsID(name []byte) bool { return idVariable.Match(name) }

var idVariable = regexp.MustCompile(`(?i)(^|_)(id|ids|uuid|sha|sha256|hash|digest|rev|revision|commit|ref|build|trace|traceparent|span|version|tag|name|image|host|hostname|session|colors|options|opts|flags)(_|$)`)
