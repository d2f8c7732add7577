package evidence

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
)

// Format names the way a recording is written.
type Format = interchange.Format

// The formats Read knows.
const (
	FormatCassette = interchange.Cassette
	FormatHAR      = interchange.HAR
	FormatCorpus   = interchange.Corpus
)

// ErrNotRecording is the cause of an error about a readable file that is not a
// recording.
var ErrNotRecording = interchange.ErrNotRecording

// Recording is one recorded file or case directory.
type Recording struct {
	Path     string
	Format   Format
	Evidence Evidence
	// Skipped lists the exchanges of the recording that are not judged, so that
	// nothing disappears silently.
	Skipped []Skip
}

// Skip is one exchange that is not judged, and why.
type Skip struct {
	// Exchange is the ordinal in the recording, from 0.
	Exchange int `json:"exchange"`
	// What is method, host and path; never the query, which may hold a key.
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// NewRecording returns the recording of exchanges that this process has seen, in the
// order of their requests. provenance says who answered, as the head of a cassette
// does.
func NewRecording(name, provenance string, seen []cassette.Interaction) Recording {
	return newRecording(name, interchange.Recording{Format: FormatCassette, Interactions: seen, Provenance: provenance})
}

// newRecording turns what a file holds into evidence: the provider's exchanges
// with decoded bodies, and a list of the others.
func newRecording(name string, in interchange.Recording) Recording {
	rec := Recording{Path: name, Format: in.Format, Evidence: Evidence{Source: SourceRecording, Case: name}}
	rec.Skipped = rec.Evidence.addInteractions(in)
	rec.Evidence.addProcesses(in.Interactions)
	return rec
}

// addInteractions appends the exchanges to judge and returns the others.
func (ev *Evidence) addInteractions(rec interchange.Recording) (skipped []Skip) {
	for i, in := range rec.Interactions {
		ex, reason := newExchange(i, in)
		if reason != "" {
			skipped = append(skipped, Skip{Exchange: i, What: requestName(in.Request), Reason: reason})
			continue
		}
		if rec.Format != interchange.Cassette && ex.Response.Status >= http.StatusBadRequest {
			ex.Response.Body = NewMask(ex.Request.credentials()).Bytes(ex.Response.Body) // reports quote it
		}
		if rec.IsRespelled {
			ex.Request.Body, ex.Response.Body = plainBody(ex.Request.Body), plainBody(ex.Response.Body)
		}
		ex.Provenance, ex.Date = provenanceOf(rec.Provenance, in), dateOf(in, rec)
		ex.Started, ex.Took = in.Started, in.Duration
		ev.Exchanges = append(ev.Exchanges, ex)
	}
	return skipped
}

// newExchange returns the exchange to judge, or the reason not to.
func newExchange(index int, in cassette.Interaction) (Exchange, string) {
	if in.WebSocket > 0 && in.Request.Method == http.MethodGet {
		return Exchange{}, "a WebSocket that the provider refused"
	}
	request := Request{Method: in.Request.Method, URL: in.Request.URL, Header: interchange.Canonical(in.Request.Header)}
	response := Response{Status: in.Response.Status, Header: interchange.Canonical(in.Response.Header),
		End: string(in.End)}
	var err error
	if request.Body, err = interchange.DecompressBody(request.Header, in.Request.Body); err != nil {
		return Exchange{}, "the request body " + err.Error()
	}
	provider, reason := Provider(request)
	if reason != "" && len(request.Body) > 0 &&
		(response.Status == http.StatusBadRequest || response.Status == http.StatusUnprocessableEntity) {
		if provider = operatorOf(request); provider != "" {
			reason = "" // a request of any operation that is refused for its form must not be sent again
		}
	}
	if reason != "" {
		return Exchange{}, reason
	}
	if response.Body, err = interchange.DecompressBody(response.Header, in.Response.Body); err != nil {
		return Exchange{}, "the response body " + err.Error()
	}
	if len(response.Body) == len(in.Response.Body) { // else they described the compressed bytes
		for _, c := range in.Timeline {
			response.Chunks = append(response.Chunks, Chunk(c))
		}
	}
	response = spellEvents(response)
	return Exchange{Index: index, Provider: provider, Request: request, Response: response, Process: -1,
		WebSocket: in.WebSocket}, ""
}

// requestName names a request without its query or user, which may hold secrets.
func requestName(r cassette.Request) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.Method + " (unreadable URL)"
	}
	return r.Method + " " + u.Host + u.Path
}

// unreadableError names the path and the bare reason of an I/O error.
func unreadableError(name string, err error) error {
	return fmt.Errorf("%s: %w; check the path and its permissions", name, fileutil.Reason(err))
}
