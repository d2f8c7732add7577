package simulator

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// hasRealKey reports whether the request carries what looks like somebody's key:
// it would be written down by whatever records the traffic.
func hasRealKey(r *http.Request) bool {
	return slices.ContainsFunc(sentKeys(r), func(key string) bool {
		return slices.ContainsFunc(realKeyPrefixes, func(begin string) bool { return strings.HasPrefix(key, begin) })
	})
}

// realKeyPrefixes are what keys and tokens of the three providers begin with.
var realKeyPrefixes = []string{"sk-", "sess-", "AIza", "AQ.", "ya29."}

// hasKey reports whether there is a key of the kind that the provider takes;
// which one it is does not matter.
func hasKey(c *call) bool {
	return slices.ContainsFunc(c.provider.credentials, func(header string) bool { return c.Header.Get(header) != "" }) ||
		c.route.provider == "gemini" && query(c.Request).Get("key") != ""
}
