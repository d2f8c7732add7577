package inspect

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// maxFound is how many secrets of one interaction are named.
const maxFound = 20

// findSecrets names all that the gate finds in an interaction, which is what recording with
// --on-secret mask would mask. Each is taken out of a copy before the gate looks for the next.
func findSecrets(guard *gate.Gate, in cassette.Interaction) (found []string) {
	redactor := redact.New(nil)
	for err := guard.Check(in); err != nil && len(found) < maxFound; err = guard.Check(in) {
		if !slices.Contains(found, err.Error()) {
			found = append(found, err.Error())
		}
		var hit *gate.Hit
		if !errors.As(err, &hit) || !hit.Teach(redactor.Learn) {
			return found
		}
		in = redactor.Interaction(in)
	}
	return found
}

// changedPlaces names the parts of an interaction that redaction changes.
func changedPlaces(was, is cassette.Interaction) (places []string) {
	add := func(place string, isSame bool) {
		if !isSame {
			places = append(places, place)
		}
	}
	add("the URL", was.Request.URL == is.Request.URL)
	add("the request body", bytes.Equal(was.Request.Body, is.Request.Body))
	add("the response body", bytes.Equal(was.Response.Body, is.Response.Body))
	places = append(places, changedHeaders("the request header ", was.Request.Header, is.Request.Header)...)
	return append(places, changedHeaders("the response header ", was.Response.Header, is.Response.Header)...)
}

func changedHeaders(what string, was, is http.Header) (places []string) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if !slices.Equal(was[name], is[name]) {
			places = append(places, what+name)
		}
	}
	return places
}
