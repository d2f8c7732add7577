package rest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// SessionPath is the parameter of all operations on one session.
type SessionPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of a session."`
}

type (
	listSessionsInput struct {
		Limit  int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"At most so many."`
		Offset int `query:"offset" minimum:"0" maximum:"1000000000" default:"0" doc:"Leave out so many first."`
	}
	listSessionsOutput struct {
		Body struct {
			Sessions   []SessionSummary `json:"sessions" nullable:"false" doc:"Last updated first."`
			NextOffset *int             `json:"next_offset,omitempty" doc:"The offset of the next page; absent on the last."`
		}
	}
	sessionOutput struct{ Body *Session }
	historyInput  struct {
		SessionPath
		Limit  int `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"At most so many."`
		Offset int `query:"offset" minimum:"0" maximum:"1000000000" default:"0" doc:"The first item, from 0."`
	}
	historyOutput struct {
		Body struct {
			SessionID string        `json:"session_id" format:"uuid"`
			Total     int           `json:"total" doc:"Items of the session."`
			Items     []HistoryItem `json:"items" nullable:"false"`
		}
	}
	forkInput struct {
		SessionPath
		Body struct {
			Messages int `json:"messages,omitempty" minimum:"0" maximum:"1000000000" doc:"The fork begins with so many messages; 0 for all."`
		}
	}
	forkOutput struct {
		Location string `header:"Location" doc:"The new session."`
		Body     *Session
	}
)

func (s *Server) addSessionOperations() {
	huma.Register(
		s.api, newOperation("listSessions", http.MethodGet, "/sessions", "sessions", "List sessions"), s.listSessions,
	)
	huma.Register(
		s.api,
		newOperation(
			"getSession", http.MethodGet, "/sessions/{id}", "sessions", "Say where a session stands", 404, 409,
		),
		s.getSession,
	)
	remove := newOperation(
		"deleteSession", http.MethodDelete, "/sessions/{id}", "sessions", "Delete a session for good", 404, 409,
	)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(s.api, remove, s.deleteSession)
	huma.Register(
		s.api,
		newOperation(
			"getHistory", http.MethodGet, "/sessions/{id}/history", "sessions",
			"Return what happened in a session, with the steps of tools", 404, 409,
		),
		s.getHistory,
	)
	fork := newOperation(
		"forkSession", http.MethodPost, "/sessions/{id}/fork", "sessions",
		"Begin a session with the messages of another one", 404, 409, 413,
	)
	fork.DefaultStatus = http.StatusCreated
	huma.Register(s.api, fork, s.forkSession)
}

func (s *Server) listSessions(ctx context.Context, in *listSessionsInput) (*listSessionsOutput, error) {
	infos, err := s.host.Store.List(ctx, session.Filter{Limit: in.Limit + 1, Offset: in.Offset})
	if err != nil {
		return nil, problemOf(session.WrapStorage(err))
	}
	active, err := s.activeRuns(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	out := &listSessionsOutput{}
	if len(infos) > in.Limit {
		infos = infos[:in.Limit]
		next := in.Offset + in.Limit
		out.Body.NextOffset = &next
	}
	out.Body.Sessions = make([]SessionSummary, 0, len(infos))
	for i := range infos {
		out.Body.Sessions = append(out.Body.Sessions, newSummary(&infos[i], active[infos[i].ID]))
	}
	return out, nil
}

// activeRuns returns the runs that have not ended, by session.
func (s *Server) activeRuns(ctx context.Context) (map[session.ID]*server.Run, error) {
	runs, err := s.backend.Active(ctx)
	active := map[session.ID]*server.Run{}
	for i := range runs {
		active[runs[i].Session] = &runs[i]
	}
	return active, err
}

// newSummary describes a session. active is its run that has not ended, nil if there is
// none.
func newSummary(i *session.Info, active *server.Run) SessionSummary {
	out := SessionSummary{ID: string(i.ID), Status: "idle", Provider: i.Provider, Model: i.Model}
	if i.Forked != nil {
		out.ForkedFrom = string(i.Forked.ID)
	}
	out.CreatedAt, out.UpdatedAt = timeOrNil(i.Created), timeOrNil(i.Updated)
	switch {
	case i.Problem != nil:
		out.Status, out.Problem = "unreadable", i.Problem.Error()
	case active != nil:
		out.Status = string(active.Status)
	}
	return out
}

// loadSession returns a stored session and its run that has not ended. A session that no
// run has stored yet has an id and nothing else; see neverStored.
func (s *Server) loadSession(ctx context.Context, id string) (session.Session, *server.Run, error) {
	parsed, err := session.ParseID(id)
	if err != nil {
		return session.Session{}, nil, session.NotFound(session.ID(id))
	}
	newest, err := s.newestRun(ctx, parsed)
	if err != nil {
		return session.Session{}, nil, err
	}
	active := newest
	if newest != nil && newest.Status.Ended() {
		active = nil
	}
	found, err := s.host.Store.Load(ctx, parsed)
	if err != nil && newest != nil && newest.New && newest.Status != server.StatusCompleted {
		return session.Session{
			Header: session.Header{ID: parsed, Created: newest.Created}, Updated: newest.Created,
		}, active, nil
	}
	return found, active, session.WrapStorage(err)
}

// newestRun returns the last run of a session, nil if none is known.
func (s *Server) newestRun(ctx context.Context, id session.ID) (*server.Run, error) {
	runs, err := s.backend.Runs(ctx, id, "", 1)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &runs[0], nil
}

func (s *Server) getSession(ctx context.Context, in *SessionPath) (*sessionOutput, error) {
	found, active, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	return &sessionOutput{describeSession(&found, active)}, nil
}

func describeSession(s *session.Session, active *server.Run) *Session {
	info := session.Info{Header: s.Header, Updated: s.Updated}
	if s.Prefix != nil {
		info.Provider, info.Model = s.Prefix.Provider, s.Prefix.Model
	}
	out := &Session{
		SessionSummary: newSummary(&info, active), Result: lastAnswer(s), Messages: len(s.Messages),
		Tokens:    s.Usage.Total(),
		OpenCalls: len(s.Ledger.Open()), Metadata: s.Metadata, Budget: newBudget(s.Budget),
	}
	if active != nil {
		out.Run = newRun(active)
	}
	return out
}

// lastAnswer returns the text of the last reply.
func lastAnswer(s *session.Session) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m := &s.Messages[i]; m.Role == transcript.RoleAssistant {
			return m.String()
		}
	}
	return ""
}

func (s *Server) deleteSession(ctx context.Context, in *SessionPath) (*struct{}, error) {
	id, err := session.ParseID(in.ID)
	if err != nil {
		return nil, problemOf(session.NotFound(session.ID(in.ID)))
	}
	if err := s.backend.Forget(ctx, id); err != nil {
		return nil, problemOf(err)
	}
	return nil, problemOf(session.WrapStorage(s.host.Store.Delete(ctx, id)))
}

func (s *Server) getHistory(ctx context.Context, in *historyInput) (*historyOutput, error) {
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	items := session.Display(&found)
	out := &historyOutput{}
	out.Body.SessionID, out.Body.Total, out.Body.Items = string(found.ID), len(items), []HistoryItem{}
	for i := in.Offset; i < min(len(items), in.Offset+in.Limit); i++ {
		out.Body.Items = append(out.Body.Items, newHistoryItem(&items[i]))
	}
	return out, nil
}

func (s *Server) forkSession(ctx context.Context, in *forkInput) (*forkOutput, error) {
	from, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	if most := len(from.Messages); in.Body.Messages > most || most == 0 {
		return nil, newProblem(
			http.StatusUnprocessableEntity,
			fmt.Sprintf("body.messages: session %s has %d messages; a fork begins with 1 to that many", from.ID, most),
		)
	}
	id, err := session.NewID()
	if err != nil {
		return nil, problemOf(err)
	}
	if _, err := session.Branch(
		ctx, s.host.Store, from.ID, in.Body.Messages, id, s.host.Now().UTC().Round(0),
	); err != nil {
		return nil, problemOf(session.WrapStorage(err))
	}
	fork, err := s.host.Store.Load(ctx, id)
	return &forkOutput{"/sessions/" + string(id), describeSession(&fork, nil)}, problemOf(session.WrapStorage(err))
}
