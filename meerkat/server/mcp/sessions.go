package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The most that one call returns: sessions, messages, and bytes of each text.
const (
	maxSessions = 200
	maxMessages = 200
	maxText     = 64 << 10
)

// SessionsInput are the arguments of meerkat_sessions.
type SessionsInput struct {
	Limit  int `json:"limit,omitempty" jsonschema:"at most so many, 1 to 200; 50 if absent"`
	Offset int `json:"offset,omitempty" jsonschema:"leave out so many first"`
}

// SessionsOutput lists sessions, last updated first.
type SessionsOutput struct {
	Sessions []SessionInfo `json:"sessions"`
}

// SessionInfo describes one session.
type SessionInfo struct {
	SessionID string `json:"session_id"`
	Created   string `json:"created_at,omitempty"`
	Updated   string `json:"updated_at,omitempty"`
	Model     string `json:"model,omitempty"`
	Running   bool   `json:"running" jsonschema:"a run of this server is under way"`
	Problem   string `json:"problem,omitempty" jsonschema:"why the session cannot be read"`
}

// SessionInput names a session.
type SessionInput struct {
	SessionID string `json:"session_id" jsonschema:"the id of a session, or its beginning"`
}

// ReadOutput says where a session stands.
type ReadOutput struct {
	SessionInfo
	Result    string            `json:"result" jsonschema:"the last answer"`
	Messages  int               `json:"messages"`
	Tokens    uint64            `json:"tokens"`
	OpenCalls int               `json:"open_calls" jsonschema:"calls of tools without a result"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// HistoryInput are the arguments of meerkat_history.
type HistoryInput struct {
	SessionID string `json:"session_id" jsonschema:"the id of a session, or its beginning"`
	Offset    int    `json:"offset,omitempty" jsonschema:"the first message, from 0"`
	Limit     int    `json:"limit,omitempty" jsonschema:"at most so many, 1 to 200; 50 if absent"`
}

// HistoryOutput is a part of a conversation.
type HistoryOutput struct {
	SessionID string    `json:"session_id"`
	Total     int       `json:"total" jsonschema:"messages of the session"`
	Messages  []Message `json:"messages"`
}

// InterruptOutput says whether there was a run to interrupt.
type InterruptOutput struct {
	SessionID   string `json:"session_id"`
	Interrupted bool   `json:"interrupted" jsonschema:"a run was under way in this server and has been told to stop"`
}

func (s *Server) addSessionTools() {
	reading := &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: "meerkat_sessions", Title: "List sessions", Annotations: reading,
		Description: "List the sessions that are kept, last updated first.",
	}, s.listSessions)
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: "meerkat_read", Title: "Read a session", Annotations: reading,
		Description: "Say where a session stands: its last answer, its model, and whether it runs.",
	}, s.readSession)
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: "meerkat_history", Title: "Read a conversation", Annotations: reading,
		Description: "Return the messages of a session, with the calls of tools and their results.",
	}, s.readHistory)
	calm, closed := false, false
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: "meerkat_interrupt", Title: "Interrupt a run",
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: &calm, OpenWorldHint: &closed},
		Description: "End the run of a session that is under way in this server. The session can be resumed.",
	}, s.interruptRun)
}

// checkPage checks a limit and an offset and returns the limit to use.
func checkPage(tool string, limit, offset, most int) (int, error) {
	switch {
	case offset < 0:
		return 0, fmt.Errorf("%s: offset %d: it cannot be negative", tool, offset)
	case limit < 0 || limit > most:
		return 0, fmt.Errorf("%s: limit %d: want 1 to %d", tool, limit, most)
	case limit == 0:
		return 50, nil
	}
	return limit, nil
}

func (s *Server) listSessions(ctx context.Context, _ *sdk.CallToolRequest, in SessionsInput) (*sdk.CallToolResult,
	SessionsOutput, error) {
	limit, err := checkPage("meerkat_sessions", in.Limit, in.Offset, maxSessions)
	if err != nil {
		return nil, SessionsOutput{}, err
	}
	infos, err := s.host.Store.List(ctx, session.Filter{Limit: limit, Offset: in.Offset})
	out := SessionsOutput{Sessions: []SessionInfo{}}
	for _, i := range infos {
		out.Sessions = append(out.Sessions, s.describeSession(i))
	}
	return nil, out, err
}

func (s *Server) describeSession(i session.Info) SessionInfo {
	out := SessionInfo{SessionID: string(i.ID), Model: i.Model, Running: s.runs.Running(i.ID)}
	if i.Problem != nil {
		out.Problem = i.Problem.Error()
		return out
	}
	out.Created, out.Updated = i.Created.Format(time.RFC3339), i.Updated.Format(time.RFC3339)
	return out
}

func (s *Server) loadSession(ctx context.Context, prefix string) (session.Session, error) {
	id, err := session.Find(ctx, s.host.Store, prefix)
	if err != nil {
		return session.Session{}, err
	}
	return s.host.Store.Load(ctx, id)
}

func (s *Server) readSession(ctx context.Context, _ *sdk.CallToolRequest, in SessionInput) (*sdk.CallToolResult,
	ReadOutput, error) {
	found, err := s.loadSession(ctx, in.SessionID)
	if err != nil {
		return nil, ReadOutput{}, err
	}
	info := session.Info{Header: found.Header, Updated: found.Updated}
	if found.Prefix != nil {
		info.Model = found.Prefix.Model
	}
	return nil, ReadOutput{
		SessionInfo: s.describeSession(info), Result: clipText(lastAnswer(&found), maxText),
		Messages: len(found.Messages),
		Tokens:   found.Usage.Total(), OpenCalls: len(found.Ledger.Open()), Metadata: found.Metadata,
	}, nil
}

// lastAnswer returns the text of the last reply.
func lastAnswer(s *session.Session) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m := &s.Messages[i]; m.Role == transcript.RoleAssistant {
			return newMessage(i, m).Text
		}
	}
	return ""
}

func (s *Server) readHistory(ctx context.Context, _ *sdk.CallToolRequest, in HistoryInput) (*sdk.CallToolResult,
	HistoryOutput, error) {
	limit, err := checkPage("meerkat_history", in.Limit, in.Offset, maxMessages)
	if err != nil {
		return nil, HistoryOutput{}, err
	}
	found, err := s.loadSession(ctx, in.SessionID)
	if err != nil {
		return nil, HistoryOutput{}, err
	}
	out := HistoryOutput{SessionID: string(found.ID), Total: len(found.Messages), Messages: []Message{}}
	for i := in.Offset; i < min(len(found.Messages), in.Offset+limit); i++ {
		out.Messages = append(out.Messages, newMessage(i, &found.Messages[i]))
	}
	return nil, out, nil
}

func (s *Server) interruptRun(ctx context.Context, _ *sdk.CallToolRequest, in SessionInput) (*sdk.CallToolResult,
	InterruptOutput, error) {
	id, err := session.Find(ctx, s.host.Store, in.SessionID)
	if err != nil {
		return nil, InterruptOutput{}, err
	}
	return nil, InterruptOutput{string(id), s.runs.Interrupt(id)}, nil
}
