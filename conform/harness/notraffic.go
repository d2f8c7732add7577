package harness

import (
	"errors"
	"io"
	"net/http"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// noTraffic answers in cases that must not cause any traffic: it refuses every
// request and keeps it as evidence.
type noTraffic struct {
	capture  *capture
	redactor *redact.Redactor
}

var errNoTraffic = errors.New("this case must not cause any traffic")

// ServeHTTP refuses one request in the provider's words.
func (n noTraffic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	contentType, refusal := llm.ErrorBody(n.capture.Case.Target.Provider, http.StatusBadRequest, errNoTraffic.Error())
	header := r.Header.Clone()
	body = record.DecompressRequest(header, body)
	n.capture.observe(n.redactor.Interaction(cassette.Interaction{
		Request: cassette.Request{Method: r.Method, URL: r.URL.String(), Proto: r.Proto, Header: header, Body: body},
		Response: cassette.Response{Status: http.StatusBadRequest, Proto: r.Proto, Body: refusal,
			Header: http.Header{"Content-Type": {contentType}}},
		End: cassette.EndEOF,
	}), true)
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(refusal)
}
