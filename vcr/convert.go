package vcr

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"

	vcrcassette "github.com/dnaeon/go-vcr/v2/cassette"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// toGoVCRRequest returns a request in go-vcr's type. It shares the header.
func toGoVCRRequest(in cassette.Request) vcrcassette.Request {
	out := vcrcassette.Request{Method: in.Method, URL: in.URL, Headers: in.Header, Body: string(in.Body)}
	if in.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		out.Form, _ = url.ParseQuery(out.Body) // as far as it can be read
	}
	return out
}

// applyFilters passes an interaction through filters. The fields that go-vcr does not have stay,
// but for those of a response body that a filter changes.
func applyFilters(filters []vcrcassette.Filter, in cassette.Interaction) (cassette.Interaction, error) {
	if len(filters) == 0 {
		return in, nil
	}
	shown := &vcrcassette.Interaction{
		Request: toGoVCRRequest(in.Request),
		Response: vcrcassette.Response{
			Body: string(in.Response.Body), Headers: in.Response.Header.Clone(), Code: in.Response.Status,
			Status: strconv.Itoa(in.Response.Status) + " " + http.StatusText(in.Response.Status), Duration: in.Duration,
		},
	}
	shown.Request.Headers = in.Request.Header.Clone()
	for _, filter := range filters {
		if err := filter(shown); err != nil {
			return in, err
		}
	}
	in.Request.Method, in.Request.URL, in.Request.Header, in.Request.Body = shown.Method, shown.URL, shown.Request.Headers, []byte(shown.Request.Body)
	in.Response.Status, in.Response.Header, in.Duration = shown.Code, shown.Response.Headers, shown.Duration
	if body := []byte(shown.Response.Body); !bytes.Equal(body, in.Response.Body) {
		in.Response.Body, in.Timeline, in.Drained = body, nil, 0 // the pieces were those of other bytes
	}
	return in, nil
}
