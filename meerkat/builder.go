package meerkat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// AgentBuilder collects the parts of an Agent. The With functions change the builder
// and return it; Build reports what is wrong. A builder is not safe for concurrent
// use.
type AgentBuilder struct {
	config        agent.Config
	keys          map[string]string // by provider
	firstProvider string            // the provider whose key came first
	baseURL       string
	httpClient    *http.Client
	throttle      provider.Throttle
	webSocket     bool
	tools         []tool.Tool
	servers       []mcp.Server
	mcp           mcp.Options
	policy        tool.Policy
	approve       tool.Approve
	bounds        provider.Bounds
	unlisted      bool
	refusesSchema bool
	keyless       bool
	baseURLs      map[string]string // by provider, of other providers than the first
	subAgents     *SubAgents        // nil: none
}

// NewAgent returns a builder of an agent without tools that keeps its sessions
// in memory and retries failed calls as provider.DefaultRetry says.
func NewAgent() *AgentBuilder {
	return &AgentBuilder{keys: map[string]string{}, config: agent.Config{Retry: provider.DefaultRetry}}
}

// WithConfig sets everything that an agent.Config holds at once, for instance the
// Agent of a config.Loaded. Functions that are called later change single fields.
// The defaults of NewAgent are replaced, too: without Retry no failed call is made
// again.
func (b *AgentBuilder) WithConfig(c agent.Config) *AgentBuilder {
	b.config = c
	return b
}

// WithAnthropic sets the key of the Anthropic API.
func (b *AgentBuilder) WithAnthropic(apiKey string) *AgentBuilder {
	return b.WithKey(catalog.Anthropic, apiKey)
}

// WithOpenAI sets the key of the OpenAI API.
func (b *AgentBuilder) WithOpenAI(apiKey string) *AgentBuilder {
	return b.WithKey(catalog.OpenAI, apiKey)
}

// WithGemini sets the key of the Gemini API.
func (b *AgentBuilder) WithGemini(apiKey string) *AgentBuilder {
	return b.WithKey(catalog.Gemini, apiKey)
}

// WithKey sets the key of a provider: "anthropic", "openai" or "gemini". Several
// may be set; the model decides which is used, and without a model the first.
func (b *AgentBuilder) WithKey(provider, apiKey string) *AgentBuilder {
	if b.firstProvider == "" {
		b.firstProvider = provider
	}
	b.keys[provider] = apiKey
	return b
}

// WithEnv sets the keys that are in an environment of "K=V", such as that of
// os.Environ: ANTHROPIC_API_KEY, OPENAI_API_KEY and GEMINI_API_KEY, preferred in
// that order. Keys that were set before stay.
func (b *AgentBuilder) WithEnv(env []string) *AgentBuilder {
	for _, p := range catalog.ProviderNames() {
		for _, e := range env {
			if name, key, _ := strings.Cut(e, "="); name == catalog.ProviderNamed(p).KeyVariable() && key != "" &&
				b.keys[p] == "" {
				b.WithKey(p, key)
			}
		}
	}
	return b
}

// WithClient uses c instead of a client of ours; keys, base URL and HTTP client
// do not count then.
func (b *AgentBuilder) WithClient(c provider.Completer) *AgentBuilder {
	b.config.Client = c
	return b
}

// WithModel sets the model. Build refuses one that is not in the catalogue.
// Without it the provider's default is used.
func (b *AgentBuilder) WithModel(model string) *AgentBuilder {
	b.config.Model = model
	return b
}

// WithUnlistedModel lets Build take any model of a known provider. New sessions
// are marked with its name, so that they can be resumed with it.
func (b *AgentBuilder) WithUnlistedModel() *AgentBuilder {
	b.unlisted = true
	return b
}

// WithSystemPrompt sets the system prompt of new sessions; the model of a resumed
// one receives it as a message if it differs (see agent.Config.System).
func (b *AgentBuilder) WithSystemPrompt(prompt string) *AgentBuilder {
	b.config.System = prompt
	return b
}

// WithEffort sets how hard the model thinks; see provider.Request.Effort.
func (b *AgentBuilder) WithEffort(effort string) *AgentBuilder {
	b.config.Effort = effort
	return b
}

// WithTemperature sets the temperature for models that take one.
func (b *AgentBuilder) WithTemperature(t float64) *AgentBuilder {
	b.config.Temperature = &t
	return b
}

// WithMaxOutputTokens bounds each reply; it is no budget of the run.
func (b *AgentBuilder) WithMaxOutputTokens(n int) *AgentBuilder {
	b.config.MaxOutputTokens = n
	return b
}

// WithMaxTurns bounds the model calls of one run.
func (b *AgentBuilder) WithMaxTurns(n int) *AgentBuilder {
	b.config.MaxTurns = n
	return b
}

// WithMaxParallelTools bounds how many tools run at once.
func (b *AgentBuilder) WithMaxParallelTools(n int) *AgentBuilder {
	b.config.MaxParallel = n
	return b
}

// WithOutputSchema asks for answers that are JSON of this schema.
func (b *AgentBuilder) WithOutputSchema(schema []byte) *AgentBuilder {
	b.config.OutputSchema = schema
	return b
}

// WithCacheTTL asks the provider to keep prompts in its cache for "5m" or "1h".
func (b *AgentBuilder) WithCacheTTL(ttl string) *AgentBuilder {
	b.config.CacheTTL = ttl
	return b
}

// WithThrottle makes model calls wait for their turn; *rate.Limiter of
// golang.org/x/time is a Throttle.
func (b *AgentBuilder) WithThrottle(t provider.Throttle) *AgentBuilder {
	b.throttle = t
	return b
}

// WithBounds limits what a reply may be; the default is provider.DefaultBounds.
func (b *AgentBuilder) WithBounds(bounds provider.Bounds) *AgentBuilder {
	b.bounds = bounds
	return b
}

// WithUnary asks for whole JSON replies instead of streams.
func (b *AgentBuilder) WithUnary() *AgentBuilder {
	b.config.Unary = true
	return b
}

// WithBaseURL sends requests to url instead of the provider's own address.
func (b *AgentBuilder) WithBaseURL(url string) *AgentBuilder {
	b.baseURL = url
	return b
}

// WithHTTPClient sets proxy, certificates and timeouts. Without it a client is
// used that knows no proxy.
func (b *AgentBuilder) WithHTTPClient(c *http.Client) *AgentBuilder {
	b.httpClient = c
	return b
}

// WithWebSocket sends requests over WebSockets, and of each what the provider does not hold
// yet, where the provider has them; others are asked over HTTP as before. The agent needs a
// Close.
func (b *AgentBuilder) WithWebSocket() *AgentBuilder {
	b.webSocket = true
	return b
}

// WithStore keeps sessions in s.
func (b *AgentBuilder) WithStore(s session.Store) *AgentBuilder {
	b.config.Store = s
	return b
}

// WithMemoryStore keeps sessions in memory for as long as the process lives. It
// is what an agent does when nothing else is said.
func (b *AgentBuilder) WithMemoryStore() *AgentBuilder { return b.WithStore(session.NewMemoryStore()) }

// WithAccount names the account of the keys. Continuity tokens are sent back only to the
// account that they were issued to. Without a name, keys of one kind for one host belong
// to the same account, unless replies name another organization.
func (b *AgentBuilder) WithAccount(name string) *AgentBuilder {
	b.config.Account = name
	return b
}

// WithJSONLStore keeps each session in a file below dir.
func (b *AgentBuilder) WithJSONLStore(dir string) *AgentBuilder {
	return b.WithStore(jsonl.New(dir, nil))
}

// WithEvents passes what happens to f, one event at a time.
func (b *AgentBuilder) WithEvents(f func(Event)) *AgentBuilder {
	b.config.OnEvent = f
	return b
}

// WithClock sets where times come from.
func (b *AgentBuilder) WithClock(now func() time.Time) *AgentBuilder {
	b.config.Now = now
	return b
}

// ErrNoProvider says that nothing decides the provider. Other errors of Build are
// *catalog.UnsupportedModel, *MissingKeyError, *BadKeyError and *mcp.ServerError.
var ErrNoProvider = errors.New("no model provider: set a key, a client or a model")

// MissingKeyError says that the provider of the model has no key.
type MissingKeyError struct {
	Provider string
	// Variable is where the key is kept by custom.
	Variable string
}

// Error says which key is missing.
func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("%s: there is no API key; set %s", e.Provider, e.Variable)
}

// BadKeyError says that a key cannot be sent: it holds a line break or another
// control character. The key itself is not in the error.
type BadKeyError struct {
	Provider string
	// Variable is where the key is kept by custom.
	Variable string
}

// Error says which key is at fault.
func (e *BadKeyError) Error() string {
	return fmt.Sprintf(
		"%s: the API key holds a line break or control character; set %s without it", e.Provider, e.Variable,
	)
}

// Build returns the agent. It checks the model against the catalogue before
// anything could reach the network, and starts MCP servers last. The builder may be
// used again.
func (b *AgentBuilder) Build() (*Agent, error) { return b.BuildContext(context.Background()) }

// BuildContext is Build with a context: when ctx ends, MCP servers that are still
// starting are given up.
func (b *AgentBuilder) BuildContext(ctx context.Context) (*Agent, error) {
	config := b.config
	entry, err := b.resolveModel()
	if err != nil {
		return nil, err
	}
	config.Model = entry.Model
	if entry.Unlisted {
		config.Annotations = []session.Annotation{{Name: session.AnnotationAllowUnlisted, Value: entry.Model}}
	}
	if config.Client == nil {
		if config.Client, err = b.newClient(entry.Provider); err != nil {
			return nil, err
		}
		if client, ok := config.Client.(interface{ Account() string }); ok && config.Account == "" {
			config.Account = client.Account()
		}
	}
	if config.Store == nil {
		config.Store = session.NewMemoryStore()
	}
	tools, err := b.openToolset(ctx)
	if err != nil {
		return nil, err
	}
	config.Tools, config.ToolsNow = tools.dispatcher, tools.current
	config.DeniedHosted = slices.DeleteFunc(transcript.HostedTools(), b.policy.Allows)
	if b.subAgents != nil {
		config.Operations, config.SubAgent = b.newManager(), b.modelSwitch()
		config.Artifacts, config.ArtifactThreshold = b.subAgents.Artifacts, b.subAgents.ArtifactThreshold
	}
	if tools.unfit, err = b.checkSchemas(tools.dispatcher, entry); err != nil {
		tools.closeServers(ctx)
		return nil, err
	}
	made := &Agent{config: config, tools: tools}
	if b.config.Client == nil {
		made.client, _ = config.Client.(io.Closer)
	}
	return made, nil
}

// resolveModel returns the entry of the model that is to be used.
func (b *AgentBuilder) resolveModel() (catalog.Entry, error) {
	provider := b.firstProvider
	if b.config.Client != nil {
		provider = b.config.Client.Provider()
	}
	if b.config.Model == "" {
		entry, ok := catalog.Default(provider)
		if !ok {
			return entry, ErrNoProvider
		}
		return entry, nil
	}
	entry, err := b.catalogLookup()(b.config.Model)
	if err == nil && b.config.Client != nil && entry.Provider != provider {
		err = fmt.Errorf(
			"model %s: it is a model of %s, and the client speaks to %s", entry.Model, entry.Provider, provider,
		)
	}
	return entry, err
}

// catalogLookup finds the entry of a model: in the catalogue of a client of the
// caller's own, if it has one, else in ours.
func (b *AgentBuilder) catalogLookup() func(string) (catalog.Entry, error) {
	if c, ok := b.config.Client.(provider.Cataloguer); ok {
		return c.Entry
	}
	if b.unlisted {
		return catalog.Unlisted
	}
	return catalog.Lookup
}

func (b *AgentBuilder) newClient(name string) (provider.Completer, error) {
	key := b.keys[name]
	if key == "" && !b.keyless {
		return nil, &MissingKeyError{name, catalog.ProviderNamed(name).KeyVariable()}
	}
	if !httpguts.ValidHeaderFieldValue(key) {
		return nil, &BadKeyError{name, catalog.ProviderNamed(name).KeyVariable()}
	}
	cfg := provider.Config{
		BaseURL: b.addressOf(name), APIKey: key, HTTPClient: b.httpClient, Lookup: b.catalogLookup(),
		Now: b.config.Now, Throttle: b.throttle, Bounds: b.bounds, WebSocket: b.webSocket,
	}
	for _, codec := range codecs {
		if codec.Provider().Name != name {
			continue
		}
		c, err := provider.New(codec, cfg)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return nil, ErrNoProvider
}

// codecs are the wire formats that an agent speaks by itself.
var codecs = []provider.Codec{anthropic.Codec{}, openai.Codec{}, gemini.Codec{}}
