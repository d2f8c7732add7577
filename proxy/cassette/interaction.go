package cassette

import (
	"bytes"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// Interaction is one request and its response, as seen on the wire after
// redaction. It is plain data and may be copied; slices and maps are shared.
type Interaction struct {
	Request  Request
	Response Response
	// Timeline lists the response body's chunks in order; their lengths add up to
	// len(Response.Body). It is empty when the source kept none.
	Timeline []Chunk
	// End says how the response ended.
	End End
	// Incomplete says why the response is not everything that the provider would
	// have sent: one of the Incomplete constants. "" means that it is complete,
	// or that the source did not judge.
	Incomplete string
	// Drained is how many of the body's last bytes arrived after the client had
	// left. Only a recorder that continues to read has any.
	Drained int
	// Provenance says who answered, where it was not who the head of the cassette
	// says: ProvenanceSimulator, ProvenanceSynthetic, or another word for a reply
	// that is not the provider's. "" means that the head is right.
	Provenance string
	// Ingress is how the client reached the recorder, where its URL is not the
	// one that the client used: IngressBaseURL. "" means by a tunnel, or unknown.
	Ingress string
	// Process is the ordinal, from 1, of the client process that sent the request.
	// It counts over all runs that recorded into the cassette. 0 means unknown.
	Process int
	// WebSocket is the ordinal, from 1, of the WebSocket that carried the request as a
	// message and the response as the events that answered it; the request then is a POST,
	// and the headers of both are those of the handshake. It counts over all runs that
	// recorded into the cassette. 0 means plain HTTP.
	WebSocket int
	// Redacted names the bodies in which redaction replaced something: RedactedRequest,
	// RedactedResponse or both, separated by a space. "" means none, or unknown: builds
	// before this field did not say.
	Redacted string
	// Place is where the client ran, by the names of the matching rules that leave such
	// things out: folder, home, user, host. It is nil unless the recording has such
	// rules.
	Place map[string]string
	// Started is when the request began, where another tool's format says so. It
	// is the zero time otherwise, and is not stored in a cassette.
	Started time.Time
	// Duration is the time from the request's last byte to the response's end.
	Duration time.Duration
}

// IngressBaseURL marks a request that came to the recorder's own address, which
// the client used as the provider's base URL. The recorder put the provider's host
// into the URL.
const IngressBaseURL = "base-url"

// The bodies that Interaction.Redacted names.
const (
	RedactedRequest  = "request"
	RedactedResponse = "response"
)

// Request is what the client sent. URL is absolute; Body is never nil after a
// load. Credential headers, cookies and key parameters are absent or redacted.
type Request struct {
	Method string
	URL    string
	Proto  string
	Header http.Header
	Body   []byte
	// Encoding is the Content-Encoding that was undone, "" for none. Body is the
	// decoded body (pitfall G12).
	Encoding string
}

// Response is what the server sent. Status is 0 when no response arrived.
type Response struct {
	Status  int
	Proto   string
	Header  http.Header
	Body    []byte
	Trailer http.Header
	// Encoding is the Content-Encoding that was undone, as in a Request. Such a
	// body has no Timeline, because the times were measured for the compressed bytes.
	Encoding string
}

// Chunk is one piece of a response body as it left the server: Length bytes that
// were complete at At after the response header.
type Chunk struct {
	At     time.Duration
	Length int
}

// End says how a response ended: EndEOF, EndReset, EndClientAbort, or "h2:CODE"
// for an HTTP/2 stream error. "" means that the source did not say.
type End string

// The endings that have a name of their own.
const (
	EndEOF         End = "eof"
	EndReset       End = "reset"
	EndClientAbort End = "client_abort"
)

// Why a response is incomplete.
const (
	IncompleteNoReply = "no reply"          // not even a header came
	IncompleteCut     = "cut"               // it broke off; End says how
	IncompleteOpen    = "no terminal event" // it ended cleanly, without what that provider ends its replies with
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

// Judge returns why in's response is not everything that the provider would have
// sent: an Incomplete constant, or "" when it is complete or its end is not
// visible. It judges what was recorded and ignores in.Incomplete. A client that
// left after everything had arrived, as SDKs do right after the terminal event,
// missed nothing.
func Judge(in Interaction) string {
	resp := in.Response
	kind := resp.Header.Get("Content-Type")
	provider := ""
	if u, err := url.Parse(in.Request.URL); err == nil {
		provider = llm.Provider(u.Host, u.Path)
	}
	switch in.End {
	case EndEOF, "":
		switch {
		case resp.Status == 0:
			return IncompleteNoReply
		case in.Request.Method == http.MethodHead || resp.Status == http.StatusNoContent:
			return "" // has no body to end in (RFC 9110 §9.3.2, §15.3.5)
		case resp.Status < 300 && provider != "" && !llm.IsComplete(provider, kind, resp.Body):
			return IncompleteOpen
		}
		return ""
	case EndClientAbort:
		if resp.Status != 0 && showsEnd(kind, resp.Body) && llm.IsComplete(provider, kind, resp.Body) {
			return ""
		}
	case EndReset: // cut, as are errors of HTTP/2
	}
	if resp.Status == 0 {
		return IncompleteNoReply
	}
	return IncompleteCut
}

// showsEnd reports whether a body is of a kind that shows where it ends.
func showsEnd(kind string, body []byte) bool {
	media, _, _ := mime.ParseMediaType(kind)
	text := bytes.TrimLeft(body, " \t\r\n")
	return media == "text/event-stream" || len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
