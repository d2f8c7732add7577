package mutant

import (
	"net/http"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// cassetteMutants leave what was recorded.
var cassetteMutants = []Mutant{
	{"miss-request", "asks what the cassette has no answer to", []string{"CAS-001"}, missRequest},
}

// missRequest gives the last exchange the answer of a replaying proxy that
// found nothing, in the provider's error shape.
func missRequest(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	n := len(ev.Exchanges) - 1
	if n < 0 || ev.Source != evidence.SourceCassette {
		return ev, false
	}
	x := &ev.Exchanges[n]
	x.Missed = true
	x.Response = evidence.Response{
		Status: http.StatusBadRequest,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"no answer was recorded"}}`),
		End:    "eof",
	}
	return ev, true
}
