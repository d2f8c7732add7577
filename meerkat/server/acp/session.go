package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// openSession is a session that the client has open.
type openSession struct {
	id      session.ID
	conn    *connection
	servers []mcp.Server

	turn sync.Mutex // held while a prompt is answered

	mu      sync.Mutex
	mode    Mode
	model   string // chosen by the client; "": as it is
	stored  bool   // the store has it
	closed  bool   // closed, or opened again
	agent   *meerkat.Agent
	release func()
	allowed map[string]bool // tools that the client always allows
	updates updater
}

// openAgent builds the agent of the session unless there is one. The caller holds turn,
// or is the only one to know the session.
func (s *openSession) openAgent(ctx context.Context) (*meerkat.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, notOpen(sdk.SessionId(s.id))
	}
	if s.agent != nil {
		return s.agent, nil
	}
	request := server.Request{
		Model: s.model, Servers: s.servers, Approve: s.approveCall, Listen: s.updates.sendEvent,
		Tools: s.updates.planTools(),
	}
	if s.stored {
		request.Session = s.id
	} else {
		request.NewSession = s.id
	}
	var err error
	s.agent, s.release, err = s.conn.host.Open(ctx, request)
	return s.agent, err
}

// end ends the prompt that is being answered, the agent and its tool servers. No prompt is
// answered any more.
func (s *openSession) end() {
	s.conn.options.Runs.Interrupt(s.id)
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.agent != nil {
		s.release()
		s.agent = nil
	}
}

// invalid is an error about what the client sent.
func invalidParams(format string, args ...any) error {
	return sdk.NewInvalidParams(map[string]any{"error": fmt.Sprintf(format, args...)})
}

// addSession opens a session and builds its agent, so that what is wrong with it is said
// now.
func (c *connection) addSession(ctx context.Context, id session.ID, stored bool, cwd string,
	servers []sdk.McpServer) (*openSession, error) {
	if !filepath.IsAbs(cwd) {
		return nil, invalidParams("cwd %.200q: it is not an absolute path", cwd)
	}
	list, err := readServers(servers, cwd)
	if err != nil {
		return nil, err
	}
	s := &openSession{id: id, conn: c, servers: list, stored: stored, mode: c.options.Mode, allowed: map[string]bool{}}
	s.updates = updater{
		ctx: c.ctx, client: c.client, session: sdk.SessionId(id), calls: map[string]sdk.ToolCallId{},
		shown: map[int]bool{},
	}
	c.mu.Lock()
	old := c.sessions[id]
	full := len(c.sessions) >= maxSessions && old == nil
	c.mu.Unlock()
	if full {
		return nil, invalidParams("session: %d are open and no more are allowed; close one", maxSessions)
	}
	if old != nil { // opened again, perhaps with other servers
		old.end()
	}
	if _, err := s.openAgent(ctx); err != nil {
		return nil, describeError(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		s.release()
		return nil, errors.New("the connection has ended")
	}
	c.sessions[id] = s
	return s, nil
}

// readServers reads the MCP servers of the client.
func readServers(given []sdk.McpServer, cwd string) (list []mcp.Server, err error) {
	for _, g := range given {
		switch {
		case g.Stdio != nil:
			s := mcp.Server{
				Name: g.Stdio.Name, Command: g.Stdio.Command, Args: g.Stdio.Args, Dir: cwd, Env: map[string]string{},
			}
			for _, v := range g.Stdio.Env {
				s.Env[v.Name] = v.Value
			}
			list = append(list, s)
		case g.Http != nil:
			s := mcp.Server{Name: g.Http.Name, URL: g.Http.Url, Headers: map[string]string{}}
			for _, h := range g.Http.Headers {
				s.Headers[h.Name] = h.Value
			}
			list = append(list, s)
		default:
			return nil, invalidParams("mcpServers: only stdio and http are supported")
		}
	}
	return list, nil
}

func (c *connection) findSession(id sdk.SessionId) (*openSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[session.ID(id)]
	if s == nil {
		return nil, notOpen(id)
	}
	return s, nil
}

func notOpen(id sdk.SessionId) error {
	return invalidParams(
		"session %.100q: it is not open; open it with session/new, session/load or session/resume", id,
	)
}

// NewSession implements sdk.Agent. The session is stored with its first prompt.
func (c *connection) NewSession(ctx context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	id, err := session.NewID()
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s, err := c.addSession(ctx, id, false, p.Cwd, p.McpServers)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	return sdk.NewSessionResponse{
		SessionId: sdk.SessionId(id), Modes: s.modeState(), Models: s.modelState(), ConfigOptions: s.configOptions(),
	}, nil
}

// LoadSession implements sdk.AgentLoader: it opens a stored session and shows its
// conversation.
func (c *connection) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	s, stored, err := c.openStored(ctx, p.SessionId, p.Cwd, p.McpServers)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	s.updates.sendHistory(stored.Messages)
	return sdk.LoadSessionResponse{Modes: s.modeState(), Models: s.modelState(), ConfigOptions: s.configOptions()}, nil
}

// ResumeSession implements sdk.Agent: it opens a stored session and shows nothing.
func (c *connection) ResumeSession(ctx context.Context, p sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, _, err := c.openStored(ctx, p.SessionId, p.Cwd, p.McpServers)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	return sdk.ResumeSessionResponse{
		Modes: s.modeState(), Models: s.modelState(), ConfigOptions: s.configOptions(),
	}, nil
}

func (c *connection) openStored(ctx context.Context, given sdk.SessionId, cwd string,
	servers []sdk.McpServer) (*openSession, session.Session, error) {
	id, err := session.ParseID(string(given))
	if err != nil {
		return nil, session.Session{}, invalidParams("%v", err)
	}
	stored, err := c.host.Store.Load(ctx, id)
	if err != nil {
		return nil, stored, describeError(err)
	}
	s, err := c.addSession(ctx, id, true, cwd, servers)
	if err != nil {
		return nil, stored, err
	}
	// A prompt that was being answered has ended by now, and has stored how.
	stored, err = c.host.Store.Load(ctx, id)
	return s, stored, describeError(err)
}

// CloseSession implements sdk.Agent.
func (c *connection) CloseSession(_ context.Context, p sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := c.findSession(p.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	s.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[s.id] == s {
		delete(c.sessions, s.id)
	}
	return sdk.CloseSessionResponse{}, nil
}

// listed is how many sessions a page of a listing has.
const listed = 100

// ListSessions implements sdk.Agent. The cursor is the id of the last session before.
func (c *connection) ListSessions(ctx context.Context, p sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	infos, err := c.host.Store.List(ctx, session.Filter{})
	if err != nil {
		return out, describeError(err)
	}
	if p.Cursor != nil {
		at := slices.IndexFunc(infos, func(i session.Info) bool { return string(i.ID) == *p.Cursor })
		if at < 0 {
			return out, invalidParams("cursor %.100q: there is no such session; list from the beginning", *p.Cursor)
		}
		infos = infos[at+1:]
	}
	if len(infos) > listed {
		infos = infos[:listed]
		out.NextCursor = new(string(infos[listed-1].ID))
	}
	for _, i := range infos {
		if i.Problem == nil {
			out.Sessions = append(out.Sessions, sdk.SessionInfo{
				SessionId: sdk.SessionId(i.ID), Title: new(i.Model),
				UpdatedAt: new(i.Updated.Format(time.RFC3339)),
			})
		}
	}
	return out, nil
}
