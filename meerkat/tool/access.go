package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/internal/spelling"
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
	kind  accessKind
	names []string
}

type accessKind string

const (
	accessInherit accessKind = "inherit" // the zero value means the same
	accessAllow   accessKind = "allow_list"
	accessDeny    accessKind = "deny_list"
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
			unknown = append(unknown, fmt.Errorf("tool access: there is no tool named %q%s", name, spelling.Hint(name, known)))
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
		return json.Marshal(accessJSON{Type: accessInherit})
	}
	names := append([]string{}, p.names...) // an empty list is not null
	return json.Marshal(accessJSON{p.kind, &names})
}

// UnmarshalJSON reads the form above. An unknown type or member is an error: a policy
// that is only half understood must not grant anything.
func (p *AccessPolicy) UnmarshalJSON(data []byte) error {
	var in accessJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return fmt.Errorf("tool access: %w; want {\"type\":\"allow_list\",\"value\":[…]}", err)
	}
	switch {
	case in.Type != accessInherit && in.Type != accessAllow && in.Type != accessDeny:
		return fmt.Errorf("tool access: type %q is not known; %s", in.Type, spelling.Advice(string(in.Type), []string{string(accessInherit), string(accessAllow), string(accessDeny)}))
	case in.Type == accessInherit && in.Value != nil:
		return errors.New("tool access: inherit takes no value")
	case in.Type == accessInherit:
		*p = InheritAccess()
	case in.Value == nil:
		return fmt.Errorf("tool access: %s needs the names of tools as its value", in.Type)
	default:
		*p = AccessPolicy{in.Type, *in.Value}
	}
	return nil
}

type accessJSON struct {
	Type  accessKind `json:"type"`
	Value *[]string  `json:"value,omitempty"`
}

// WithAccess returns d with p enforced: the tools on offer stay as they are, and a call
// that p does not allow is answered with an error result that names those that it does.
// Names that d does not offer are an error, see [AccessPolicy.Validate].
func WithAccess(d Dispatcher, p AccessPolicy) (Dispatcher, error) {
	if err := p.Validate(d.Defs()); err != nil {
		return nil, err
	}
	return guarded{d, p}, nil
}

type guarded struct {
	Dispatcher
	access AccessPolicy
}

// Dispatch implements Dispatcher.
func (g guarded) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	defs := g.Defs()
	known := hasTool(defs, call.Name)
	if known && g.access.Allows(call.Name) {
		return g.Dispatcher.Dispatch(ctx, call)
	}
	allowed := slices.DeleteFunc(slices.Clone(defs), func(d transcript.ToolDef) bool { return !g.access.Allows(d.Name) })
	if !known {
		return UnknownTool(call, allowed)
	}
	return NotExecuted(call.ID, fmt.Sprintf("this agent may not call the tool %s; the tools that it may call are: %s", call.Name, listNames(allowed)))
}

// Traits describes the tool of that name, as [TraitsOf] asks.
func (g guarded) Traits(name string) Traits { return TraitsOf(g.Dispatcher, name) }
