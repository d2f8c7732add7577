package meerkat

import (
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// WithRetry sets how failed calls are retried; the zero policy retries none. The
// default is provider.DefaultRetry.
func (b *AgentBuilder) WithRetry(policy provider.RetryPolicy) *AgentBuilder {
	b.config.Retry = policy
	return b
}

// WithLimits sets the budget of each session, over all its runs.
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

// WithOnInterrupted sets what a resumed run does about tools that were running when
// the session was interrupted.
func (b *AgentBuilder) WithOnInterrupted(policy agent.Policy) *AgentBuilder {
	b.config.OnInterrupted = policy
	return b
}

// WithCompaction sets when the conversation is summarised. The default is never.
func (b *AgentBuilder) WithCompaction(c agent.Compaction) *AgentBuilder {
	b.config.Compaction = c
	return b
}

// WithAttached sends images and files along with the prompt of each run.
func (b *AgentBuilder) WithAttached(parts ...transcript.Part) *AgentBuilder {
	b.config.Attached = parts
	return b
}

// WithToolChoice says which tool the model must call first for a prompt: the name of one,
// "any", "none" or "auto"; see agent.Config.ToolChoice. The default is that it decides.
func (b *AgentBuilder) WithToolChoice(choice string) *AgentBuilder {
	b.config.ToolChoice = choice
	return b
}

// WithEventBuffer lets the listener of WithEvents fall behind by n events; see
// agent.Config.OnEvent.
func (b *AgentBuilder) WithEventBuffer(n int) *AgentBuilder {
	b.config.EventBuffer = n
	return b
}

// WithoutKey lets Build succeed without a key. Such an agent can show its requests
// with [Agent.Preview]; its calls fail.
func (b *AgentBuilder) WithoutKey() *AgentBuilder {
	b.keyless = true
	return b
}

// WithNewRunID sets where the ids of runs come from; the default is a UUID of version 7.
func (b *AgentBuilder) WithNewRunID(f func() (string, error)) *AgentBuilder {
	b.config.NewRunID = f
	return b
}

// WithTraceContext sets the W3C trace context that the runs belong to.
func (b *AgentBuilder) WithTraceContext(parent, state string) *AgentBuilder {
	b.config.TraceParent, b.config.TraceState = parent, state
	return b
}

// WithNewID sets where the ids of new sessions come from; the default is session.NewID.
func (b *AgentBuilder) WithNewID(f func() (session.ID, error)) *AgentBuilder {
	b.config.NewID = f
	return b
}
