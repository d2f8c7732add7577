// Package tool runs the tools that a model calls: a registry of Go functions,
// and a dispatcher that runs the calls of one turn side by side.
//
// Whatever goes wrong in a tool is an answer to the model, not an error of the
// run (seed 001 §13): every call gets exactly one result, so that no tool_use
// is ever left without its pair.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Func is a tool. args is a valid JSON object, byte for byte as the model
// wrote it; the Func must not change it. The result needs no ToolUseID. An
// error becomes an error result with the error's text.
type Func func(ctx context.Context, args []byte) (transcript.ToolResult, error)

// Tool is a Func and how it is offered to the model.
type Tool struct {
	Def  transcript.ToolDef
	Func Func
}

// Dispatcher offers tools and answers calls. It is safe for concurrent use.
type Dispatcher interface {
	// Defs returns the tools on offer, always in the same order.
	Defs() []transcript.ToolDef
	// Dispatch answers one call. It always returns a result for call.ID; what
	// goes wrong is an error result.
	Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult
}

// Registry is a Dispatcher over Go functions. It does not change after New.
type Registry struct {
	defs  []transcript.ToolDef
	funcs map[string]Func
}

// nameForm is what all three providers accept (reference A-21, O- and G-rules).
var nameForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// New returns a Registry that offers tools in the given order. A tool without
// an input schema takes an object of no members.
func New(tools ...Tool) (*Registry, error) {
	r := &Registry{funcs: make(map[string]Func, len(tools))}
	for _, t := range tools {
		if len(t.Def.InputSchema) == 0 {
			t.Def.InputSchema = transcript.RawJSON(`{"type":"object","properties":{}}`)
		}
		if err := r.check(t); err != nil {
			return nil, err
		}
		r.funcs[t.Def.Name] = t.Func
		r.defs = append(r.defs, t.Def)
	}
	return r, nil
}

func (r *Registry) check(t Tool) error {
	switch name := t.Def.Name; {
	case !nameForm.MatchString(name):
		return fmt.Errorf("tool %q: the name must be 1 to 64 letters, digits, _ or -, and begin with a letter or _", name)
	case r.funcs[name] != nil:
		return fmt.Errorf("tool %s: registered twice", name)
	case t.Func == nil:
		return fmt.Errorf("tool %s: no function", name)
	case !isObject(t.Def.InputSchema):
		return fmt.Errorf("tool %s: the input schema is not a JSON object", name)
	}
	return nil
}

// Defs implements Dispatcher.
func (r *Registry) Defs() []transcript.ToolDef { return slices.Clone(r.defs) }

// Dispatch implements Dispatcher. Arguments that are no JSON object are never
// handed to the tool (DESIGN §3.3); a panic in the tool is an error result.
func (r *Registry) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	f := r.funcs[call.Name]
	if f == nil {
		return failed(call.ID, "there is no tool named %q; the tools are: %s", call.Name, r.names())
	}
	if problem := argsProblem(call.Args); problem != "" {
		return failed(call.ID, "tool %s was not executed: its arguments %s", call.Name, problem)
	}
	return run(ctx, f, call)
}

func (r *Registry) names() string {
	var names []string
	for _, d := range r.defs {
		names = append(names, d.Name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

func argsProblem(args []byte) string {
	var raw json.RawMessage
	if err := json.Unmarshal(args, &raw); err != nil {
		return fmt.Sprintf("are not valid JSON (%v)", err)
	}
	if !isObject(args) {
		return "are not a JSON object"
	}
	return ""
}

func isObject(value []byte) bool {
	return json.Valid(value) && bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("{"))
}

// run calls f so that neither a panic nor runtime.Goexit takes the run along.
func run(ctx context.Context, f Func, call transcript.ToolCall) transcript.ToolResult {
	done := make(chan transcript.ToolResult, 1)
	go func() {
		result := failed(call.ID, "tool %s ended without a result; it may have had effects", call.Name)
		defer func() {
			if p := recover(); p != nil {
				result = failed(call.ID, "tool %s panicked: %v; it may have had effects", call.Name, p)
			}
			done <- result
		}()
		out, err := f(ctx, call.Args)
		result = settle(call, out, err)
	}()
	return <-done
}

// settle makes what a tool returned fit to be sent: the id of its call, valid
// UTF-8 (tool output is mended here, at intake, and never later; regressions.md
// R33), and text in every error (reference A-47).
func settle(call transcript.ToolCall, out transcript.ToolResult, err error) transcript.ToolResult {
	if err != nil {
		out.IsError = true
		out.Content = err.Error()
	}
	if out.IsError && strings.TrimSpace(out.Content) == "" {
		out.Content = fmt.Sprintf("tool %s failed without a message", call.Name)
	}
	out.ToolUseID = call.ID
	out.Content = strings.ToValidUTF8(out.Content, "\uFFFD")
	return out
}

// NotExecuted answers a call that no tool has seen.
func NotExecuted(id, why string) transcript.ToolResult { return failed(id, "not executed: %s", why) }

// Interrupted answers a call of which nobody knows whether it ran.
func Interrupted(id string) transcript.ToolResult {
	return failed(id, "interrupted: the tool may have run; check its effects before calling it again")
}

func failed(id, format string, args ...any) transcript.ToolResult {
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")
	return transcript.ToolResult{ToolUseID: id, Content: text, IsError: true}
}
