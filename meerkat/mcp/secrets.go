package mcp

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// maxLogLine is the length in bytes at which a logged line is cut.
const maxLogLine = 4 << 10

// inherited are the variables that every command gets: paths, folders and language,
// and nothing that may be a secret.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
	// Windows programs do not start without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"PROGRAMFILES",
}

// commandEnvironment returns the environment of a command: its own, and inherited.
func commandEnvironment(own map[string]string, outer []string) []string {
	var env []string
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	for _, name := range inherited {
		if _, set := own[name]; set {
			continue
		}
		if value, ok := lookupVariable(outer, name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// lookupVariable returns a variable of env; the last setting counts.
func lookupVariable(env []string, name string) (string, bool) {
	for _, kv := range slices.Backward(env) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v, true
		}
	}
	return "", false
}

// newMasker returns a function that replaces the secrets of a server in a text by
// their names, the longest first. Values of less than eight characters are not
// treated as secrets. environ is Options.Environ.
func newMasker(s Server, environ []string) func(string) string {
	var all []secret
	for _, group := range []map[string]string{s.Env, s.Headers} {
		for name, value := range group {
			all = append(all, secret{name, value}, secret{name, strings.TrimPrefix(value, "Bearer ")})
		}
	}
	for _, text := range append([]string{s.URL, s.Command}, s.Args...) {
		all = append(all, addressSecrets(text)...)
		all = append(all, variablesIn(text, environ)...)
	}
	all = slices.DeleteFunc(all, func(s secret) bool { return len(s.value) < 8 })
	slices.SortFunc(all, func(a, b secret) int {
		return cmp.Or(len(b.value)-len(a.value), strings.Compare(a.value, b.value), strings.Compare(a.name, b.name))
	})
	var pairs []string
	for _, s := range all {
		pairs = append(pairs, s.value, "["+s.name+"]")
	}
	return strings.NewReplacer(pairs...).Replace
}

// secret is a value that a server was given, with its name.
type secret struct{ name, value string }

// variablesIn returns the variables of the environment whose values are in a text, except
// paths: a configuration may have put them there.
func variablesIn(text string, environ []string) (all []secret) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && !filepath.IsAbs(value) && !slices.Contains(inherited, name) && strings.Contains(text, value) {
			all = append(all, secret{name, value})
		}
	}
	return all
}

// addressSecrets returns the password and the parameters of an address, in encoded
// and decoded form.
func addressSecrets(address string) (all []secret) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	if password, ok := u.User.Password(); ok {
		_, written, _ := strings.Cut(u.User.String(), ":")
		all = append(all, secret{"password", password}, secret{"password", written})
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, written, _ := strings.Cut(part, "=")
		all = append(all, secret{name, written})
		if value, err := url.QueryUnescape(written); err == nil {
			all = append(all, secret{name, value})
		}
	}
	return all
}
