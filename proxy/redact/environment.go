package redact

import (
	"regexp"
	"slices"
	"strings"
)

// EnvironmentSecrets returns the credentials in the environment: an agent that is given
// one may send it anywhere in a message. The name of a variable tells, or the form of its
// value; of a URL, the password.
func EnvironmentSecrets(env []string) (values []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case value == "":
		case !strings.Contains(value, "://") && (isSecretVariable(name) || isSecretByForm(name, value)):
			values = append(values, value)
		default:
			for _, s := range addressSecrets([]byte(value)) {
				values = append(values, value[s.start:s.end])
			}
		}
	}
	return values
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
	return classifyName(name) == strongName || strings.HasSuffix(upper, "_PAT")
}

// isSecretByForm reports whether a value is a credential under any name but one that says
// that it is an id: a hash of the source or of the build is as random as a key.
func isSecretByForm(name, value string) bool {
	if hasSecretForm(value) {
		return true
	}
	return looksLikeKey(value) && !strings.ContainsAny(value, "/:,") && !hexadecimal.MatchString(value) && !idVariable.MatchString(name)
}

var (
	hexadecimal = regexp.MustCompile(`^(?i)[0-9a-f-]+$`)
	idVariable  = regexp.MustCompile(`(?i)(^|_)(id|ids|uuid|sha|sha256|hash|digest|rev|revision|commit|ref|build|trace|traceparent|span|version|tag|name|image|host|hostname|session|colors|options|opts|flags)(_|$)`)
)
