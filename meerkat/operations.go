package meerkat

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// SubAgents says what an agent may do with sub-agents. The zero value has the defaults of
// package ops.
type SubAgents struct {
	Limits    ops.ConcurrencyLimits
	Injection ops.InjectionPolicy
	// ForkBudget, SteeringDepth and SteeringOverflow are those of ops.Config.
	ForkBudget       *session.ForkBudgetPolicy
	SteeringDepth    int
	SteeringOverflow ops.SteeringOverflow
	// Artifacts keeps results of more than ArtifactThreshold bytes (0:
	// agent.DefaultArtifactThreshold); the model reads them with fetch_result. Nil: the
	// model gets every result whole.
	Artifacts         artifact.Store
	ArtifactThreshold int
}

// WithSubAgents offers the model the tools that start and control sub-agents, see
// ops.Tools. Sub-agents share tools, store and listener with the agent; their events
// carry their own session id. A sub-agent may have any model whose provider has a key.
func (b *AgentBuilder) WithSubAgents(o SubAgents) *AgentBuilder {
	b.subAgents = &o
	return b
}

// WithSteering makes runs ask for directives before each call of the model; see
// agent.Config. Nil: they do not.
func (b *AgentBuilder) WithSteering(next func() []ops.Directive) *AgentBuilder {
	b.config.Steering = next
	return b
}

// WithProvider sets key and address of a provider that sub-agents may have models of,
// beside the one of the agent; url "" is the provider's own.
func (b *AgentBuilder) WithProvider(provider, apiKey, url string) *AgentBuilder {
	addresses := maps.Clone(b.baseURLs)
	if addresses == nil {
		addresses = map[string]string{}
	}
	addresses[provider] = url
	b.baseURLs = addresses
	return b.WithKey(provider, apiKey)
}

// addressOf returns where requests of a provider go, "" for its own address.
func (b *AgentBuilder) addressOf(provider string) string {
	if url, ok := b.baseURLs[provider]; ok {
		return url
	}
	return b.baseURL
}

// Operations returns what runs and steers the sub-agents of this agent; nil without
// WithSubAgents.
func (a *Agent) Operations() *ops.Manager { return a.config.Operations }

// newManager returns the manager of the operations of one agent.
func (b *AgentBuilder) newManager() *ops.Manager {
	o := b.subAgents
	now, newID := b.config.Now, b.config.NewID
	if now == nil {
		now = time.Now
	}
	if newID == nil {
		newID = session.NewID
	}
	return ops.NewManager(ops.Config{
		Limits: o.Limits, Injection: o.Injection, ForkBudget: o.ForkBudget, SteeringDepth: o.SteeringDepth,
		SteeringOverflow: o.SteeringOverflow,
		Run:              agent.RunOperation, Now: func() time.Time { return now().UTC().Round(0) }, NewID: newID,
	})
}

// operationTools returns the tools for operations, none without WithSubAgents.
func (b *AgentBuilder) operationTools() []tool.Tool {
	if b.subAgents == nil {
		return nil
	}
	o := ops.ToolOptions{CheckModel: b.checkSubAgentModel}
	if b.subAgents.Artifacts != nil {
		o.Fetch = fetchFrom(b.subAgents.Artifacts)
	}
	return ops.Tools(o)
}

// fetchFrom returns ops.ToolOptions.Fetch over a store of artifacts.
func fetchFrom(store artifact.Store) func(context.Context, session.ID, string, int, int) (string, int, error) {
	return func(ctx context.Context, reader session.ID, name string, offset, size int) (string, int, error) {
		id, err := artifact.ParseID(name)
		if err != nil {
			return "", 0, err
		}
		data, _, err := store.Get(ctx, reader, id)
		if err != nil {
			return "", 0, err
		}
		begin := min(max(offset, 0), len(data))
		end := min(begin+size, len(data))
		for end > begin && end < len(data) && !utf8.RuneStart(data[end]) {
			end-- // the rest of the character comes with the next part
		}
		return strings.ToValidUTF8(string(data[begin:end]), "\uFFFD"), len(data), nil
	}
}

// checkSubAgentModel returns why a sub-agent cannot have a model.
func (b *AgentBuilder) checkSubAgentModel(model string) error {
	entry, err := b.catalogLookup()(model)
	if err != nil {
		return err
	}
	switch {
	case b.config.Client != nil && entry.Provider != b.config.Client.Provider():
		return fmt.Errorf(
			"model %s: it is a model of %s, and the client speaks to %s", model, entry.Provider,
			b.config.Client.Provider(),
		)
	case b.config.Client == nil && b.keys[entry.Provider] == "":
		var names []string
		for _, p := range catalog.ProviderNames() {
			if b.keys[p] != "" {
				names = append(names, p)
			}
		}
		return fmt.Errorf(
			"model %s: there is no key for %s; the providers with a key are: %s", model, entry.Provider,
			strings.Join(names, ", "),
		)
	}
	return nil
}

// modelSwitch returns agent.Config.SubAgent: it gives a sub-agent another model, and the
// client of its provider, which is made when it is needed first.
func (b *AgentBuilder) modelSwitch() func(*agent.Config, string) error {
	var mu sync.Mutex
	clients := map[string]provider.Completer{}
	own := *b             // the builder may be used again
	own.webSocket = false // nothing would close them
	return func(c *agent.Config, model string) error {
		if err := own.checkSubAgentModel(model); err != nil {
			return err
		}
		entry, err := own.catalogLookup()(model)
		if err != nil {
			return err
		}
		c.Model, c.Effort, c.Temperature = entry.Model, "", nil
		if entry.Provider == c.Client.Provider() {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		client := clients[entry.Provider]
		if client == nil {
			if client, err = own.newClient(entry.Provider); err != nil {
				return err
			}
			clients[entry.Provider] = client
		}
		c.Client, c.Account = client, own.config.Account
		if named, ok := client.(interface{ Account() string }); ok && c.Account == "" {
			c.Account = named.Account()
		}
		return nil
	}
}
