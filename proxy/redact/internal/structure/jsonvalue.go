package structure

import (
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// isCredential reports whether a string is a credential, by its name, the name of its
// object and, where these leave it open, its form.
func (j *jsonSearch) isCredential(s jsonscan.String, class names.Class) bool {
	raw := s.Value.In(j.b)
	value := lex.UnquoteJSON(raw[:min(len(raw), jsonscan.MaxNested)]) // the beginning shows what it is
	return j.meansCredential(s, class, value) && !values.IsReference(value) && !values.IsAddress(value)
}

// meansCredential reports whether a value may be a credential: its name and what is around it say
// how much of one the value has to have.
func (j *jsonSearch) meansCredential(s jsonscan.String, class names.Class, value string) bool {
	key := s.Key.In(j.b)
	switch {
	case class == names.Weak && values.IsOneTimeCode(value) && names.IsCode(key):
		return true
	case class == names.Strong && isNameOfSecret(key, value):
		return false
	case values.HasSecretForm(value):
		return true
	case s.Region == jsonscan.Headers && !j.isReply && (s.IsPair || !isValueName(key)) &&
		!isKnownSetting(key, class, value):
		return true
	}
	switch j.classInside(s, class, value) {
	case names.Strong:
		return j.isStrongValue(key, value)
	case names.Weak:
		return j.isWeakValue(key, value)
	default:
		return s.Region == jsonscan.Headers && isHeaderValue(key, value)
	}
}

// isNameOfSecret reports whether a value is the name of a secret of a secret manager.
func isNameOfSecret(key []byte, value string) bool {
	return strings.HasSuffix(names.Spelling(key[:min(len(key), names.MaxLength)]), "secretid") && values.IsSlug(value)
}

// classInside returns the class of a name, given the object that it stands in and the value.
func (j *jsonSearch) classInside(s jsonscan.String, class names.Class, value string) names.Class {
	key, outer := s.Key.In(j.b), s.Parent.In(j.b)
	parent := j.names.Class(outer)
	if isValueName(outer) {
		parent = names.Plain // {"value": {"stringValue": …}}
	}
	switch {
	case class == names.Strong, names.IsListOfPasswords(key), j.isStrongInside(key, outer, class, parent, value):
		return names.Strong // {"passwords": ["…"]}
	case class == names.Plain && parent == names.Weak && !j.isReply:
		return names.Weak // {"apiKeys": {"acme": …}}
	case class != names.Weak:
		return class
	}
	isAmong := names.IsPlural(key) || parent == names.Weak || s.Region == jsonscan.Headers && !isValueName(key)
	switch { // {"tokens": ["…"]}, {"auth": {"value": …}}, {"env": {"ACME_KEY": …}}, {"github_pat": …}
	case isAmong && !values.IsDigest(value) && values.IsHardToGuess(value),
		!j.isReply && names.MeansSecret(key) && values.IsHardToGuess(value):
		return names.Strong
	}
	return names.Weak
}

// isStrongInside reports whether the name of an object, or the endpoint, makes a credential of a value.
func (j *jsonSearch) isStrongInside(key, outer []byte, class, parent names.Class, value string) bool {
	switch {
	case isValueName(key) && (parent == names.Strong || j.isIssuer),
		parent == names.Strong && names.IsQualifier(string(key)):
		return true // {"client_secret": {"value": …}}
	case j.isIssuer && !j.isReply && IsParameter(string(key), []byte(value)):
		return true // as in a form: {"grant_type": …, "code": …}
	}
	return class == names.Plain && names.HoldSecrets(outer) && values.IsHardToGuess(value) // {"secrets": {"prod": …}}
}

// isStrongValue reports whether a value under the name of a credential is one. In a request it is,
// unless it is a sentence; in a reply and in what is said, words stand there, too.
func (j *jsonSearch) isStrongValue(key []byte, value string) bool {
	secret := values.WithoutScheme(value)
	switch {
	case j.isSaid:
		return values.IsSecretIn([]byte(secret), values.LiteralPlaceUnder(key)) ||
			names.IsCodeList(key) && values.IsOneTimeWord([]byte(value))
	case j.isReply:
		return values.IsIssued(value) || values.IsHardToGuess(value) ||
			values.IsWordOfKey(value) && (names.IsCodeList(key) ||
				j.isIssuer && values.GuessBits(value) >= values.LeastIssuedBits)
	}
	return strings.Count(secret, " ") < 2 || !values.IsSentence(value) || names.IsChosen(key)
}

// isWeakValue reports whether a value is a credential under a name that may be that of one.
func (j *jsonSearch) isWeakValue(key []byte, value string) bool {
	switch {
	case j.isReply && !j.isIssuer && isValueName(key):
		return false // of any list of names and values
	case values.IsDigest(value) || values.IsFile(value):
		return false // of a file: {"js-tokens": {"integrity": …}}
	}
	secret := values.WithoutScheme(value)
	return values.LooksLikeKey(secret) || len(secret) < len(value)
}

// isHeaderValue reports whether the value of a header, or of a variable of the environment, with
// any other name is a credential.
func isHeaderValue(key []byte, value string) bool {
	if name := spelledAsHeader(key); isClear(name) || isHarmlessID(name) {
		return false
	}
	secret := values.WithoutScheme(value)
	return values.LooksLikeKey(secret) && value[0] != '/' && !names.IsID(key) || len(secret) < len(value)
}

// isKnownSetting reports whether a header, or a variable of the environment, that a request gives to
// another program is known to be no credential: by its name, or because it is a number or too short.
func isKnownSetting(key []byte, class names.Class, value string) bool {
	name := spelledAsHeader(key)
	if isClear(name) || isHarmlessID(name) || class == names.Public {
		return true
	}
	isHarmlessName := names.IsID(key) || knownVariables[name] || strings.HasSuffix(name, "key") // SORT_KEY
	return class == names.Plain && (isHarmlessName || len(value) < 4 || strings.Trim(value, lex.Digits+".,") == "")
}

// knownVariables are variables of the environment that programs know, as headers are written.
var knownVariables = lex.Set(
	"node-env rails-env app-env environment stage log-level loglevel debug verbose ci no-color force-color lang language lc-all tz term",
	"path home shell user pwd tmpdir editor pager node-path node-options python-path pythonunbuffered npm-config-registry",
)

// isValueName reports whether a name is that of the value of something: {"value": …}.
func isValueName(key []byte) bool {
	return len(key) < 12 && valueNames[strings.ToLower(string(key))]
}

var valueNames = lex.Set("value stringvalue data key s plain plaintext raw")

// spelledAsHeader returns a name as headers are written.
func spelledAsHeader(key []byte) string {
	return strings.ToLower(strings.ReplaceAll(string(key), "_", "-"))
}
