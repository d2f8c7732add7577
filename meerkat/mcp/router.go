package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Router offers the tools of several servers. It is a tool.Dispatcher and a
// tool.Describer, and safe for concurrent use.
type Router struct {
	servers  []*server
	defs     []transcript.ToolDef
	byTool   map[string]*server // by our tool names, as of the start
	traits   map[string]tool.Traits
	problems []Problem

	lifetime    context.Context // ends with Close
	endLifetime context.CancelFunc
}

// Info describes a server as it presented itself.
type Info struct {
	Server       string `json:"server"` // its name in the configuration
	Name         string `json:"name"`
	Version      string `json:"version"`
	Protocol     string `json:"protocol"`
	Instructions string `json:"instructions,omitempty"`
	Tools        int    `json:"tools"`
}

func serverInfo(s Server, r *sdk.InitializeResult, tools int) Info {
	info := Info{
		Server: s.Name, Protocol: r.ProtocolVersion, Instructions: clipText(r.Instructions, maxDescription),
		Tools: tools,
	}
	if r.ServerInfo != nil {
		info.Name, info.Version = clipText(r.ServerInfo.Name, maxName), clipText(r.ServerInfo.Version, maxName)
	}
	return info
}

// Change is how a server's list of tools differs from what was told before.
type Change struct {
	Server  string
	Added   []transcript.ToolDef // on offer to sessions that begin from now on
	Removed []string             // our names
	Altered []transcript.ToolDef
}

// Open starts or reaches all servers, side by side, and reads their tools: in
// the order of the servers, and of each in its own. If one that is not Optional
// fails, all are closed again and the errors are *ServerError, joined.
//
// When ctx ends, Open gives up; after Open has returned, ctx has no meaning. The
// caller closes the Router.
func Open(ctx context.Context, servers []Server, options Options) (*Router, error) {
	if err := validateServers(servers); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	r := &Router{byTool: map[string]*server{}, traits: map[string]tool.Traits{}}
	r.lifetime, r.endLifetime = context.WithCancel(context.WithoutCancel(ctx))
	shared := &progressRouter{}
	for _, config := range servers {
		r.servers = append(r.servers, newServer(config, options, shared))
	}
	lists, errs := r.dialAll(ctx)
	for i, s := range r.servers {
		switch {
		case errs[i] != nil && s.config.Optional:
			r.problems = append(r.problems, Problem{Server: s.config.Name, Why: errs[i].Error()})
			errs[i] = nil
		case errs[i] != nil:
			errs[i] = &ServerError{s.config.Name, errs[i]}
		}
		r.addServer(s, lists[i])
	}
	if err := errors.Join(errs...); err != nil {
		r.CloseContext(ctx)
		return nil, err
	}
	for i := range r.defs {
		r.defs[i].Deferred = options.DeferAbove > 0 && len(r.defs) > options.DeferAbove
	}
	return r, nil
}

func (r *Router) dialAll(ctx context.Context) ([]toolList, []error) {
	lists, errs := make([]toolList, len(r.servers)), make([]error, len(r.servers))
	var wg sync.WaitGroup
	for i, s := range r.servers {
		wg.Go(func() {
			lists[i], errs[i] = s.connectAndList(ctx)
		})
	}
	wg.Wait()
	return lists, errs
}

func (r *Router) addServer(s *server, list toolList) {
	s.offers, s.reported = indexByName(list.offers), indexByName(list.offers)
	r.problems = append(r.problems, list.problems...)
	for _, o := range list.offers {
		if r.byTool[o.def.Name] != nil {
			r.problems = append(r.problems, Problem{s.config.Name, o.name, "another tool has the same name"})
			continue
		}
		r.byTool[o.def.Name], r.traits[o.def.Name] = s, o.traits
		r.defs = append(r.defs, o.def)
	}
}

// Defs implements tool.Dispatcher: what was on offer when Open returned.
func (r *Router) Defs() []transcript.ToolDef { return slices.Clone(r.defs) }

// Traits implements tool.Describer. Idempotent and ReadOnly are what the server
// claims.
func (r *Router) Traits(name string) tool.Traits { return r.traits[name] }

// Problems says what was left out, and why.
func (r *Router) Problems() []Problem { return slices.Clone(r.problems) }

// Servers describes the servers that answered, in their order.
func (r *Router) Servers() []Info {
	var out []Info
	for _, s := range r.servers {
		s.mu.Lock()
		if s.info.Server != "" {
			out = append(out, s.info)
		}
		s.mu.Unlock()
	}
	return out
}

// Dispatch implements tool.Dispatcher. When ctx ends, the server is told to
// cancel. A server that ended is started again for the call.
func (r *Router) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	s := r.byTool[call.Name]
	if s == nil {
		return tool.UnknownTool(call, r.defs)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.lifetime, cancel)() //nolint:contextcheck // the router's end, beside that of the call
	return s.callTool(ctx, call)
}

// Changes reads the lists of servers that said theirs has changed, or that were
// started again, and returns what differs from what Changes and Open returned
// before. Defs stays as it is. A list that cannot be read now is asked for
// again the next time.
func (r *Router) Changes(ctx context.Context) []Change {
	var out []Change
	for _, s := range r.servers {
		if c, changed := s.takeChange(ctx); changed {
			out = append(out, c)
		}
	}
	return out
}

func (s *server) takeChange(ctx context.Context) (Change, bool) {
	s.mu.Lock()
	l, stale := s.connection, s.stale
	s.stale = false
	s.mu.Unlock()
	if stale && l != nil {
		ctx, cancel := context.WithTimeout(ctx, defaultStart)
		defer cancel()
		list, err := listTools(ctx, s.config, l.session)
		s.mu.Lock()
		if err != nil {
			s.stale = true
			s.log.Warn("mcp server: its changed tools cannot be read", "error", s.mask(err.Error()))
		} else {
			s.offers = indexByName(list.offers)
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := compareOffers(s.config.Name, s.reported, s.offers)
	s.reported = s.offers
	return c, len(c.Added)+len(c.Removed)+len(c.Altered) > 0
}

// compareOffers returns the differences, ordered by name.
func compareOffers(server string, before, after map[string]offer) Change {
	c := Change{Server: server}
	for name, o := range after {
		old, known := before[name]
		switch {
		case !known:
			c.Added = append(c.Added, o.def)
		case old.def.Description != o.def.Description || string(old.def.InputSchema) != string(o.def.InputSchema):
			c.Altered = append(c.Altered, o.def)
		}
	}
	for name := range before {
		if _, still := after[name]; !still {
			c.Removed = append(c.Removed, name)
		}
	}
	byName := func(a, b transcript.ToolDef) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(c.Added, byName)
	slices.SortFunc(c.Altered, byName)
	slices.Sort(c.Removed)
	return c
}

// Close ends all servers: calls that run are interrupted, processes that do not
// end by themselves are killed with all they started. It returns when they are
// gone, after Options.Grace and a little at most.
func (r *Router) Close() { r.CloseContext(context.Background()) }

// CloseContext is Close for a caller who may lose patience: when ctx ends, what still
// runs is killed within a fraction of a second.
func (r *Router) CloseContext(ctx context.Context) {
	r.endLifetime()
	var wg sync.WaitGroup
	for _, s := range r.servers {
		wg.Go(func() { s.close(ctx) })
	}
	wg.Wait()
}
