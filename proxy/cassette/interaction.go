package cassette

import (
	"net/http"
	"time"
)

// Interaction is one request and what came back, as seen on the wire after
// redaction. It is plain data and may be copied; slices and maps are shared.
type Interaction struct {
	Request  Request
	Response Response
	// Timeline lists the response body's chunks in order; their lengths add up
	// to len(Response.Body). Empty when the source kept none.
	Timeline []Chunk
	// End says how the response ended.
	End End
	// Duration is the time from the request's last byte to the response's end.
	Duration time.Duration
}

// Request is the client's side. URL is absolute; Body is never nil after a
// load. Credential headers, cookies and key parameters are absent or redacted.
type Request struct {
	Method string
	URL    string
	Proto  string
	Header http.Header
	Body   []byte
}

// Response is the server's side. Status is 0 when no response arrived.
type Response struct {
	Status  int
	Proto   string
	Header  http.Header
	Body    []byte
	Trailer http.Header
}

// Chunk is one piece of a response body as it left the server: Length bytes
// that were complete At after the response header.
type Chunk struct {
	At     time.Duration
	Length int
}

// End says how a response ended: EndEOF, EndReset, EndClientAbort, or
// "h2:CODE" for an HTTP/2 stream error. Empty means the source did not say.
type End string

// The endings that have a name of their own.
const (
	EndEOF         End = "eof"
	EndReset       End = "reset"
	EndClientAbort End = "client_abort"
)
