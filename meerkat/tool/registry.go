package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Registry is a Dispatcher over Go functions. It does not change after New.
type Registry struct {
	defs  []transcript.ToolDef
	tools map[string]registered
}

type registered struct {
	Tool
	schema *Schema
}

// nameForm is the form of names that all three providers accept.
var nameForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// New returns a Registry that offers tools in the given order. A tool without
// an input schema takes an object of no members. A schema that cannot be one is
// an error here, and not a refused request later.
func New(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: make(map[string]registered, len(tools))}
	for _, t := range tools {
		if len(t.Def.InputSchema) == 0 {
			t.Def.InputSchema = transcript.RawJSON(`{"type":"object","properties":{}}`)
		}
		if err := r.addTool(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Registry) addTool(t Tool) error {
	name := t.Def.Name
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf(
			"tool %q: the name must be 1 to 64 letters, digits, _ or -, and begin with a letter or _", name,
		)
	case r.hasTool(name):
		return fmt.Errorf("tool %s: registered twice", name)
	case t.Func == nil:
		return fmt.Errorf("tool %s: no function", name)
	}
	schema, err := Compile(t.Def.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %s: the input schema %w", name, err)
	}
	r.tools[name] = registered{t, schema}
	r.defs = append(r.defs, t.Def)
	return nil
}

func (r *Registry) hasTool(name string) bool { _, ok := r.tools[name]; return ok }

// Defs implements Dispatcher.
func (r *Registry) Defs() []transcript.ToolDef { return slices.Clone(r.defs) }

// Traits implements Describer.
func (r *Registry) Traits(name string) Traits {
	t := r.tools[name]
	return Traits{Timeout: t.Timeout, Idempotent: t.Idempotent, ReadOnly: t.ReadOnly}
}

// Dispatch implements Dispatcher. Arguments that are not a JSON object or do not
// match the tool's schema are answered with an error result, and the tool does not
// run. A panic in the tool is an error result, too.
func (r *Registry) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	t, ok := r.tools[call.Name]
	if !ok {
		return UnknownTool(call, r.defs)
	}
	if refusal, refused := t.schema.RejectCall(call); refused {
		return refusal
	}
	return recoverPanic(call, func() transcript.ToolResult {
		out, err := t.Func(ctx, call.Args)
		return finishResult(ctx, call, out, err)
	})
}

// maxNames is the number of tools that listNames lists.
const maxNames = 100

// UnknownTool answers a call of a tool that is not among defs, and says what is.
func UnknownTool(call transcript.ToolCall, defs []transcript.ToolDef) transcript.ToolResult {
	return errorResult(call.ID, "there is no tool named %q; the tools are: %s", call.Name, listNames(defs))
}

// listNames lists the first tools by name, for an answer to a model.
func listNames(defs []transcript.ToolDef) string {
	if len(defs) == 0 {
		return "none"
	}
	names := strings.Join(toolNames(defs[:min(len(defs), maxNames)]), ", ")
	if more := len(defs) - maxNames; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

func argsProblem(args []byte) string {
	var raw json.RawMessage
	if err := json.Unmarshal(args, &raw); err != nil {
		return fmt.Sprintf("are not valid JSON (%v)", err)
	}
	if !jsontok.IsObject(args) {
		return "are not a JSON object"
	}
	return ""
}

func recoverPanic(call transcript.ToolCall, f func() transcript.ToolResult) transcript.ToolResult {
	done := make(chan transcript.ToolResult, 1)
	go func() {
		result := errorResult(call.ID, "tool %s ended without a result; it may have had effects", call.Name)
		defer func() {
			if p := recover(); p != nil {
				result = errorResult(call.ID, "tool %s panicked: %v; it may have had effects", call.Name, p)
			}
			done <- result
		}()
		result = f()
	}()
	return <-done
}

// finishResult makes a result of what a tool returned: the id of its call, and text
// in every error. A tool that gave up because the run did says
// so in its error's type, and the model is told what that means.
func finishResult(ctx context.Context, call transcript.ToolCall, out transcript.ToolResult,
	err error) transcript.ToolResult {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return Interrupted(call.ID)
	}
	if err != nil {
		out.IsError = true
		out.Content = err.Error()
	}
	if out.IsError && strings.TrimSpace(out.Content) == "" {
		out.Content = fmt.Sprintf("tool %s failed without a message", call.Name)
	}
	out.ToolUseID = call.ID
	return sanitizeResult(out, -1, -1)
}

// NotExecuted answers a call that never reached its tool; why ends the sentence.
func NotExecuted(id, why string) transcript.ToolResult {
	return errorResult(id, "not executed: %s", why)
}

// Interrupted answers a call that may or may not have run.
func Interrupted(id string) transcript.ToolResult {
	return errorResult(id, "interrupted: the tool may have run; check its effects before calling it again")
}

func errorResult(id, format string, args ...any) transcript.ToolResult {
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")
	return transcript.ToolResult{ToolUseID: id, Content: text, IsError: true}
}
