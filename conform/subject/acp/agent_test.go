package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/conform/toolserver"
)

// TestMain makes the test binary an agent or our tool server when it is started so.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "be-agent":
		agent := &smallAgent{sessions: map[sdk.SessionId]*talk{}}
		agent.conn = sdk.NewAgentSideConnection(agent, os.Stdout, os.Stdin)
		<-agent.conn.Done()
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "be-bad":
		beBad(os.Args[2])
		os.Exit(7)
	case len(os.Args) > 1 && os.Args[1] == "be-tools":
		if err := (toolserver.Config{}).Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ownProgram is the command line that starts this test binary as something else.
func ownProgram(t *testing.T, words ...string) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{program}, words...)
}

// smallAgent is a complete agent for Anthropic: it runs the tools that it is offered,
// asks for permission before each call, and keeps its sessions in files that it reads
// and writes through the client. It puts a prompt that follows an interrupted one into
// the same message.
type smallAgent struct {
	conn     *sdk.AgentSideConnection
	sessions map[sdk.SessionId]*talk
}

type talk struct {
	id       sdk.SessionId
	file     string
	tools    *mcp.ClientSession
	offered  []map[string]any
	Messages []saidMessage
}

type saidMessage struct {
	Role    string           `json:"role"`
	Content []map[string]any `json:"content"`
}

func (a *smallAgent) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber, AgentInfo: &sdk.Implementation{Name: "small", Version: "0.1"},
		AgentCapabilities: sdk.AgentCapabilities{LoadSession: true},
	}, nil
}

func (a *smallAgent) NewSession(ctx context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	const id = "only"
	t, err := openTalk(ctx, id, p.Cwd, p.McpServers)
	a.sessions[id] = t
	return sdk.NewSessionResponse{SessionId: id}, err
}

func (a *smallAgent) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	t, err := openTalk(ctx, p.SessionId, p.Cwd, p.McpServers)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	file, err := a.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: p.SessionId, Path: t.file})
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	a.sessions[p.SessionId] = t
	return sdk.LoadSessionResponse{}, json.Unmarshal([]byte(file.Content), &t.Messages)
}

func openTalk(ctx context.Context, id sdk.SessionId, dir string, servers []sdk.McpServer) (*talk, error) {
	t := &talk{id: id, file: filepath.Join(dir, "sessions", string(id)+".json")}
	for _, server := range servers {
		command := exec.Command(server.Stdio.Command, server.Stdio.Args...)
		for _, v := range server.Stdio.Env {
			command.Env = append(command.Env, v.Name+"="+v.Value)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "small", Version: "0.1"},
			nil).Connect(context.WithoutCancel(ctx), &mcp.CommandTransport{Command: command}, nil)
		if err != nil {
			return nil, err
		}
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return nil, err
		}
		t.tools = session
		for _, tool := range tools.Tools {
			t.offered = append(t.offered, map[string]any{"name": tool.Name, "description": tool.Description,
				"input_schema": tool.InputSchema})
		}
	}
	return t, nil
}

func (a *smallAgent) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	t := a.sessions[p.SessionId]
	t.addUser(map[string]any{"type": "text", "text": p.Prompt[0].Text.Text})
	for {
		reply, err := t.ask(ctx)
		if ctx.Err() != nil {
			return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled},
				nil //nolint:nilerr // being cancelled is an answer
		}
		if err != nil {
			return sdk.PromptResponse{}, err
		}
		t.Messages = append(t.Messages, reply)
		results := a.runTools(ctx, t, reply)
		if len(results) > 0 {
			t.addUser(results...)
		}
		switch {
		case ctx.Err() != nil:
			return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled},
				nil //nolint:nilerr // being cancelled is an answer
		case len(results) == 0:
			return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, a.keep(ctx, t)
		}
	}
}

func (a *smallAgent) keep(ctx context.Context, t *talk) error {
	data, err := json.Marshal(t.Messages)
	if err != nil {
		return err
	}
	_, err = a.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: t.id, Path: t.file, Content: string(data)})
	return err
}

func (t *talk) addUser(blocks ...map[string]any) {
	if n := len(t.Messages); n > 0 && t.Messages[n-1].Role == "user" {
		t.Messages[n-1].Content = append(t.Messages[n-1].Content, blocks...)
		return
	}
	t.Messages = append(t.Messages, saidMessage{"user", blocks})
}

func (t *talk) ask(ctx context.Context) (reply saidMessage, err error) {
	body := map[string]any{"model": "claude-opus-4-6", "max_tokens": 4096, "messages": t.Messages,
		"thinking": map[string]any{"type": "adaptive"}}
	if t.offered != nil {
		body["tools"] = t.offered
	}
	data, err := json.Marshal(body)
	if err != nil {
		return reply, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages",
		bytes.NewReader(data))
	if err != nil {
		return reply, err
	}
	r.Header = http.Header{"X-Api-Key": {os.Getenv("ANTHROPIC_API_KEY")}, "Anthropic-Version": {"2023-06-01"},
		"Content-Type": {"application/json"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(text, &reply)
}

// runTools answers the calls of a reply, and hands its text to the client.
func (a *smallAgent) runTools(ctx context.Context, t *talk, reply saidMessage) (results []map[string]any) {
	for _, block := range reply.Content {
		delete(block, "caller")
		switch block["type"] {
		case "text":
			_ = a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: t.id,
				Update: sdk.UpdateAgentMessageText(block["text"].(string))})
		case "tool_use":
			text, err := a.runTool(ctx, t, block)
			result := map[string]any{"type": "tool_result", "tool_use_id": block["id"], "content": text}
			if err != nil {
				result["content"], result["is_error"] = err.Error(), true
			}
			results = append(results, result)
		}
	}
	return results
}

func (a *smallAgent) runTool(ctx context.Context, t *talk, call map[string]any) (string, error) {
	name := call["name"].(string)
	answer, err := a.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
		SessionId: t.id, ToolCall: sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(call["id"].(string)), Title: &name},
		Options: []sdk.PermissionOption{
			{Kind: sdk.PermissionOptionKindRejectOnce, Name: "No", OptionId: "no"},
			{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes", OptionId: "yes"},
		},
	})
	if err != nil {
		return "", err
	}
	if answer.Outcome.Selected == nil || answer.Outcome.Selected.OptionId != "yes" {
		return "", errors.New("not permitted")
	}
	result, err := t.tools.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: call["input"]})
	if err != nil {
		return "", err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return "", errors.New("no text")
	}
	if result.IsError {
		return "", errors.New(text.Text)
	}
	return text.Text, nil
}

func (a *smallAgent) Cancel(context.Context, sdk.CancelNotification) error { return nil }
func (a *smallAgent) Authenticate(context.Context, sdk.AuthenticateRequest) (r sdk.AuthenticateResponse, err error) {
	return r, nil
}
func (a *smallAgent) CloseSession(context.Context, sdk.CloseSessionRequest) (r sdk.CloseSessionResponse, err error) {
	return r, nil
}
func (a *smallAgent) ListSessions(context.Context, sdk.ListSessionsRequest) (r sdk.ListSessionsResponse, err error) {
	return r, nil
}
func (a *smallAgent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (r sdk.ResumeSessionResponse, err error) {
	return r, nil
}
func (a *smallAgent) SetSessionConfigOption(context.Context,
	sdk.SetSessionConfigOptionRequest) (r sdk.SetSessionConfigOptionResponse, err error) {
	return r, nil
}
func (a *smallAgent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (r sdk.SetSessionModeResponse,
	err error) {
	return r, nil
}
