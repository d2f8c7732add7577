package config

import (
	"fmt"
	"regexp"
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
			where, _, _ = strings.Cut(withoutCredentials(s.URL), "?")
		}
		shown = append(shown, s.Name+" ("+where+")")
	}
	return strings.Join(shown, " ")
}

// credentials is the user:password@ of an address.
var credentials = regexp.MustCompile(`://[^/@\s]*@`)

func withoutCredentials(s string) string { return credentials.ReplaceAllString(s, "://") }

// From returns where the value of a key comes from; the zero Source for one
// that is not set.
func (l *Loaded) From(name string) Source { return l.sources[name] }

// Key returns the API key of a provider: its own, else that of [provider] if
// it is the one of that type.
func (c *Config) Key(provider string) string {
	if key := c.Providers[provider].APIKey; key != "" {
		return key
	}
	if c.Provider.Type == provider {
		return c.Provider.APIKey
	}
	return ""
}

// BaseURL returns the address of a provider, "" for its own; precedence as Key.
func (c *Config) BaseURL(provider string) string {
	if url := c.Providers[provider].BaseURL; url != "" {
		return url
	}
	if c.Provider.Type == provider {
		return c.Provider.BaseURL
	}
	return ""
}
