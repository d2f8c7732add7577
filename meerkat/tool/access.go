package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/internal/tagged"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// AccessPolicy says which of the offered tools an agent may call. Unlike a [Policy]
// it takes no tool off the list: providers bind a conversation to the list that it
// began with, so a sub-agent is shown the tools of its parent and a call that it may
// not make is refused. Names are exact. The zero value is [InheritAccess].
//
// Its JSON form is {"type":"inherit"}, {"type":"allow_list","value":["read"]} or
// {"type":"deny_list","value":["write"]}.
type AccessPolicy struct {
	kind  string
	names []string
}

const (
	accessInherit = "inherit" // the zero value means the same
	accessAllow   = "allow_list"
	accessDeny    = "deny_list"
)

// InheritAccess lets an agent call every tool that it is offered.
func InheritAccess() AccessPolicy { return AccessPolicy{kind: accessInherit} }

// AllowList lets an agent call these tools and no others; without names it may call
// none.
func AllowList(names ...string) AccessPolicy {
	return AccessPolicy{accessAllow, slices.Clone(names)}
}

// DenyList lets an agent call every tool but these.
func DenyList(names ...string) AccessPolicy { return AccessPolicy{accessDeny, slices.Clone(names)} }

// Allows reports whether the tool of that name may be called.
func (p AccessPolicy) Allows(name string) bool {
	switch p.kind {
	case accessAllow:
		return slices.Contains(p.names, name)
	case accessDeny:
		return !slices.Contains(p.names, name)
	default:
		return true
	}
}

// Validate reports every name that is not among defs, each with the tool that was
// probably meant.
func (p AccessPolicy) Validate(defs []transcript.ToolDef) error {
	known := toolNames(defs)
	var unknown []error
	for _, name := range p.names {
		if !slices.Contains(known, name) {
			unknown = append(unknown, fmt.Errorf(
				"tool access: there is no tool named %q%s", name, spelling.Hint(name, known),
			))
		}
	}
	return errors.Join(unknown...)
}

func toolNames(defs []transcript.ToolDef) []string {
	names := make([]string, len(defs))
	for i := range defs {
		names[i] = defs[i].Name
	}
	return names
}

// MarshalJSON writes the form above.
func (p AccessPolicy) MarshalJSON() ([]byte, error) {
	if p.kind != accessAllow && p.kind != accessDeny {
		return tagged.Encode(accessInherit, nil)
	}
	return tagged.Encode(p.kind, append([]string{}, p.names...)) // an empty list is not null
}

// UnmarshalJSON reads the form above; anything else is an error.
func (p *AccessPolicy) UnmarshalJSON(data []byte) error {
	var names []string
	kind, err := tagged.Decode(data, map[string]any{accessInherit: nil, accessAllow: &names, accessDeny: &names})
	if err != nil {
		return fmt.Errorf("tool access: %w", err)
	}
	*p = AccessPolicy{kind, names}
	return nil
}

// WithAccess returns d with p enforced: the tools on offer stay as they are, and a call
// that p does not allow is answered with an error result that names those that it does.
// A tool that the provider runs cannot be refused so, and is not offered instead.
// Names that d does not offer change nothing: [AccessPolicy.Validate] finds them where a
// policy is given, and later a tool may be gone.
func WithAccess(d Dispatcher, p AccessPolicy) Dispatcher { return guarded{d, p} }

type guarded struct {
	Dispatcher
	access AccessPolicy
}

// Defs implements Dispatcher.
func (g guarded) Defs() []transcript.ToolDef {
	return slices.DeleteFunc(
		slices.Clone(g.Dispatcher.Defs()),
		func(d transcript.ToolDef) bool { return d.Hosted && !g.access.Allows(d.Name) },
	)
}

// Dispatch implements Dispatcher.
func (g guarded) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	defs := g.Defs()
	known := hasTool(defs, call.Name)
	if known && g.access.Allows(call.Name) {
		return g.Dispatcher.Dispatch(ctx, call)
	}
	allowed := slices.DeleteFunc(
		slices.Clone(defs), func(d transcript.ToolDef) bool { return !g.access.Allows(d.Name) },
	)
	if !known {
		return UnknownTool(call, allowed)
	}
	return NotExecuted(call.ID, fmt.Sprintf(
		"this agent may not call the tool %s; the tools that it may call are: %s", call.Name, listNames(allowed),
	))
}

// Traits describes the tool of that name, as [TraitsOf] asks.
func (g guarded) Traits(name string) Traits { return TraitsOf(g.Dispatcher, name) }
