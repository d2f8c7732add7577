// Package gemini is the wire format of the Gemini Developer API, its methods
// generateContent and streamGenerateContent: [Codec] renders requests and reads
// replies, streamed or whole.
package gemini

import (
	"net/http"
	"net/url"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Codec implements [provider.Codec] for the Gemini Developer API.
type Codec struct{ provider.SharedErrors }

// Provider implements [provider.Codec].
func (Codec) Provider() catalog.Provider { return catalog.ProviderNamed(catalog.Gemini) }

// SetHeaders adds the key, which never travels in the URL.
func (Codec) SetHeaders(header http.Header, key string) { header.Set("X-Goog-Api-Key", key) }

// Render implements [provider.Codec]. The name of the model is in the path.
//
// A request that the API would refuse is an error: *provider.PairError,
// *provider.MessageError or *provider.RequestError.
func (Codec) Render(req *provider.Request, m catalog.Entry) (*provider.Rendered, error) {
	w, err := newRequestWriter(req, m)
	if err != nil {
		return nil, err
	}
	method, query := "streamGenerateContent", "alt=sse"
	if req.Unary {
		method, query = "generateContent", ""
	}
	return &provider.Rendered{
		Path: "models/" + url.PathEscape(req.Model) + ":" + method, Query: query, Body: w.writeBody(),
	}, nil
}

// NewParser returns a parser of one streamed reply: server-sent events, the JSON
// array that the API sends without alt=sse, or the bare error object that it may
// send instead of either.
func (Codec) NewParser(opts stream.Options) stream.Parser {
	d := newDialect(opts)
	return stream.NewSniffingParser(opts, d.asm, d)
}

// ParseReply reads one reply that arrived as a single JSON body. Its errors are
// those of stream.Parser.Close.
func (Codec) ParseReply(body []byte, opts stream.Options) (stream.Reply, error) {
	d := newDialect(opts)
	return stream.ReadWhole(d.asm, d, body, d.readChunk)
}
