package recorder

import (
	"strings"
	"testing"
)

// The authority signs for a host and for all below it, so a domain in which anybody may have a name is
// no host.
func TestDomainsOfManyAreNoHosts(t *testing.T) {
	for _, name := range []string{"com", "com:8443", "CO.UK", "co.uk.", "github.io"} {
		if err := checkHosts([]string{"gateway", name}); err == nil || !strings.Contains(err.Error(), "host ") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"gateway", "localhost", "litellm:4000", "10.1.2.3", "::1", "[::1]:80", "me.github.io",
		"gateway.example.com", "example.co.uk"} {
		if err := checkHosts([]string{name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
