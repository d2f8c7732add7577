package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/config/setting"
	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// SettingValue is the value of a setting as `rkat doctor` shows it.
type SettingValue struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // masked if it is a secret; "" if it is not set
	Source Source `json:"source"`
}

// Settings lists every key, its value and where the value comes from. Secrets are
// masked: the list only says that there is a key.
func (l *Loaded) Settings() []SettingValue {
	list := make([]SettingValue, 0, len(l.table))
	for _, s := range l.table {
		shown := SettingValue{Key: s.Key, Source: l.sources[s.Key]}
		if value := l.layers.Get(s.Key); value != nil {
			shown.Value = showValue(s, value)
		}
		list = append(list, shown)
	}
	return list
}

const masked = "(set, not shown)"

func showValue(s setting.Row, value any) string {
	if s.Secret && value != "" {
		return masked
	}
	switch value := value.(type) {
	case string:
		return withoutCredentials(strings.Join(strings.Fields(value), " "))
	case map[string]string:
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			pairs = append(pairs, name+"="+value[name])
		}
		return strings.Join(pairs, " ")
	case []string:
		return strings.Join(value, " ")
	case []mcp.Server:
		// Servers are named without their arguments, variables and headers, which may hold secrets.
		var shown []string
		for _, s := range value {
			where := s.Command
			if s.URL != "" {
				where = withoutCredentials(s.URL)
			}
			shown = append(shown, s.Name+" ("+where+")")
		}
		return strings.Join(shown, " ")
	}
	return fmt.Sprint(value)
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

// From returns where the value of a key comes from; the zero Source if it is not
// set.
func (l *Loaded) From(key string) Source { return l.sources[key] }

// Key returns the API key of a provider: its own or, if it is the one of that
// type, that of [provider]; the one from the stronger layer, else its own.
func (l *Loaded) Key(provider string) string { return l.accountValue(provider, "api_key") }

// BaseURL returns the address of a provider, "" for its own; precedence as Key.
func (l *Loaded) BaseURL(provider string) string { return l.accountValue(provider, "base_url") }

func (l *Loaded) accountValue(provider, member string) string {
	own, general := "providers."+provider+"."+member, "provider."+member
	value := l.layers.GetString(own)
	if l.Provider != provider {
		return value
	}
	if other := l.layers.GetString(general); value == "" || other != "" &&
		l.From(general).Strength() > l.From(own).Strength() {
		return other
	}
	return value
}

// Strength orders sources: what a stronger one sets holds. The Source of a value
// that is not set is the weakest.
func (s Source) Strength() int {
	return slices.Index([]Layer{Default, User, Project, Given, Environment, Flag, Option}, s.Layer)
}
