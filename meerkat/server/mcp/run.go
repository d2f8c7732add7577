package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// RunInput are the arguments of meerkat_run.
type RunInput struct {
	Prompt       string `json:"prompt" jsonschema:"the task, for the agent's model"`
	SystemPrompt string `json:"system_prompt,omitempty" jsonschema:"replaces the configured system prompt"`
	Model        string `json:"model,omitempty" jsonschema:"the model to use; only models of the allowlist are accepted"`
	Effort       string `json:"effort,omitempty" jsonschema:"how hard the model thinks, such as low, medium or high"`
	MaxTokens    uint64 `json:"max_tokens,omitempty" jsonschema:"budget of tokens for the session, over all its runs"`
}

// ResumeInput are the arguments of meerkat_resume.
type ResumeInput struct {
	SessionID string `json:"session_id" jsonschema:"the id of a session, or its beginning"`
	Prompt    string `json:"prompt,omitempty" jsonschema:"what to say next; without it the model goes on where an answer is due"`
	Model     string `json:"model,omitempty" jsonschema:"another model, also of another provider, takes the session over"`
	Effort    string `json:"effort,omitempty" jsonschema:"how hard the model thinks, such as low, medium or high"`
	MaxTokens uint64 `json:"max_tokens,omitempty" jsonschema:"budget of tokens for the session, over all its runs"`
}

// RunOutput is the result of both. With an error it says how far the run got.
type RunOutput struct {
	Result     string   `json:"result" jsonschema:"the answer"`
	SessionID  string   `json:"session_id" jsonschema:"the session, for meerkat_resume; empty if there is none"`
	StopReason string   `json:"stop_reason,omitempty"`
	Usage      RunUsage `json:"usage"`
	Error      *RunFail `json:"error,omitempty" jsonschema:"why the run failed"`
}

// RunUsage is what a run used.
type RunUsage struct {
	Tokens    uint64 `json:"tokens"`
	Turns     int    `json:"turns" jsonschema:"calls of the model"`
	ToolCalls int    `json:"tool_calls"`
}

// RunFail says why a run failed.
type RunFail struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (s *Server) addRunTools() {
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: "meerkat_run", Title: "Run an agent", Annotations: actingHints(),
		Description: "Run an AI agent to complete a task. The agent can use tools and works autonomously until the task is complete.",
	}, func(ctx context.Context, r *sdk.CallToolRequest, in RunInput) (*sdk.CallToolResult, RunOutput, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return nil, RunOutput{}, fmt.Errorf("meerkat_run: prompt: it is empty; say something")
		}
		request := server.Request{
			Model: in.Model, Effort: in.Effort, System: in.SystemPrompt,
			Limits: session.Limits{MaxTokens: in.MaxTokens},
		}
		return s.runAgent(ctx, r, request, func(ctx context.Context, a *meerkat.Agent) (meerkat.RunResult, error) {
			return a.Run(ctx, in.Prompt)
		})
	})
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: "meerkat_resume", Title: "Resume a session", Annotations: actingHints(),
		Description: "Go on with a session of meerkat_run, of this or of another process, with or without a new prompt.",
	}, func(ctx context.Context, r *sdk.CallToolRequest, in ResumeInput) (*sdk.CallToolResult, RunOutput, error) {
		id, err := session.Find(ctx, s.host.Store, in.SessionID)
		if err != nil {
			return nil, RunOutput{}, err
		}
		request := server.Request{
			Session: id, Model: in.Model, Effort: in.Effort, Limits: session.Limits{MaxTokens: in.MaxTokens},
		}
		return s.runAgent(ctx, r, request, func(ctx context.Context, a *meerkat.Agent) (meerkat.RunResult, error) {
			return a.Resume(ctx, id, in.Prompt)
		})
	})
}

// actingHints describes a tool that may change what its agent's tools change.
func actingHints() *sdk.ToolAnnotations {
	destructive, open := true, true
	return &sdk.ToolAnnotations{DestructiveHint: &destructive, OpenWorldHint: &open}
}

// runAgent opens an agent, runs it, and returns what it did. What goes wrong in a run is a
// result for the model of the client, and no error of the protocol.
func (s *Server) runAgent(ctx context.Context, r *sdk.CallToolRequest, request server.Request,
	do func(context.Context, *meerkat.Agent) (meerkat.RunResult, error),
) (*sdk.CallToolResult, RunOutput, error) {
	ctx, run, err := s.runs.Begin(ctx, request.Session)
	if err != nil {
		return nil, RunOutput{}, err
	}
	defer run.End()
	progress := &progress{ctx: ctx, session: r.Session, token: r.Params.GetProgressToken()}
	request.Listen = func(e meerkat.Event) {
		run.SetSession(e.SessionID)
		progress.notifyClient(e)
	}
	a, release, err := s.host.Open(ctx, request)
	if err != nil {
		return nil, RunOutput{SessionID: string(request.Session)}, err
	}
	defer release()
	result, err := do(ctx, a)
	out := RunOutput{
		Result: result.Text, SessionID: string(result.SessionID), StopReason: string(result.StopReason),
		Usage: RunUsage{result.Usage.Total(), result.Turns, result.ToolCalls},
	}
	if err == nil {
		return nil, out, nil
	}
	out.Error = &RunFail{server.ErrorKind(err), err.Error()}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, out, nil
}
