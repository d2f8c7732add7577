package meerkat

import (
	"context"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// WithTool adds tools that are Go functions.
func (b *AgentBuilder) WithTool(tools ...tool.Tool) *AgentBuilder {
	b.tools = append(b.tools, tools...)
	return b
}

// WithHostedTools offers tools that the provider runs itself, by names of
// [transcript.HostedTools]. What they find stands in the replies and goes back to the
// provider as it came; another provider gets the text of the answers only.
func (b *AgentBuilder) WithHostedTools(names ...string) *AgentBuilder {
	for _, name := range names {
		b.tools = append(b.tools, tool.Hosted(name))
	}
	return b
}

// WithDispatcher adds the tools of d: anything that offers tools and answers
// their calls. Their names must differ from those of all other tools.
func (b *AgentBuilder) WithDispatcher(d tool.Dispatcher) *AgentBuilder {
	b.config.Tools = d
	return b
}

// WithMCPServer adds the tools of an MCP server that is a command. Build starts
// the command and [Agent.Close] ends it.
func (b *AgentBuilder) WithMCPServer(name, command string, args ...string) *AgentBuilder {
	return b.WithMCP(mcp.Options{}, mcp.Server{Name: name, Command: command, Args: args})
}

// WithMCP adds the tools of MCP servers, which are commands or addresses. The
// options of the last call apply to all servers. What a server lists but the
// agent cannot offer is in [Agent.ToolProblems].
func (b *AgentBuilder) WithMCP(o mcp.Options, servers ...mcp.Server) *AgentBuilder {
	b.mcp = o
	b.servers = append(b.servers, servers...)
	return b
}

// WithToolPolicy restricts which tools are on offer, wherever they come from,
// and sets limits of time and size for their calls.
func (b *AgentBuilder) WithToolPolicy(p tool.Policy) *AgentBuilder {
	b.policy = p
	return b
}

// WithApproval asks f before each call of a tool, wherever the tool comes from. The
// model reads the error of a refusal; the tools on offer stay the same.
func (b *AgentBuilder) WithApproval(f tool.Approve) *AgentBuilder {
	b.approve = f
	return b
}

// toolset holds the tools of an agent.
type toolset struct {
	dispatcher tool.Dispatcher // nil: no tools
	current    func(context.Context) []transcript.ToolDef
	router     *mcp.Router // nil: no MCP servers
	// unfit are the tools that the model's provider would refuse.
	unfit []mcp.Problem
}

// WithBadSchemasRefused makes Build fail when the model's provider would refuse a tool
// for its name or schema. Otherwise the tool is not offered, and [Agent.ToolProblems]
// says why.
func (b *AgentBuilder) WithBadSchemasRefused() *AgentBuilder {
	b.refusesSchema = true
	return b
}

// checkSchemas returns the tools that the model's provider would refuse.
func (b *AgentBuilder) checkSchemas(d tool.Dispatcher, entry catalog.Entry) (unfit []mcp.Problem, err error) {
	if d == nil {
		return nil, nil
	}
	_, problems := provider.FitTools(d.Defs(), entry)
	for _, p := range problems {
		if b.refusesSchema {
			return nil, &p
		}
		unfit = append(unfit, mcp.Problem{Tool: p.Tool, Why: entry.Provider + ": " + p.Reason})
	}
	return unfit, nil
}

// openToolset joins all tools under the policy. It starts the MCP servers last,
// when nothing else can be wrong any more but two tools of one name.
func (b *AgentBuilder) openToolset(ctx context.Context) (set toolset, err error) {
	if err := b.policy.Validate(); err != nil {
		return set, err
	}
	var sources []tool.Dispatcher
	if own := slices.Concat(b.tools, b.operationTools()); len(own) > 0 {
		functions, err := tool.New(own...)
		if err != nil {
			return set, err
		}
		sources = append(sources, functions)
	}
	if b.config.Tools != nil {
		sources = append(sources, b.config.Tools)
	}
	if len(b.servers) > 0 {
		if set.router, err = mcp.Open(ctx, b.servers, b.mcp); err != nil {
			return toolset{}, err
		}
		sources = append(sources, set.router)
	}
	if set.dispatcher, err = joinTools(sources, b.policy); err != nil {
		set.closeServers(ctx)
		return toolset{}, err
	}
	if set.router != nil {
		set.current = currentTools(set.dispatcher, set.router, b.policy)
	}
	if b.approve != nil && set.dispatcher != nil {
		set.dispatcher = tool.Approved(set.dispatcher, b.approve)
	}
	return set, nil
}

func (s toolset) closeServers(ctx context.Context) {
	if s.router != nil {
		s.router.CloseContext(ctx)
	}
}

// joinTools leaves a single source as it is where the policy asks nothing of it:
// a dispatcher of the caller's own may offer other tools later.
func joinTools(sources []tool.Dispatcher, policy tool.Policy) (d tool.Dispatcher, err error) {
	switch len(sources) {
	case 0:
		return nil, nil //nolint:nilnil // an agent without tools is legal
	case 1:
		d = sources[0]
	default:
		if d, err = tool.Join(sources...); err != nil {
			return nil, err
		}
	}
	if policy.IsZero() {
		return d, nil
	}
	return tool.Restrict(d, policy)
}

// currentTools returns a function for agent.Config.ToolsNow: the tools of d, with
// the changes that the servers of router have announced since, under policy.
// Several runs may call it at once.
func currentTools(d tool.Dispatcher, router *mcp.Router,
	policy tool.Policy) func(context.Context) []transcript.ToolDef {
	var mu sync.Mutex
	defs := d.Defs()
	return func(ctx context.Context) []transcript.ToolDef {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range router.Changes(ctx) {
			defs = applyChange(defs, c, policy)
		}
		return slices.Clone(defs)
	}
}

func applyChange(defs []transcript.ToolDef, c mcp.Change, policy tool.Policy) []transcript.ToolDef {
	defs = slices.DeleteFunc(
		slices.Clone(defs), func(d transcript.ToolDef) bool { return slices.Contains(c.Removed, d.Name) },
	)
	for _, altered := range c.Altered {
		if i := slices.IndexFunc(defs, func(d transcript.ToolDef) bool { return d.Name == altered.Name }); i >= 0 {
			defs[i] = altered
		}
	}
	for _, added := range c.Added {
		if policy.Allows(added.Name) {
			defs = append(defs, added)
		}
	}
	return defs
}
