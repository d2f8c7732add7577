package play

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// sameInteraction compares two interactions apart from their times.
func sameInteraction(a, b cassette.Interaction) bool {
	return a.Request.Method == b.Request.Method && a.Request.URL == b.Request.URL && bytes.Equal(a.Request.Body, b.Request.Body) &&
		sameHeader(a.Request.Header, b.Request.Header) &&
		a.Response.Status == b.Response.Status && bytes.Equal(a.Response.Body, b.Response.Body) &&
		sameHeader(a.Response.Header, b.Response.Header) && a.End == b.End && a.Incomplete == b.Incomplete
}

func sameHeader(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name, values := range a {
		if !slices.Equal(values, b[name]) {
			return false
		}
	}
	return true
}
