// Package anthropic is the wire format of Anthropic's Messages API: [Codec]
// renders requests and reads replies, streamed or whole.
package anthropic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Codec implements [provider.Codec] for the Messages API.
type Codec struct{ provider.SharedErrors }

const (
	apiVersion      = "2023-06-01"
	interleavedBeta = "interleaved-thinking-2025-05-14"
	compactBeta     = "compact-2026-01-12"
	codeBeta        = "code-execution-2025-08-25"
	betaHeader      = "Anthropic-Beta"
)

// Provider implements [provider.Codec].
func (Codec) Provider() catalog.Provider { return catalog.ProviderNamed(catalog.Anthropic) }

// SetHeaders adds the key and the API version, which is mandatory, and
// joins all betas in one header.
func (Codec) SetHeaders(header http.Header, key string) {
	header.Set("X-Api-Key", key)
	header.Set("Anthropic-Version", apiVersion)
	if betas := splitBetas(header); len(betas) > 0 {
		header.Set(betaHeader, strings.Join(betas, ","))
	}
}

// splitBetas returns the values of anthropic-beta, which may be repeated or
// joined by commas. A beta that a request adds itself appears once.
func splitBetas(h http.Header) []string {
	var betas []string
	for _, line := range h.Values(betaHeader) {
		for beta := range strings.SplitSeq(line, ",") {
			beta = strings.TrimSpace(beta)
			isOwn := beta == interleavedBeta || beta == compactBeta || beta == codeBeta
			if beta == "" || isOwn && slices.Contains(betas, beta) {
				continue
			}
			betas = append(betas, beta)
		}
	}
	return betas
}

// Render implements [provider.Codec]. Tool arguments and what this origin made
// go out as they came in.
//
// A request that the API would refuse is an error: *provider.PairError,
// *provider.MessageError or *provider.RequestError. Temperature is left out where
// it is refused: while thinking and on models without it.
func (Codec) Render(req *provider.Request, m catalog.Entry) (*provider.Rendered, error) {
	w, err := newRequestWriter(req, m)
	if err != nil {
		return nil, err
	}
	return &provider.Rendered{Path: "messages", Header: w.betaHeaders(), Body: w.writeBody()}, nil
}

// betaHeaders asks for interleaved thinking while thinking is on, for compaction while the
// request asks for one or carries an earlier one, and for the version of code
// execution that it offers.
func (w *requestWriter) betaHeaders() http.Header {
	var betas []string
	if w.thinking && w.Target.Model.InterleavedHeader {
		betas = append(betas, interleavedBeta)
	}
	if w.CompactTokens() > 0 || w.sendsCompaction() {
		betas = append(betas, compactBeta)
	}
	if slices.ContainsFunc(
		w.Tools, func(t transcript.ToolDef) bool { return t.Hosted && t.Name == transcript.HostedCode },
	) {
		betas = append(betas, codeBeta)
	}
	if betas == nil {
		return nil
	}
	return http.Header{betaHeader: betas}
}

// NewParser returns a parser of one streamed Messages reply.
func (Codec) NewParser(opts stream.Options) stream.Parser {
	d := newDialect(opts)
	return stream.NewParser(opts, d.asm, d)
}

// ParseReply reads one Messages reply that arrived as a single JSON body. Its
// errors are those of stream.Parser.Close.
func (Codec) ParseReply(body []byte, opts stream.Options) (stream.Reply, error) {
	d := newDialect(opts)
	return stream.ReadWhole(d.asm, d, body, d.readWholeReply)
}
