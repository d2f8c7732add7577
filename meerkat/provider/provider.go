// Package provider is the door to the model providers: one request type, one
// client interface, one error taxonomy. The packages below it speak the wire.
package provider

import (
	"context"

	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Client sends requests to one provider. A Client is safe for concurrent use.
type Client interface {
	// Provider returns "anthropic", "openai" or "gemini".
	Provider() string
	// Render returns the exact request body that Complete would send. It is a
	// pure function of req.
	Render(req *Request) ([]byte, error)
	// Complete sends req and returns the assembled reply. onEvent, which may be
	// nil, receives events while a streamed reply arrives. Errors are *Error.
	// The Reply is meaningful only when the error is nil.
	Complete(ctx context.Context, req *Request, onEvent func(stream.Event)) (stream.Reply, error)
}

// HealthChecker is a Client that can say whether its provider is there and
// takes the key, without paying for a reply. Errors are *Error.
type HealthChecker interface {
	Health(ctx context.Context) error
}

// Throttle makes calls wait for their turn; *rate.Limiter of golang.org/x/time
// is one. Wait returns early with an error when ctx ends.
type Throttle interface {
	Wait(ctx context.Context) error
}

// Request is one model call, provider-neutral. The client does not keep it.
type Request struct {
	Model    string
	System   string
	Messages []transcript.Message
	Tools    []transcript.ToolDef
	// MaxOutputTokens bounds this reply. Zero: the catalogue's default.
	MaxOutputTokens int
	Temperature     *float64
	StopSequences   []string
	// Effort is "", "none", "low", "medium", "high", "xhigh" or "max". Empty
	// means the catalogue's default for the model. The catalogue decides which
	// thinking form carries it (reference §6).
	Effort string
	// ToolChoice is "", "auto", "any", "none" or a tool's name.
	ToolChoice string
	// OutputSchema asks for an answer that is JSON of this schema, "" for any.
	OutputSchema transcript.RawJSON
	// CacheTTL asks the provider to keep the prompt in its cache for "5m" or
	// "1h"; "" leaves it to the provider. Only Anthropic wants to be asked.
	CacheTTL string
	// Unary asks for one JSON reply instead of a stream.
	Unary bool
	// Account fingerprints the credential for Origin; never the key itself.
	Account string
}
