package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
)

// Format names the way a recording is written.
type Format string

// The formats Read knows.
const (
	FormatCassette Format = "cassette" // ours, DESIGN §4
	FormatGoVCR    Format = "go-vcr"   // go-vcr v2 (version 1), v3 and v4 (version 2)
	FormatVCRPy    Format = "vcrpy"    // vcrpy version 1
	FormatHAR      Format = "har"      // HTTP Archive 1.1 to 1.3
	FormatCorpus   Format = "corpus"   // a directory of NN.request.json, NN.response.json, NN.response.body
)

// ErrNotRecording is wrapped for a readable file that is no recording at all.
var ErrNotRecording = errors.New("not a recording")

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

// raw is an exchange as its format has it, before anybody asked whose it is.
type raw struct {
	Request  Request
	Response Response
}

// assemble turns what a reader found into evidence: the provider's exchanges
// with decoded bodies, and a list of the others.
func assemble(name string, format Format, all []raw) (Recording, error) {
	rec := Recording{Path: name, Format: format, Evidence: Evidence{Source: SourceRecording, Case: name}}
	if len(all) == 0 {
		return rec, fmt.Errorf("%s: holds no exchange; record it again", name)
	}
	rec.Skipped = rec.Evidence.fill(all)
	return rec, nil
}

// fill appends the exchanges to judge and returns the others.
func (ev *Evidence) fill(all []raw) (skipped []Skip) {
	for i, r := range all {
		ex, reason := r.exchange(i)
		if reason != "" {
			skipped = append(skipped, Skip{Exchange: i, What: what(r.Request), Reason: reason})
			continue
		}
		ev.Exchanges = append(ev.Exchanges, ex)
	}
	return skipped
}

// exchange returns the exchange to judge, or the reason not to.
func (r raw) exchange(index int) (Exchange, string) {
	request, err := decodeBody(r.Request.Header, r.Request.Body)
	if err != nil {
		return Exchange{}, "the request body " + err.Error()
	}
	r.Request.Body = request
	provider, reason := Provider(r.Request)
	if reason != "" {
		return Exchange{}, reason
	}
	response, err := decodeBody(r.Response.Header, r.Response.Body)
	if err != nil {
		return Exchange{}, "the response body " + err.Error()
	}
	if len(response) != len(r.Response.Body) {
		r.Response.Chunks = nil // they described the compressed bytes
	}
	r.Response.Body = response
	return Exchange{Index: index, Provider: provider, Request: r.Request, Response: r.Response, Process: -1}, ""
}

// what names a request without its query or user, which may hold secrets.
func what(r Request) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.Method + " (unreadable URL)"
	}
	return r.Method + " " + u.Host + u.Path
}

// header returns h with canonical names, leaving out the pseudo headers of
// HTTP/2 that some tools store.
func header(h map[string][]string) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		if name == "" || name[0] == ':' {
			continue
		}
		for _, v := range values {
			out.Add(name, v)
		}
	}
	return out
}

// notRecording says what a file should have been.
func notRecording(name, problem string) error {
	return fmt.Errorf("%s: %s; %w conform reads (cassette, go-vcr, vcrpy, HAR or the corpus layout)", name, problem, ErrNotRecording)
}

// broken is for a file that was a recording once: found below a directory it is
// reported, where any other text is passed over.
func broken(name, problem string) error {
	return fmt.Errorf("%s: %s; restore it or record it again", name, problem)
}

// unreadable names the path and the bare reason of an I/O error.
func unreadable(name string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w; check the path and its permissions", name, err)
}
