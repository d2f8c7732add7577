package meerkat

import (
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// WithRetry makes failed calls again as policy says; the zero policy makes none.
// Without it provider.DefaultRetry holds.
func (b *AgentBuilder) WithRetry(policy provider.RetryPolicy) *AgentBuilder {
	b.config.Retry = policy
	return b
}

// WithLimits bounds each session over all its runs (seed 001 §10).
func (b *AgentBuilder) WithLimits(limits session.Limits) *AgentBuilder {
	b.config.Limits = limits
	return b
}

// WithWarnAt sets the share of a limit at which a budget_warning is sent; see
// agent.Config.WarnAt.
func (b *AgentBuilder) WithWarnAt(share float64) *AgentBuilder {
	b.config.WarnAt = share
	return b
}

// WithOnInterrupted says what a resumed run does about tools that were running
// when the session was interrupted.
func (b *AgentBuilder) WithOnInterrupted(policy agent.Policy) *AgentBuilder {
	b.config.OnInterrupted = policy
	return b
}

// WithCompaction says when the conversation is summarised. Without it none is.
func (b *AgentBuilder) WithCompaction(c agent.Compaction) *AgentBuilder {
	b.config.Compaction = c
	return b
}

// WithAttached sends images and files along with the prompt of each run.
func (b *AgentBuilder) WithAttached(parts ...transcript.Part) *AgentBuilder {
	b.config.Attached = parts
	return b
}

// WithEventBuffer lets the listener of WithEvents fall behind by n events; see
// agent.Config.OnEvent.
func (b *AgentBuilder) WithEventBuffer(n int) *AgentBuilder {
	b.config.EventBuffer = n
	return b
}

// WithoutKey lets Build go on without a key. Such an agent shows its requests
// (see Agent.Preview); its calls fail.
func (b *AgentBuilder) WithoutKey() *AgentBuilder {
	b.keyless = true
	return b
}
