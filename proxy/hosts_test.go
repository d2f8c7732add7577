package proxy

import (
	"slices"
	"strings"
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

// The authority signs for a host and for all below it, so a domain in which anybody may have a name is
// no host.
func TestDomainsOfManyAreNoHosts(t *testing.T) {
	for _, name := range []string{"com", "com:8443", "CO.UK", "github.io", "", " ", "*.example.com", "https://x.example"} {
		if _, err := newHostSet([]string{name}); err == nil || !strings.Contains(err.Error(), "host ") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"gateway", "localhost", "litellm:4000", "10.1.2.3", "::1", "me.github.io", "gateway.example.com", "example.co.uk"} {
		if _, err := newHostSet([]string{name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// However a client writes a host, one that is admitted is one of the set's.
func FuzzHosts(f *testing.F) {
	set, err := newHostSet([]string{"localhost:8443", "::1"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"api.anthropic.com", "API.OPENAI.COM.:443", "localhost:8443", "[::1]", "evil.com:443@api.openai.com", ""} {
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
