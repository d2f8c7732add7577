// Package openai is the wire format of OpenAI's Responses API: [Codec] renders
// requests and reads replies, streamed or whole.
package openai

import (
	"net/http"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Codec implements [provider.Codec] for the Responses API.
type Codec struct{ provider.SharedErrors }

// Provider implements [provider.Codec].
func (Codec) Provider() catalog.Provider { return catalog.ProviderNamed(catalog.OpenAI) }

// SetHeaders adds the key.
func (Codec) SetHeaders(header http.Header, key string) { header.Set("Authorization", "Bearer "+key) }

// Render implements [provider.Codec]. Replay is stateless: store is false and
// reasoning carries its encrypted content.
//
// A request that the API would refuse is an error: *provider.PairError,
// *provider.MessageError or *provider.RequestError. Temperature is left out while
// the model reasons (O-24).
func (Codec) Render(req *provider.Request, m catalog.Entry) (*provider.Rendered, error) {
	w, err := newRequestWriter(req, m)
	if err != nil {
		return nil, err
	}
	if req.Compact {
		return &provider.Rendered{Path: "responses/compact", Body: w.writeCompactBody()}, nil
	}
	return &provider.Rendered{Path: "responses", Body: w.writeBody()}, nil
}

// NewParser returns a parser of one streamed Responses reply.
func (Codec) NewParser(opts stream.Options) stream.Parser {
	d := newDialect(opts)
	return stream.NewParser(opts, d.asm, d)
}

// ParseReply reads one Responses reply that arrived as a single JSON body. Its
// errors are those of stream.Parser.Close; a background response that is still
// running is incomplete.
func (Codec) ParseReply(body []byte, opts stream.Options) (stream.Reply, error) {
	d := newDialect(opts)
	return stream.ReadWhole(d.asm, d, body, d.readWholeReply)
}
