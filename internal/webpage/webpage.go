// Package webpage tells requests of programs from those that a page in a browser makes. A page may
// send requests to every port of the machine that shows it, also to servers that only listen there.
package webpage

import (
	"net/http"
	"net/url"
	"strings"
)

// IsForeign reports whether a request comes from a web page that the asked server did not serve itself.
// Browsers say so in Origin and, where they send none, as for images and scripts, in Sec-Fetch-Site;
// programs send neither. The caller has to check that r.Host is a name of its own: a page may have a
// host name that leads to this machine. It is safe for concurrent use.
//
// Sources: https://fetch.spec.whatwg.org/#origin-header, https://w3c.github.io/webappsec-fetch-metadata/.
func IsForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	isOwnSite := site == "" || site == "same-origin" || site == "none"
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return !isOwnSite
	}
	u, err := url.Parse(origins[0])
	return !isOwnSite || len(origins) > 1 || err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}
