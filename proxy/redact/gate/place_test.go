package gate

import (
	"errors"
	"net/http"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// A hit is named by its place, and the least texts that can hold a secret are
// looked through.
func TestPlaces(t *testing.T) {
	const short, key = "pass1234", "AKIA0123456789ABCDEF"
	for want, put := range map[string]func(in *cassette.Interaction){
		"URL": func(in *cassette.Interaction) { in.Request.URL = "https://h/" + canary },
		"request header X-Note": func(in *cassette.Interaction) {
			in.Request.Header = http.Header{"X-Note": {"fine",
				short}}
		},
		"response header X-Note": func(in *cassette.Interaction) { in.Response.Header = http.Header{"X-Note": {canary}} },
		"request header names": func(in *cassette.Interaction) {
			in.Request.Header = http.Header{"A": nil,
				key: nil}
		},
		"trailer X-Sum": func(in *cassette.Interaction) { in.Response.Trailer = http.Header{"X-Sum": {canary}} },
		"request body":  func(in *cassette.Interaction) { in.Request.Body = []byte(short) },
		"response body": func(in *cassette.Interaction) {
			in.Response.Body = []byte(`["` + canary[:9] + `","` + canary[9:] + `"]`)
		},
		"response header X-Number": func(in *cassette.Interaction) {
			in.Response.Header = http.Header{"X-Number": {"1",
				key}}
		},
	} {
		in := simple()
		put(&in)
		g := New()
		g.Learn(canary, short)
		var hit *Hit
		if err := g.Check(in); !errors.As(err, &hit) || hit.Where != want {
			t.Errorf("%s: %v", want, err)
		}
	}
}
