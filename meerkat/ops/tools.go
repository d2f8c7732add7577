package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// ToolOptions is what the tools need beside the agent that calls them.
type ToolOptions struct {
	// CheckModel returns why a sub-agent cannot have a model. Nil: it cannot have any
	// but that of its parent.
	CheckModel func(model string) error
	// Fetch reads a part of an artifact on behalf of a session: size bytes from offset.
	// It returns the part and the bytes of the whole. Nil: there are no artifacts.
	Fetch func(ctx context.Context, reader session.ID, artifact string, offset, size int) (part string,
		total int, err error)
}

// Tools returns the tools with which a model starts and controls operations:
// spawn_agent, fork, start_tool, await_ops, op_status, cancel_ops, fetch_result and steer. They act
// for the agent that [WithCaller] names in the context of a call, and offer the same to
// each agent of a tree: what an agent may not do is refused when it calls.
func Tools(o ToolOptions) []tool.Tool {
	s := toolset{o}
	tools := []tool.Tool{
		newTool(
			spawnTool,
			`Starts a sub-agent that works on a task of its own while you go on, and returns its id at once. The sub-agent has the same tools as you and knows nothing of this conversation, so put all it needs into the prompt. Its last message is its result; you get it in a later message, or from await_ops. Start independent sub-agents one after the other in one turn: they run at the same time.`,
			spawnSchema, s.spawnAgent,
		),
		newTool(
			forkTool,
			`Starts branches that each go on with a copy of this conversation and a prompt of their own, and returns their ids at once. Use it to try alternatives that need what was said so far. The last message of a branch is its result.`,
			forkSchema, s.forkAgent,
		),
		newTool(
			startTool,
			`Calls another tool in the background while you go on, and returns an operation id at once. You get its result in a later message, or from await_ops. Use it for tools that take long.`,
			startSchema, s.startTool,
		),
		newTool(
			awaitTool,
			`Waits for operations (sub-agents, branches and tools in the background) and returns their results. Without ids it waits for all that have not ended.`,
			awaitSchema, s.awaitOps,
		),
		newTool(
			statusTool,
			`Says where operations stand, without waiting: pending, running, completed, failed, cancelled or interrupted, and the last progress. Without ids it lists all.`,
			idsSchema, s.opStatus,
		),
		newTool(
			cancelTool,
			`Cancels operations with everything that they started, and waits until they have ended. What they did so far stays done.`,
			cancelSchema, s.cancelOps,
		),
		newTool(
			fetchTool,
			`Reads a result that was too large to be shown, by its artifact_id. A long result comes in parts: ask again with the offset that the answer names.`,
			fetchSchema, s.fetchResult,
		),
		newTool(
			steerTool,
			`Sends a directive to a running sub-agent. It reads it before its next turn, and may choose to ignore it. To redirect it for certain, cancel it and start another one.`,
			steerSchema, s.steerAgent,
		),
	}
	for i := range tools {
		tools[i].Timeout = callTimeout
	}
	return tools
}

// callTimeout bounds a call of a tool: operations have times and budgets of their own.
const callTimeout = 24 * time.Hour

// The names of the tools.
const (
	spawnTool  = "spawn_agent"
	forkTool   = "fork"
	startTool  = "start_tool"
	awaitTool  = "await_ops"
	statusTool = "op_status"
	cancelTool = "cancel_ops"
	fetchTool  = "fetch_result"
	steerTool  = "steer"
)

// SubmitsOperations reports whether the tool of that name starts operations.
func SubmitsOperations(name string) bool {
	return name == spawnTool || name == forkTool || name == startTool
}

// IsOperationTool reports whether the tool of that name starts operations or names some.
func IsOperationTool(name string) bool {
	switch name {
	case spawnTool, forkTool, startTool, awaitTool, statusTool, cancelTool, steerTool:
		return true
	default:
		return false
	}
}

const (
	idsProperty = `{"type":"array","items":{"type":"string"},"description":"Ids or names of operations that you started."}`

	spawnSchema = `{"type":"object","properties":{` +
		`"prompt":{"type":"string","description":"The task, with all that the sub-agent must know."},` +
		`"name":{"type":"string","description":"A short name to use in place of the id."},` +
		`"model":{"type":"string","description":"The model of the sub-agent, if not yours."},` +
		`"last_turns":{"type":"integer","minimum":1,"maximum":1000,"description":"Let it see your last replies, so many. Default: it sees nothing of this conversation."},` +
		`"tools_allowed":{"type":"array","items":{"type":"string"},"description":"The only tools that it may call. Default: all that you may call."},` +
		`"tools_denied":{"type":"array","items":{"type":"string"},"description":"Tools that it may not call. Not together with tools_allowed."},` +
		`"may_spawn":{"type":"boolean","description":"Whether it may start sub-agents itself. Default: true."},` +
		`"depends_on":{"type":"array","items":{"type":"string"},"description":"Ids or names of operations that must complete before it starts."},` +
		`"on_dependency_failure":{"type":"string","enum":["fail_dependents","cancel_dependents"],"description":"What becomes of it when one of them does not complete. Default: fail_dependents."},` +
		`"max_tokens":{"type":"integer","minimum":1,"description":"Its budget of tokens. Default: a share of yours."},` +
		`"max_turns":{"type":"integer","minimum":1,"description":"Its budget of model calls."},` +
		`"max_tool_calls":{"type":"integer","minimum":1,"description":"Its budget of tool calls."},` +
		`"timeout_seconds":{"type":"integer","minimum":1,"maximum":86400,"description":"It is stopped after this time."}` +
		`},"required":["prompt"],"additionalProperties":false}`
	forkSchema = `{"type":"object","properties":{"branches":{"type":"array","minItems":1,"maxItems":32,"items":{"type":"object","properties":{` +
		`"prompt":{"type":"string","description":"What this branch is asked."},` +
		`"name":{"type":"string","description":"A short name to use in place of the id."}` +
		`},"required":["prompt"],"additionalProperties":false},"description":"One entry for each branch."}},"required":["branches"],"additionalProperties":false}`
	startSchema = `{"type":"object","properties":{` +
		`"tool":{"type":"string","description":"The name of the tool."},` +
		`"arguments":{"type":"object","description":"The arguments of that tool. Default: none.","additionalProperties":true},` +
		`"name":{"type":"string","description":"A short name to use in place of the id."},` +
		`"timeout_seconds":{"type":"integer","minimum":1,"maximum":86400,"description":"It is stopped after this time."}` +
		`},"required":["tool"],"additionalProperties":false}`
	awaitSchema = `{"type":"object","properties":{"ids":` + idsProperty + `,` +
		`"mode":{"type":"string","enum":["all","any","first_success"],"description":"Wait for all (default), for any one, or for the first that completes."},` +
		`"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600,"description":"Return after this time even if they have not ended."}` +
		`},"additionalProperties":false}`
	idsSchema    = `{"type":"object","properties":{"ids":` + idsProperty + `},"additionalProperties":false}`
	cancelSchema = `{"type":"object","properties":{"ids":` + idsProperty +
		`},"required":["ids"],"additionalProperties":false}`
	fetchSchema = `{"type":"object","properties":{` +
		`"artifact_id":{"type":"string","description":"The artifact_id of a result."},` +
		`"offset":{"type":"integer","minimum":0,"description":"The byte to begin with. Default: 0."}` +
		`},"required":["artifact_id"],"additionalProperties":false}`
	steerSchema = `{"type":"object","properties":{` +
		`"id":{"type":"string","description":"Id or name of the sub-agent."},` +
		`"message":{"type":"string","description":"What it should do from now on."}` +
		`},"required":["id","message"],"additionalProperties":false}`
)

// Caller is the agent on whose behalf a tool is called.
type Caller struct {
	Node *Node
	// CallID is the id of the call.
	CallID string
	// Record makes submissions durable.
	Record Recorder
	// Report passes on events while the tool waits.
	Report func([]OpEvent)
	// Defs are the tools on offer, for checks of tool access.
	Defs []transcript.ToolDef
}

type callerKey struct{}

// WithCaller returns ctx for a tool call of an agent.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// errNoCaller says that a tool was called outside a run that has operations.
var errNoCaller = errors.New("this agent cannot start sub-agents")

// newTool makes a tool of a function over its decoded arguments.
func newTool[A any](name, description, schema string,
	f func(ctx context.Context, c Caller, args A) (any, error)) tool.Tool {
	return tool.Tool{
		Def: transcript.ToolDef{Name: name, Description: description, InputSchema: transcript.RawJSON(schema)},
		Func: func(ctx context.Context, raw []byte) (transcript.ToolResult, error) {
			c, ok := ctx.Value(callerKey{}).(Caller)
			if !ok {
				return transcript.ToolResult{}, errNoCaller
			}
			var args A
			if err := json.Unmarshal(raw, &args); err != nil {
				return transcript.ToolResult{}, fmt.Errorf("the arguments do not fit: %w", err)
			}
			out, err := f(ctx, c, args)
			if err != nil {
				return transcript.ToolResult{}, err
			}
			return transcript.ToolResult{Content: encodeJSON(out)}, nil
		},
	}
}

type toolset struct{ options ToolOptions }

type spawnArgs struct {
	Prompt              string                  `json:"prompt"`
	Name                string                  `json:"name"`
	Model               string                  `json:"model"`
	LastTurns           uint32                  `json:"last_turns"`
	ToolsAllowed        []string                `json:"tools_allowed"`
	ToolsDenied         []string                `json:"tools_denied"`
	MaySpawn            *bool                   `json:"may_spawn"`
	DependsOn           []OperationID           `json:"depends_on"`
	OnDependencyFailure DependencyFailurePolicy `json:"on_dependency_failure"`
	MaxTokens           uint64                  `json:"max_tokens"`
	MaxTurns            int                     `json:"max_turns"`
	MaxToolCalls        int                     `json:"max_tool_calls"`
	TimeoutSeconds      int                     `json:"timeout_seconds"`
}

// startedOperation is the answer to a submission.
type startedOperation struct {
	ID     OperationID `json:"id"`
	Name   string      `json:"name,omitempty"`
	Status OpStatus    `json:"status"`
}

func (s toolset) spawnAgent(_ context.Context, c Caller, in spawnArgs) (any, error) {
	access, err := in.accessPolicy(c.Defs)
	if err != nil {
		return nil, err
	}
	if in.Model != "" {
		if s.options.CheckModel == nil {
			return nil,
				fmt.Errorf("model %s: sub-agents have the model of their parent here; leave model out", in.Model)
		}
		if err := s.options.CheckModel(in.Model); err != nil {
			return nil, err
		}
	}
	spec := OperationSpec{
		Label: in.Name, Prompt: in.Prompt, Model: in.Model, ToolAccess: access,
		NoSpawn: in.MaySpawn != nil && !*in.MaySpawn, DependsOn: in.DependsOn,
		Policy: OperationPolicy{
			OnDependencyFailure: in.OnDependencyFailure, Timeout: time.Duration(in.TimeoutSeconds) * time.Second,
		},
		BudgetReservation: session.Limits{
			MaxTokens: in.MaxTokens, MaxTurns: in.MaxTurns, MaxToolCalls: in.MaxToolCalls,
		},
	}
	if in.LastTurns > 0 {
		turns := session.LastTurns(in.LastTurns)
		spec.Context = &turns
	}
	started, err := c.submitAll([]OperationSpec{spec}, nil)
	if err != nil {
		return nil, err
	}
	return started[0], nil
}

// accessPolicy returns which tools the sub-agent may call. Unknown names are an error.
func (in *spawnArgs) accessPolicy(defs []transcript.ToolDef) (tool.AccessPolicy, error) {
	policy := tool.InheritAccess()
	switch {
	case in.ToolsAllowed != nil && in.ToolsDenied != nil:
		return policy, errors.New("give tools_allowed or tools_denied, not both")
	case in.ToolsAllowed != nil:
		policy = tool.AllowList(in.ToolsAllowed...)
	case in.ToolsDenied != nil:
		policy = tool.DenyList(in.ToolsDenied...)
	}
	return policy, policy.Validate(defs)
}

// submitAll starts operations for the caller.
func (c Caller) submitAll(specs []OperationSpec, fork *session.ForkBudgetPolicy) ([]startedOperation, error) {
	ids, err := c.Node.Submit(specs, fork, c.Record)
	if err != nil {
		return nil, err
	}
	var started []startedOperation
	for _, s := range c.Node.describeAll(ids) {
		started = append(started, startedOperation{s.OpID, s.Label, s.Status})
	}
	return started, nil
}

type forkArgs struct {
	Branches []struct {
		Prompt string `json:"prompt"`
		Name   string `json:"name"`
	} `json:"branches"`
}

func (s toolset) forkAgent(_ context.Context, c Caller, in forkArgs) (any, error) {
	var specs []OperationSpec
	for _, b := range in.Branches {
		specs = append(specs, OperationSpec{
			Label: b.Name, Prompt: b.Prompt, Fork: true, ResultShape: BatchResult, ToolAccess: tool.InheritAccess(),
		})
	}
	started, err := c.submitAll(specs, c.Node.tree.manager.config.ForkBudget)
	if err != nil {
		return nil, err
	}
	return map[string]any{"branches": started}, nil
}
