package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Setting is one value as `rkat doctor` shows it.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // masked if it is a secret; "" if it is not set
	Source Source `json:"source"`
}

// Settings lists every key, its value and where that comes from. Secrets are
// masked: of an API key, nothing is shown but that there is one.
func (l *Loaded) Settings() []Setting {
	list := make([]Setting, 0, len(keys))
	for _, k := range keys {
		s := Setting{Key: k.name, Source: l.sources[k.name]}
		if value, ok := l.values[k.name]; ok {
			s.Value = k.show(value)
		}
		list = append(list, s)
	}
	return list
}

const masked = "(set, not shown)"

func (k key) show(value any) string {
	switch value := value.(type) {
	case string:
		if k.secret && value != "" {
			return masked
		}
		return withoutCredentials(strings.Join(strings.Fields(value), " "))
	case []string:
		return strings.Join(value, " ")
	case []MCPServer:
		return showServers(value)
	}
	return fmt.Sprint(value)
}

// showServers names servers without their arguments, variables and headers,
// which may hold secrets.
func showServers(list []MCPServer) string {
	var shown []string
	for _, s := range list {
		where := s.Command
		if s.URL != "" {
			where = withoutCredentials(s.URL)
		}
		shown = append(shown, s.Name+" ("+where+")")
	}
	return strings.Join(shown, " ")
}

// credentials is the user:password@ of an address, parameters what follows its
// path.
var (
	credentials = regexp.MustCompile(`://[^/?#\s]*@`)
	parameters  = regexp.MustCompile(`(://[^?#\s]*)[?#]\S*`)
)

// withoutCredentials takes out of the addresses in s what may hold a secret.
func withoutCredentials(s string) string {
	return parameters.ReplaceAllString(credentials.ReplaceAllString(s, "://"), "$1")
}

// From returns where the value of a key comes from; the zero Source for one
// that is not set.
func (l *Loaded) From(name string) Source { return l.sources[name] }

// Key returns the API key of a provider: its own or, if it is the one of that
// type, that of [provider]; the one from the stronger layer, else its own.
func (l *Loaded) Key(provider string) string { return l.account(provider, "api_key") }

// BaseURL returns the address of a provider, "" for its own; precedence as Key.
func (l *Loaded) BaseURL(provider string) string { return l.account(provider, "base_url") }

func (l *Loaded) account(provider, member string) string {
	own, general := "providers."+provider+"."+member, "provider."+member
	value, _ := l.values[own].(string)
	if l.Provider.Type != provider {
		return value
	}
	if other, _ := l.values[general].(string); value == "" || other != "" && strength(l.From(general)) > strength(l.From(own)) {
		return other
	}
	return value
}

// strength orders the layers.
func strength(s Source) int {
	return slices.Index([]Layer{Default, User, Project, Given, Environment, Flag}, s.Layer)
}
