package simulator

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// sentKeys are the credentials that a request carries.
func sentKeys(r *http.Request) []string {
	sent := []string{r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"), query(r).Get("key")}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		sent = append(sent, bearer)
	}
	return slices.DeleteFunc(sent, func(key string) bool { return key == "" })
}

// query reads the URL's query only where there is one.
func query(r *http.Request) url.Values {
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
		i := slices.IndexFunc(realKeyPrefixes, func(begin string) bool { return strings.HasPrefix(key, begin) })
		if i >= 0 && len(key) >= minRealKey && !madeUpWords().MatchString(key) {
			return realKeyPrefixes[i]
		}
	}
	return ""
}

// minRealKey is the length from which a key may be a real one; the shortest have 39 bytes.
const minRealKey = 32

var madeUpWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[-_])(test|mock|fake|dummy|example|placeholder|made-up|your)([-_]|$)`)
})

// realKeyPrefixes are what keys and tokens of the three providers begin with.
var realKeyPrefixes = []string{"sk-", "sess-", "AIza", "AQ.", "ya29."}

// hasKey reports whether there is a key of the kind that the provider takes;
// which one it is does not matter.
func hasKey(c *call) bool {
	return slices.ContainsFunc(c.provider.credentials, func(header string) bool { return c.Header.Get(header) != "" }) ||
		c.route.provider == "gemini" && query(c.Request).Get("key") != ""
}
