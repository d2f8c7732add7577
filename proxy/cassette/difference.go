package cassette

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"time"
)

// firstDifference names the first part in which the decoded interaction differs
// from the given one, or "". It covers everything that the format promises to
// keep.
func firstDifference(given, read Interaction) string {
	a, b := given, read
	for _, part := range []struct {
		name string
		same bool
	}{
		{"method", a.Request.Method == b.Request.Method},
		{"URL", a.Request.URL == b.Request.URL},
		{"request protocol", a.Request.Proto == b.Request.Proto},
		{"request header", sameHeader(a.Request.Header, b.Request.Header, Reserved)},
		{"request body", bytes.Equal(a.Request.Body, b.Request.Body)},
		{"status", a.Response.Status == b.Response.Status},
		{"response protocol", a.Response.Proto == b.Response.Proto},
		{"response header", sameHeader(a.Response.Header, b.Response.Header, nil)},
		{"response body", bytes.Equal(a.Response.Body, b.Response.Body)},
		{"trailer", sameHeader(a.Response.Trailer, b.Response.Trailer, nil)},
		{"timeline", slices.EqualFunc(a.Timeline, b.Timeline, sameChunk)},
		{"ending", a.End == b.End},
		{"request encoding", a.Request.Encoding == b.Request.Encoding},
		{"response encoding", a.Response.Encoding == b.Response.Encoding},
		{"mark as incomplete", a.Incomplete == b.Incomplete && a.Drained == b.Drained},
		{"note of who answered", a.Provenance == b.Provenance && a.Ingress == b.Ingress},
		{"process", a.Process == b.Process},
		{"WebSocket", a.WebSocket == b.WebSocket},
		{"place", maps.Equal(a.Place, b.Place)},
		{"mark as redacted", a.Redacted == b.Redacted},
		{"duration", a.Duration == b.Duration},
	} {
		if !part.same {
			return part.name
		}
	}
	return ""
}

// sameHeader compares headers without those for which skip is true. A name
// without values counts as no header.
func sameHeader(a, b http.Header, skip func(string) bool) bool {
	return containsHeader(a, b, skip) && containsHeader(b, a, skip)
}

func containsHeader(a, b http.Header, skip func(string) bool) bool {
	for name, values := range a {
		if (skip == nil || !skip(name)) && !slices.Equal(values, b[name]) {
			return false
		}
	}
	return true
}

func sameChunk(given, read Chunk) bool {
	return given.Length == read.Length && given.At.Truncate(time.Microsecond) == read.At
}
