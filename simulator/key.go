package simulator

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/wires"
)

// sentKeys are the credentials that a request carries, whichever wire they are of.
func sentKeys(r *http.Request) (sent []string) {
	for w := range simulatedWires {
		c := w.Credentials
		if key, ok := strings.CutPrefix(r.Header.Get(c.Header), c.Prefix); ok && key != "" {
			sent = append(sent, key)
		}
		if key := keyParameter(r, c); key != "" {
			sent = append(sent, key)
		}
	}
	return sent
}

// keyParameter returns the key in the URL's query, "" for none.
func keyParameter(r *http.Request, c wires.Credentials) string {
	if c.Parameter == "" {
		return ""
	}
	return queryOf(r).Get(c.Parameter)
}

// queryOf reads the URL's query only where there is one.
func queryOf(r *http.Request) url.Values {
	if r.URL.RawQuery == "" {
		return nil
	}
	return r.URL.Query()
}

// realKeyPrefix returns the prefix of a key in the request that looks real, empty if there is none. A real
// key would be stored by any program that records the traffic. A short key, or a key with a word such as
// "test" in it, is not taken for a real one.
func realKeyPrefix(r *http.Request) string {
	for _, key := range sentKeys(r) {
		if len(key) < minRealKey || madeUpWords().MatchString(key) {
			continue
		}
		for w := range simulatedWires {
			begins := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
			if i := slices.IndexFunc(w.Credentials.RealKeys, begins); i >= 0 {
				return w.Credentials.RealKeys[i]
			}
		}
	}
	return ""
}

// minRealKey is the length from which a key may be a real one; the shortest have 39 bytes.
const minRealKey = 32

var madeUpWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[-_])(test|mock|fake|dummy|example|placeholder|made-up|your)([-_]|$)`)
})

// hasKey reports whether there is a key of the kind that the provider takes;
// which one it is does not matter.
func hasKey(c *call) bool {
	takes := c.Wire.Credentials
	has := func(header string) bool { return c.Request.Header.Get(header) != "" }
	return has(takes.Header) || slices.ContainsFunc(takes.Others, has) || keyParameter(c.Request, takes) != ""
}

// wrongWord is in a key that the simulator refuses as a provider refuses a key that it does not know,
// such as wrong-key. All other made-up keys are good.
var wrongWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(^|[-_])wrong([-_]|$)`) })
