package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Operation is work that the agent of a session has started, such as a sub-agent.
type Operation struct {
	ID          string     `json:"id" format:"uuid" doc:"Of a sub-agent, also the id of its session."`
	ParentID    string     `json:"parent_id" format:"uuid" doc:"The session that started it: the one asked for, or a sub-agent of it."`
	Depth       int        `json:"depth" doc:"1 for an operation of the session that was asked for."`
	Label       string     `json:"label,omitempty" doc:"The name that the model gave it."`
	Kind        string     `json:"kind" enum:"tool_call,shell_command,sub_agent"`
	Status      string     `json:"status" enum:"pending,running,completed,failed,cancelled,interrupted" doc:"An interrupted one goes on with the next run of the session, unless its parent knows of the end."`
	Delivered   bool       `json:"delivered" doc:"Whether the model of the parent has the result."`
	SubmittedAt time.Time  `json:"submitted_at"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
	Model       string     `json:"model,omitempty"`
	Usage       *Usage     `json:"usage,omitempty" doc:"Of its session, without those that it started."`
	Error       string     `json:"error,omitempty"`
	ArtifactID  string     `json:"artifact_id,omitempty" doc:"Where a large result is."`
}

type (
	listOperationsInput struct {
		SessionPath
		Limit  int `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"At most so many."`
		Offset int `query:"offset" minimum:"0" maximum:"1000000000" default:"0" doc:"Leave out so many first."`
	}
	cancelOperationInput struct {
		SessionPath
		Operation string `path:"operation" format:"uuid" doc:"The id of an operation of the session, or of one below."`
	}
	cancelOperationOutput struct{ Body *Operation }
	listOperationsOutput  struct {
		Body struct {
			Operations []Operation `json:"operations" nullable:"false" doc:"In the order of submission; each is followed by those that it started."`
			NextOffset *int        `json:"next_offset,omitempty" doc:"The offset of the next page; absent on the last."`
		}
	}
)

func (s *Server) addOperationOperations() {
	huma.Register(
		s.api,
		newOperation(
			"listOperations", http.MethodGet, "/sessions/{id}/operations", "operations",
			"List what the agent has started, and what that has started", 404, 409,
		),
		s.listOperations,
	)
	cancel := newOperation(
		"cancelOperation", http.MethodPost, "/sessions/{id}/operations/{operation}/cancel", "operations",
		"Cancel an operation, with all that it has started", 404, 409, 503,
	)
	cancel.DefaultStatus = http.StatusAccepted
	cancel.Description = "The answer comes at once and has the operation as it was. The operation ends soon, as cancelled, and the model of its parent learns of it. The run goes on."
	huma.Register(s.api, cancel, s.cancelOperation)
}

func (s *Server) cancelOperation(ctx context.Context, in *cancelOperationInput) (*cancelOperationOutput, error) {
	found, active, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	running := found.ID
	if active == nil {
		if running, err = s.activeAncestor(ctx, &found); err != nil {
			return nil, problemOf(err)
		}
	}
	walk := newOperationWalk(s.host.Store, &found, running != "", math.MaxInt)
	if err := walk.visitSession(ctx, &found, 1); err != nil {
		return nil, problemOf(err)
	}
	i := slices.IndexFunc(walk.found, func(o Operation) bool { return o.ID == in.Operation })
	switch {
	case i < 0:
		return nil, newProblem(
			http.StatusNotFound,
			fmt.Sprintf(
				"operation %.80s: session %s has started no such operation; list its operations", in.Operation,
				found.ID,
			),
		)
	case running == "":
		return nil, problemOf(&server.NotRunningError{Session: found.ID})
	case walk.found[i].EndedAt != nil && walk.found[i].Status != string(ops.Interrupted):
		return nil, newProblem(
			http.StatusConflict,
			fmt.Sprintf(
				"operation %s: it has ended as %s; there is nothing to cancel", in.Operation, walk.found[i].Status,
			),
		)
	}
	if _, err := s.backend.CancelOperation(ctx, running, session.ID(in.Operation)); err != nil {
		return nil, problemOf(err)
	}
	return &cancelOperationOutput{&walk.found[i]}, nil
}

func (s *Server) listOperations(ctx context.Context, in *listOperationsInput) (*listOperationsOutput, error) {
	found, active, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	walk := newOperationWalk(s.host.Store, &found, active != nil, in.Offset+in.Limit+1)
	if !walk.active {
		running, err := s.activeAncestor(ctx, &found)
		if err != nil {
			return nil, problemOf(err)
		}
		walk.active = running != ""
	}
	if err := walk.visitSession(ctx, &found, 1); err != nil {
		return nil, problemOf(err)
	}
	out := &listOperationsOutput{}
	end := min(len(walk.found), in.Offset+in.Limit)
	out.Body.Operations = append([]Operation{}, walk.found[min(in.Offset, end):end]...)
	if len(walk.found) > end {
		out.Body.NextOffset = &end
	}
	return out, nil
}

// maxLevels bounds trees: damaged headers could name one another.
const maxLevels = 16

// activeAncestor returns the session whose run a sub-agent belongs to, "" if none is under
// way.
func (s *Server) activeAncestor(ctx context.Context, of *session.Session) (session.ID, error) {
	active, err := s.activeRuns(ctx)
	above := of.Parent
	for range maxLevels {
		if err != nil || above == nil {
			return "", err
		}
		if active[above.ID] != nil {
			return above.ID, nil
		}
		var parent *session.Session
		if parent, err = loadChild(ctx, s.host.Store, above.ID); parent == nil {
			return "", err
		}
		above = parent.Parent
	}
	return "", err
}

// operationWalk collects the operations of a tree, at most as many as it is told to.
type operationWalk struct {
	store  session.Store
	active bool // a run of the tree is under way
	most   int
	seen   map[session.ID]bool
	found  []Operation
}

// newOperationWalk begins a walk below a session.
func newOperationWalk(store session.Store, top *session.Session, active bool, most int) *operationWalk {
	return &operationWalk{store: store, active: active, most: most, seen: map[session.ID]bool{top.ID: true}}
}

// visitSession adds the operations of a session and of its sub-agents.
func (w *operationWalk) visitSession(ctx context.Context, s *session.Session, depth int) error {
	for _, o := range s.Operations() {
		if len(w.found) >= w.most || w.seen[o.ID] {
			continue
		}
		w.seen[o.ID] = true
		child, err := loadChild(ctx, w.store, o.ID)
		if err != nil {
			return err
		}
		w.found = append(w.found, describeOperation(s.ID, depth, &o, child, w.active))
		if child != nil && depth < maxLevels {
			if err := w.visitSession(ctx, child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadChild returns a session of a tree, nil if it does not exist or cannot be read: one
// that is damaged must not hide the others.
func loadChild(ctx context.Context, store session.Store, id session.ID) (*session.Session, error) {
	s, err := store.Load(ctx, id)
	switch {
	case err == nil:
		return &s, nil
	case errors.Is(err, session.ErrNotFound), errors.As(
		err, new(*session.CorruptError),
	), errors.As(err, new(*session.VersionError)):
		return nil, nil
	default:
		return nil, err
	}
}

// describeOperation says where an operation stands: as its parent has recorded, or as its
// own session says. child is nil if there is none.
func describeOperation(parent session.ID, depth int, o *session.OperationInfo, child *session.Session,
	active bool) Operation {
	out := Operation{
		ID: string(o.ID), ParentID: string(parent), Depth: depth, Label: o.Label, Delivered: o.Delivered,
		SubmittedAt: o.At, Kind: string(ops.SubAgent),
	}
	var spec ops.OperationSpec
	if json.Unmarshal(o.Spec, &spec) == nil && spec.Kind != "" { // a damaged one is that of a sub-agent
		out.Kind, out.Model = string(spec.Kind), spec.Model
	}
	out.Status = string(ops.Interrupted)
	switch {
	case child != nil:
		describeChild(&out, child, active)
	case active && spec.Kind == ops.ToolCall:
		out.Status = string(ops.Running)
	case active:
		out.Status = string(ops.Pending)
	}
	if e := o.End; e != nil {
		out.Status, out.Error, out.ArtifactID = e.Status, e.Error, e.Artifact
		out.StartedAt, out.EndedAt = timeOrNil(e.StartedAt), timeOrNil(e.EndedAt)
	}
	return out
}

// describeChild says of an operation what its session does.
func describeChild(out *Operation, s *session.Session, active bool) {
	out.StartedAt = timeOrNil(s.Created)
	if s.Prefix != nil {
		out.Model = s.Prefix.Model
	}
	out.Usage = &Usage{s.Usage.InputTokens, s.Usage.OutputTokens}
	end := lastRunEnd(s)
	if end == nil {
		if active {
			out.Status = string(ops.Running)
		}
		return
	}
	out.Status, out.EndedAt = string(ops.Completed), timeOrNil(end.At)
	for _, e := range s.Errors {
		if e.RunID != end.RunID {
			continue
		}
		out.Status, out.Error = string(ops.Failed), e.Message
		if e.Kind == "interrupted" {
			out.Status = string(ops.Interrupted)
		}
	}
}

// lastRunEnd returns the end of the last run of a session, nil if it has not ended.
func lastRunEnd(s *session.Session) *session.RunEnd {
	if len(s.Runs) == 0 || len(s.RunEnds) == 0 {
		return nil
	}
	end := &s.RunEnds[len(s.RunEnds)-1]
	if end.RunID != s.Runs[len(s.Runs)-1].ID {
		return nil
	}
	return end
}
