package event

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// transitHeaders are written by intermediaries or apply to one message only.
// Their absence means nothing.
var transitHeaders = []string{"alt-svc", "cf-", "connection", "content-length", "date", "keep-alive", "nel", "report-to",
	"server", "set-cookie", "strict-transport-security", "transfer-encoding", "vary", "via", "x-cloud-trace", "x-envoy"}

// Family returns what a response header's name has in common with those of its
// kind: all rate limits of a provider are one family. It is "" for a header that
// does not come from the provider.
func Family(name string) string {
	name = strings.ToLower(name)
	if slices.ContainsFunc(transitHeaders, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return ""
	}
	if before, _, found := strings.Cut(name, "ratelimit"); found {
		return before + "ratelimit-*"
	}
	return name
}

func headerFamilies(h http.Header) map[string]bool {
	set := map[string]bool{}
	for name := range h {
		if family := Family(name); family != "" {
			set[family] = true
		}
	}
	return set
}

func (f *findings) compareHeaders(i int, group string, p Pair) {
	old, fresh := headerFamilies(p.Old.Header), headerFamilies(p.New.Header)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if !fresh[name] {
			f.addForPair(i, Finding{Severity: Notable, Rule: "header-gone", Group: group, Path: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if !old[name] {
			f.addForPair(i, Finding{Severity: Cosmetic, Rule: "header-new", Group: group, Path: name})
		}
	}
}
