package tool

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Policy restricts which tools a run offers and limits their calls. Patterns are
// those of path.Match on tool names, such as "fs__*". The zero Policy restricts
// nothing.
type Policy struct {
	// Allow names the tools on offer; empty: all. Deny removes tools from them.
	Allow, Deny []string
	// Timeout limits calls of tools that have no limit of their own.
	Timeout time.Duration
	// Timeouts limits calls by tool name and overrides all other limits.
	Timeouts map[string]time.Duration
	// MaxText and MaxData limit results, as in Traits.
	MaxText, MaxData int
	// MaxProgress limits the progress of a call, as in Traits.
	MaxProgress int
}

// IsZero reports whether p restricts nothing.
func (p Policy) IsZero() bool {
	return len(p.Allow)+len(p.Deny)+len(p.Timeouts) == 0 && p.Timeout == 0 && p.MaxText == 0 && p.MaxData == 0 &&
		p.MaxProgress == 0
}

// Validate reports a pattern that cannot be read.
func (p Policy) Validate() error {
	for _, pattern := range slices.Concat(p.Allow, p.Deny) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("tool pattern %q: %w; * and ? stand for any characters", pattern, err)
		}
	}
	return nil
}

// Allows reports whether p leaves the tool of that name on offer. A pattern
// that Validate rejects matches nothing.
func (p Policy) Allows(name string) bool {
	return (len(p.Allow) == 0 || matchesAny(p.Allow, name)) && !matchesAny(p.Deny, name)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(
		patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil },
	)
}

// Restrict returns d under p. A call of a tool that p does not allow gets an
// error result, even if a session that began under another policy still offers
// it: definitions that were sent once never change. It fails as p.Validate does.
func Restrict(d Dispatcher, p Policy) (Dispatcher, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	r := restricted{d: d, policy: p}
	for _, def := range d.Defs() {
		if p.Allows(def.Name) {
			r.defs = append(r.defs, def)
		}
	}
	return r, nil
}

type restricted struct {
	d      Dispatcher
	policy Policy
	defs   []transcript.ToolDef
}

func (r restricted) Defs() []transcript.ToolDef { return slices.Clone(r.defs) }

func (r restricted) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	switch known := hasTool(r.d.Defs(), call.Name); {
	case known && !r.policy.Allows(call.Name):
		return NotExecuted(call.ID, fmt.Sprintf("the tool %s is not allowed in this run", call.Name))
	case !known:
		return UnknownTool(call, r.defs)
	}
	return r.d.Dispatch(ctx, call)
}

func hasTool(defs []transcript.ToolDef, name string) bool {
	return slices.ContainsFunc(defs, func(d transcript.ToolDef) bool { return d.Name == name })
}

func (r restricted) Traits(name string) Traits {
	t := TraitsOf(r.d, name)
	if own, ok := r.policy.Timeouts[name]; ok {
		t.Timeout = own
	} else if t.Timeout == 0 {
		t.Timeout = r.policy.Timeout
	}
	if r.policy.MaxText != 0 {
		t.MaxText = r.policy.MaxText
	}
	if r.policy.MaxData != 0 {
		t.MaxData = r.policy.MaxData
	}
	if r.policy.MaxProgress != 0 {
		t.MaxProgress = r.policy.MaxProgress
	}
	return t
}

// Join offers the tools of several dispatchers as one, in their order. Names
// must differ.
func Join(all ...Dispatcher) (Dispatcher, error) {
	j := joined{byTool: map[string]Dispatcher{}}
	var twice []string
	for _, d := range all {
		for _, def := range d.Defs() {
			if j.byTool[def.Name] != nil {
				twice = append(twice, def.Name)
			}
			j.byTool[def.Name] = d
			j.defs = append(j.defs, def)
		}
	}
	if twice != nil {
		return nil, errors.New("tools of one name: " + strings.Join(twice, ", ") + "; rename them or deny one side")
	}
	return j, nil
}

type joined struct {
	defs   []transcript.ToolDef
	byTool map[string]Dispatcher
}

func (j joined) Defs() []transcript.ToolDef { return slices.Clone(j.defs) }

func (j joined) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	if d := j.byTool[call.Name]; d != nil {
		return d.Dispatch(ctx, call)
	}
	return UnknownTool(call, j.defs)
}

func (j joined) Traits(name string) Traits {
	if d := j.byTool[name]; d != nil {
		return TraitsOf(d, name)
	}
	return Traits{}
}
