package mcp

import (
	"slices"
	"strings"
)

// maxLogLine bounds what one line of a server's output is logged as.
const maxLogLine = 4 << 10

// inherited are the variables that every command gets: where programs, folders
// and words are, and nothing that would open a door.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
	// Windows programs do not start without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES",
}

// environ returns the environment of a command: its own, and inherited.
func environ(own map[string]string, outer []string) []string {
	var env []string
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	for _, name := range inherited {
		if _, set := own[name]; set {
			continue
		}
		if value, ok := lookup(outer, name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// lookup returns a variable of env; the last setting counts.
func lookup(env []string, name string) (string, bool) {
	for _, kv := range slices.Backward(env) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v, true
		}
	}
	return "", false
}

// masker returns a function that takes the values that a server was given out
// of a text of its own. Values of less than eight characters are no secrets.
func masker(s Server) func(string) string {
	var pairs []string
	for _, group := range []map[string]string{s.Env, s.Headers} {
		for name, value := range group {
			pairs = append(pairs, masks(name, value)...)
		}
	}
	replacer := strings.NewReplacer(pairs...)
	return replacer.Replace
}

func masks(name, value string) []string {
	var pairs []string
	for _, form := range []string{value, strings.TrimPrefix(value, "Bearer ")} {
		if len(form) >= 8 {
			pairs = append(pairs, form, "["+name+"]")
		}
	}
	return pairs
}
