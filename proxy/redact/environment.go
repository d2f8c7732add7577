package redact

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// EnvironmentSecrets returns the credentials in the environment: an agent that is given one may
// send it anywhere in a message. They are looked for in every text, so a value counts only if
// finding it again means the credential: a name of a model, a word or a version never does, whatever
// its variable is called. Of a URL, the password counts.
func EnvironmentSecrets(env []string) (secrets []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case value == "":
		case !strings.Contains(value, "://") && (isSecretVariable(name, value) || isSecretByForm(name, value)):
			secrets = append(secrets, value)
		default:
			for _, s := range structure.AddressSecrets([]byte(value)) {
				secrets = append(secrets, value[s.Start:s.End])
			}
		}
	}
	return secrets
}

// isSecretVariable reports whether a variable has the name of a credential and a value that nobody
// can guess. Under a name that only contains such a word (TOKENIZER_REVISION, SECRET_STORE) the value
// must also look issued, and under the name of an id, a model or a version no value is a credential.
func isSecretVariable(name, value string) bool {
	upper := strings.ToUpper(name)
	leadsTo := func(end string) bool { return strings.HasSuffix(upper, end) }
	contains := func(part string) bool { return strings.Contains(upper, part) }
	if upper == "PWD" || upper == "OLDPWD" {
		return false // the shell's working folder, not a password
	}
	if slices.ContainsFunc([]string{"_FILE", "_PATH", "_DIR", "_URL", "_SOCK"}, leadsTo) {
		return false
	}
	class := names.Classify(name)
	switch {
	case class == names.Strong || strings.HasSuffix(upper, "_PAT"):
		return values.HasEntropy(value) && (!values.IsSlug(value) || values.IsPhrase(value, "-"))
	case class == names.Public || names.IsID([]byte(name)) || !values.IsUnguessable(value) || values.IsSlug(value):
		return false
	case slices.ContainsFunc([]string{"API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD"}, contains):
		return class == names.Weak || !values.IsHexadecimal(value)
	}
	return false
}

// isSecretByForm reports whether a value is a credential under any name but one that says
// that it is an id: a hash of the source or of the build is as random as a key.
func isSecretByForm(name, value string) bool {
	if values.HasSecretForm(value) {
		return true
	}
	return values.LooksLikeKey(value) && !strings.ContainsAny(value, "/:,") && !values.IsHexadecimal(value) &&
		!names.IsID([]byte(name))
}
