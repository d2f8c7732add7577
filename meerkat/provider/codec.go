package provider

import (
	"net/http"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Codec is the wire format of one provider: how a request is written and how
// replies and errors are read. It makes no calls and keeps no state, so one value
// serves any number of clients at the same time. What differs between providers
// beside the format is data: see [catalog.Provider].
type Codec interface {
	// Provider returns the catalogue's description of the provider.
	Provider() catalog.Provider
	// SetHeaders completes the headers of a request: it adds the key and whatever
	// else the API wants in every request.
	SetHeaders(header http.Header, key string)
	// Render returns the call that req is for this model. It is a pure function:
	// the same request gives the same bytes, and the messages of a longer
	// conversation begin with the bytes of the shorter one. A request that the
	// API would refuse is an error.
	Render(req *Request, model catalog.Entry) (*Rendered, error)
	// NewParser returns a parser of one streamed reply.
	NewParser(opts stream.Options) stream.Parser
	// ParseReply reads a reply that arrived as one body. Its errors are those of
	// stream.Parser.Close.
	ParseReply(body []byte, opts stream.Options) (stream.Reply, error)
	// ParseError reads the body of an answer with another status than 200. It
	// fills in Type, Code, Message, RequestID and RetryAfter as far as the body
	// names them; the client adds the rest.
	ParseError(body []byte) *Error
}

// Rendered is a request in the wire format of a provider.
type Rendered struct {
	// Path is below the API version of the base URL.
	Path  string
	Query string
	// Header is added to the configured headers.
	Header http.Header
	Body   []byte
}

// SharedErrors reads the error bodies of all known providers and of the gateways
// in front of them. Codecs embed it.
type SharedErrors struct{}

// ParseError implements [Codec].
func (SharedErrors) ParseError(body []byte) *Error { return parseError(body) }
