// Package provider calls model providers: one request type, one client, one set
// of error kinds for all of them.
//
// [Client] makes the HTTP calls. It is the same for every provider: a [Codec]
// says how a provider writes requests and replies, and [catalog.Provider] where
// it is and by which rules it differs from the others. The codecs are in the
// packages below codec; they parse replies by package stream. What of a conversation
// belongs into a request is decided before, by package handoff.
//
//	client, err := provider.New(anthropic.Codec{}, provider.Config{APIKey: key})
//	...
//	reply, err := client.Complete(ctx, &provider.Request{
//		Model:    "claude-opus-4-6",
//		Messages: []transcript.Message{transcript.User("Hello")},
//	}, nil)
//
// Every failure is an [*Error] with a [Kind] that tells what happened, and
// [RetryPolicy] says whether and when to try again. Errors, logs and printed
// clients never hold the key. Requests are rendered by pure functions: the same
// request gives the same bytes.
package provider

import (
	"context"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Completer answers requests. [Client] is one; an agent takes any. It is safe for
// concurrent use.
type Completer interface {
	// Provider returns the provider's name, such as "anthropic".
	Provider() string
	// Render returns the exact request body that Complete would send. It is a
	// pure function of req.
	Render(req *Request) ([]byte, error)
	// Complete sends req and returns the assembled reply. onEvent, which may be
	// nil, receives events while a streamed reply arrives. Errors are *Error.
	// The Reply is meaningful only when the error is nil.
	Complete(ctx context.Context, req *Request, onEvent func(stream.Event)) (stream.Reply, error)
}

// HealthChecker is a Completer that can say whether its provider is there and
// takes the key, without paying for a reply. Errors are *Error.
type HealthChecker interface {
	Health(ctx context.Context) error
}

// Cataloguer is a Completer that knows the catalogue entries of its models: a
// model that is in no catalogue of ours can then be used with its own traits.
type Cataloguer interface {
	Entry(model string) (catalog.Entry, error)
}

// Throttle makes calls wait for their turn; *rate.Limiter of golang.org/x/time
// is one. Wait returns early with an error when ctx ends.
type Throttle interface {
	Wait(ctx context.Context) error
}

// Request is one model call in a form that no provider owns. The client does not
// keep it.
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
	// form of thinking carries it.
	Effort string
	// ToolChoice is "", "auto", "any", "none" or a tool's name.
	ToolChoice string
	// OutputSchema asks for an answer that is JSON of this schema, "" for any.
	OutputSchema transcript.RawJSON
	// CacheTTL asks the provider to keep the prompt in its cache for "5m" or
	// "1h"; "" leaves it to the provider. Only Anthropic wants to be asked.
	CacheTTL string
	// CacheKey names the conversation to the provider's cache, so that requests that begin
	// alike reach the machine that knows their beginning: the same for all requests of a
	// conversation, at most 64 bytes, "" for none. Only OpenAI takes one.
	CacheKey string
	// CompactAt asks the provider to compact a conversation of that many tokens or
	// more while it answers, and to put the compaction into its reply. Zero, or a
	// model whose provider does not compact: it is not asked.
	CompactAt int
	// Compact asks for the conversation itself, compacted, instead of an answer. Model,
	// System and Messages count, nothing else. The reply comes in one piece: its blocks
	// are a window that takes the place of Messages as it came. A model whose provider
	// does not compact on demand is an error.
	Compact bool
	// Unary asks for one JSON reply instead of a stream.
	Unary bool
	// Account names the customer for Origin, see package handoff's MakeAccount; never the
	// key itself.
	Account string
}
