package conform

import (
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/wires"
)

// readRecording reads a recording with every well-known key in it replaced by as many letters "x".
// A report may quote whatever a recording holds: the name of a tool, a role, a model, a
// part of a text. An error quotes no key either.
func readRecording(found evidence.Found) (evidence.Recording, error) {
	rec, err := found.Read()
	if err != nil {
		return rec, keylessError{err}
	}
	for i := range rec.Evidence.Exchanges {
		x := &rec.Evidence.Exchanges[i]
		x.Request.URL = string(gate.Blank([]byte(x.Request.URL)))
		x.Request.Body, x.Response.Body = gate.Blank(x.Request.Body), gate.Blank(x.Response.Body)
		// Rules look at what kind of key the headers of credentials hold, and no report quotes them.
		blankHeader(x.Request.Header, wires.CredentialHeaders())
		blankHeader(x.Response.Header, wires.CredentialHeaders())
	}
	for i := range rec.Skipped {
		rec.Skipped[i].What, rec.Skipped[i].Reason = gate.Mask(rec.Skipped[i].What), gate.Mask(rec.Skipped[i].Reason)
	}
	return rec, nil
}

// blankHeader changes all values of a header but those of some names.
func blankHeader(header http.Header, kept []string) {
	for name, values := range header {
		for i := range values {
			if !slices.Contains(kept, name) {
				values[i] = string(gate.Blank([]byte(values[i])))
			}
		}
	}
}

// keylessError is an error whose text has no well-known key.
type keylessError struct{ error }

func (e keylessError) Error() string { return gate.Mask(e.error.Error()) }
func (e keylessError) Unwrap() error { return e.error }
