package meerkat

import (
	"context"
	"path"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// WithTool adds a tool of Go code.
func (b *AgentBuilder) WithTool(t tool.Tool) *AgentBuilder {
	b.tools = append(b.tools, t)
	return b
}

// WithDispatcher adds the tools of d: anything that offers tools and answers
// their calls. Names must differ from those of other tools.
func (b *AgentBuilder) WithDispatcher(d tool.Dispatcher) *AgentBuilder {
	b.config.Tools = d
	return b
}

// WithMCPServer adds the tools of an MCP server that is a command (seed 001
// §12). Build starts it, Agent.Close ends it.
func (b *AgentBuilder) WithMCPServer(name, command string, args ...string) *AgentBuilder {
	return b.WithMCP(mcp.Options{}, mcp.Server{Name: name, Command: command, Args: args})
}

// WithMCP adds the tools of MCP servers, commands or addresses. The options
// given last hold for all servers.
func (b *AgentBuilder) WithMCP(o mcp.Options, servers ...mcp.Server) *AgentBuilder {
	b.mcp = o
	b.servers = append(b.servers, servers...)
	return b
}

// WithToolPolicy narrows the tools, wherever they come from, and bounds their
// calls.
func (b *AgentBuilder) WithToolPolicy(p tool.Policy) *AgentBuilder {
	b.policy = p
	return b
}

// WithToolsNow asks f, after each round of tools, which there are; see
// agent.Config.ToolsNow. Servers of WithMCP are asked without it.
func (b *AgentBuilder) WithToolsNow(f func(context.Context) []transcript.ToolDef) *AgentBuilder {
	b.config.ToolsNow = f
	return b
}

// toolset is the tools of an agent, and what ends with it.
type toolset struct {
	tools tool.Dispatcher // nil: none
	now   func(context.Context) []transcript.ToolDef
	close func()
}

// toolset puts all tools together.
func (b *AgentBuilder) toolset(ctx context.Context) (toolset, error) {
	set := toolset{now: b.config.ToolsNow, close: func() {}}
	var all []tool.Dispatcher
	if len(b.tools) > 0 {
		functions, err := tool.New(b.tools...)
		if err != nil {
			return set, err
		}
		all = append(all, functions)
	}
	if b.config.Tools != nil {
		all = append(all, b.config.Tools)
	}
	var router *mcp.Router
	if len(b.servers) > 0 {
		var err error
		if router, err = mcp.Open(ctx, b.servers, b.mcp); err != nil {
			return set, err
		}
		set.close = router.Close
		all = append(all, router)
	}
	var err error
	if set.tools, err = together(all, b.policy); err != nil {
		set.close()
		return set, err
	}
	if router != nil && set.now == nil {
		set.now = ToolsNow(set.tools, router, b.policy)
	}
	return set, nil
}

func together(all []tool.Dispatcher, policy tool.Policy) (d tool.Dispatcher, err error) {
	switch len(all) {
	case 0:
		return nil, nil //nolint:nilnil // no tools are legal
	case 1:
		d = all[0]
	default:
		if d, err = tool.Join(all...); err != nil {
			return nil, err
		}
	}
	if narrows(policy) {
		return tool.Restrict(d, policy)
	}
	return d, nil
}

func narrows(p tool.Policy) bool {
	return len(p.Allow)+len(p.Deny)+len(p.Timeouts) > 0 || p.Timeout != 0 || p.MaxText != 0 || p.MaxData != 0
}

// ToolsNow returns a function for agent.Config.ToolsNow: the tools of d, of
// which those of router change when their servers say so, under policy. It may
// serve several runs at once.
func ToolsNow(d tool.Dispatcher, router *mcp.Router, policy tool.Policy) func(context.Context) []transcript.ToolDef {
	var mu sync.Mutex
	now := d.Defs()
	return func(ctx context.Context) []transcript.ToolDef {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range router.Changes(ctx) {
			now = changed(now, c, policy)
		}
		return slices.Clone(now)
	}
}

func changed(defs []transcript.ToolDef, c mcp.Change, p tool.Policy) []transcript.ToolDef {
	defs = slices.DeleteFunc(slices.Clone(defs), func(d transcript.ToolDef) bool { return slices.Contains(c.Removed, d.Name) })
	for _, altered := range c.Altered {
		if i := slices.IndexFunc(defs, func(d transcript.ToolDef) bool { return d.Name == altered.Name }); i >= 0 {
			defs[i] = altered
		}
	}
	for _, added := range c.Added {
		if (len(p.Allow) == 0 || matches(p.Allow, added.Name)) && !matches(p.Deny, added.Name) {
			defs = append(defs, added)
		}
	}
	return defs
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil })
}
