package proxy

import (
	"slices"
	"testing"
)

func TestHostNames(t *testing.T) {
	for address, want := range map[string]string{
		"API.Anthropic.com":      "api.anthropic.com",
		"api.anthropic.com:443":  "api.anthropic.com",
		"api.anthropic.com.":     "api.anthropic.com",
		"api.anthropic.com:8443": "api.anthropic.com:8443",
		"[::1]:443":              "[::1]",
		"[::1]:8443":             "[::1]:8443",
	} {
		if got := urlHost(address); got != want {
			t.Errorf("%s is written %s, want %s", address, got, want)
		}
	}
}

// However a client writes a host, one that is admitted is one of the set's.
func FuzzHosts(f *testing.F) {
	set, err := newHostSet([]string{"localhost:8443", "::1"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"api.anthropic.com", "API.OPENAI.COM.:443", "localhost:8443", "[::1]",
		"evil.com:443@api.openai.com", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if !set.allows(address) {
			return
		}
		if host, _ := splitHost(address); !slices.Contains(set.hostNames(), host) {
			t.Fatalf("%q admitted as %q", address, host)
		}
		if again := urlHost(urlHost(address)); again != urlHost(address) {
			t.Fatalf("%q is written %q, then %q", address, urlHost(address), again)
		}
	})
}
