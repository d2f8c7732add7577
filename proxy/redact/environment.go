package redact

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// EnvironmentSecrets returns the credentials in the environment: an agent that is given
// one may send it anywhere in a message. The name of a variable tells, or the form of its
// value; of a URL, the password.
func EnvironmentSecrets(env []string) (secrets []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case value == "":
		case !strings.Contains(value, "://") && (isSecretVariable(name) || isSecretByForm(name, value)):
			secrets = append(secrets, value)
		default:
			for _, s := range structure.AddressSecrets([]byte(value)) {
				secrets = append(secrets, value[s.Start:s.End])
			}
		}
	}
	return secrets
}

// isSecretVariable reports whether a variable has the name of a credential, and not of
// what leads to one.
func isSecretVariable(name string) bool {
	upper := strings.ToUpper(name)
	leadsTo := func(end string) bool { return strings.HasSuffix(upper, end) }
	contains := func(part string) bool { return strings.Contains(upper, part) }
	if upper == "PWD" || upper == "OLDPWD" {
		return false // the shell's working folder, not a password
	}
	if slices.ContainsFunc([]string{"_FILE", "_PATH", "_DIR", "_URL", "_SOCK"}, leadsTo) {
		return false
	}
	if slices.ContainsFunc([]string{"API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD"}, contains) {
		return true
	}
	return names.Classify(name) == names.Strong || strings.HasSuffix(upper, "_PAT")
}

// isSecretByForm reports whether a value is a credential under any name but one that says
// that it is an id: a hash of the source or of the build is as random as a key.
func isSecretByForm(name, value string) bool {
	if values.HasSecretForm(value) {
		return true
	}
	return values.LooksLikeKey(value) && !strings.ContainsAny(value, "/:,") && !values.IsHexadecimal(value) && !names.IsID([]byte(name))
}
