package meerkat

import (
	"context"
	"io"
	"time"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The types that every caller uses, so that one import is enough.
type (
	// RunResult is the result of a run.
	RunResult = agent.Result
	// Event is one step of a run, sent when it happens.
	Event = agent.Event
	// SessionID names a session.
	SessionID = session.ID
)

// Agent runs prompts. It holds no conversation: several runs may go on at once,
// each with a session of its own.
type Agent struct {
	config agent.Config
	tools  toolset
	client io.Closer // nil: it is the caller's
}

// Close ends the MCP servers and the WebSockets of the agent. Runs must have ended. An
// agent without either needs no Close.
func (a *Agent) Close() { a.CloseContext(context.Background()) }

// CloseContext is Close for a caller who may lose patience: when ctx ends, servers that
// do not end by themselves are killed within a fraction of a second.
func (a *Agent) CloseContext(ctx context.Context) {
	if a.client != nil {
		_ = a.client.Close()
	}
	a.tools.closeServers(ctx)
}

// ToolProblems lists the tools that are not on offer, with the reason: no provider
// would accept them, the model's provider would not, or an optional MCP server did not
// start. A problem without a server is that of a model.
func (a *Agent) ToolProblems() []mcp.Problem {
	if a.tools.router == nil {
		return a.tools.unfit
	}
	return append(a.tools.router.Problems(), a.tools.unfit...)
}

// Model returns the model that Build decided on.
func (a *Agent) Model() string { return a.config.Model }

// Store returns where the sessions are.
func (a *Agent) Store() session.Store { return a.config.Store }

// WithAttached returns an agent like a that sends parts along with the prompts of its
// runs. Both share tools and servers; closing either closes them.
func (a *Agent) WithAttached(parts ...transcript.Part) *Agent {
	other := *a
	other.config.Attached = parts
	return &other
}

// Run starts a session with prompt and returns when the model has answered. Once
// there is a session, errors are *agent.RunError, and the RunResult says how far the
// run got.
func (a *Agent) Run(ctx context.Context, prompt string) (RunResult, error) {
	return agent.Run(ctx, a.config, prompt)
}

// Resume continues a stored session, also one of another process or of another
// model. The prompt may be empty when the last turn still needs an answer. What the
// provider gets before the messages stays as it was; an appended message tells the
// model about a changed system prompt and changed tools.
func (a *Agent) Resume(ctx context.Context, id SessionID, prompt string) (RunResult, error) {
	return agent.Resume(ctx, a.config, id, prompt)
}

// Fork starts a session that begins with the first n messages of another one,
// all of them if n is 0, and returns its id. Calls of tools whose results are cut
// off get a result that says so. The other session stays as it is.
func (a *Agent) Fork(ctx context.Context, id SessionID, n int) (SessionID, error) {
	fork, err := session.NewID()
	if err != nil {
		return "", err
	}
	now := a.config.Now
	if now == nil {
		now = time.Now
	}
	h, err := session.Branch(ctx, a.config.Store, id, n, fork, now().UTC().Round(0))
	return h.ID, err
}

// Compact summarises a stored session now, whatever its size; the whole history
// stays in the store. The RunResult's Text is the summary.
func (a *Agent) Compact(ctx context.Context, id SessionID) (RunResult, error) {
	return agent.Compact(ctx, a.config, id)
}

// Preview returns the request that Run would send for prompt. Nothing is sent
// and nothing is stored.
func (a *Agent) Preview(prompt string) (agent.Request, error) {
	return agent.Preview(a.config, prompt)
}

// PreviewResume returns the request that Resume would send, and what of the
// conversation it could not carry. Nothing is sent and nothing is stored.
func (a *Agent) PreviewResume(ctx context.Context, id SessionID, prompt string) (agent.Request, error) {
	return agent.PreviewResume(ctx, a.config, id, prompt)
}

// Health asks the provider whether it can be reached and accepts the key; that
// costs nothing. With a client that cannot ask, Health returns nil. Errors are those of
// provider.HealthChecker.
func (a *Agent) Health(ctx context.Context) error {
	if h, ok := a.config.Client.(provider.HealthChecker); ok {
		return h.Health(ctx)
	}
	return nil
}
