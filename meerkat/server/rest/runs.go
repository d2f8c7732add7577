package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// SubmitHeaders are the headers of requests that start a run.
type SubmitHeaders struct {
	WaitHeader
	Key         string `header:"Idempotency-Key" maxLength:"255" doc:"Makes the request repeatable: the same key with the same request is the same run."`
	TraceParent string `header:"traceparent" doc:"W3C trace context that the spans of the run belong to."`
	TraceState  string `header:"tracestate"`
}

// WaitHeader lets a client wait for the end of a run.
type WaitHeader struct {
	Prefer string `header:"Prefer" doc:"wait=N waits at most N seconds, 600 at most, for the run to end."`
}

type (
	newSessionInput struct {
		SubmitHeaders
		Body NewSession
	}
	newRunInput struct {
		SessionPath
		SubmitHeaders
		Body NewRun
	}
	interruptInput struct {
		SessionPath
		WaitHeader
	}
	runInput struct {
		SessionPath
		WaitHeader
		Run string `path:"run" format:"uuid" doc:"The id of a run."`
	}
	// acceptedOutput is a run that was accepted: 202, or 200 if it has ended.
	acceptedOutput struct {
		Status   int
		Location string `header:"Location" doc:"The run."`
		Applied  string `header:"Preference-Applied" doc:"What of Prefer was followed."`
		Body     *Run
	}
	runOutput struct {
		Applied string `header:"Preference-Applied" doc:"What of Prefer was followed."`
		Body    *Run
	}
	listRunsInput struct {
		SessionPath
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"At most so many."`
		Before string `query:"before" format:"uuid" doc:"Only runs that are older than this one."`
	}
	listRunsOutput struct {
		Body struct {
			Runs       []Run  `json:"runs" nullable:"false" doc:"The newest first. Old runs are forgotten; the history of the session has them."`
			NextBefore string `json:"next_before,omitempty" format:"uuid" doc:"The value of before for the next page; absent on the last."`
		}
	}
)

func (s *Server) addRunOperations() {
	const refused = "The run goes on when the client has left. Without Prefer: wait the answer comes at once, and Location says where the run can be read."
	start := newOperation(
		"createSession", http.MethodPost, "/sessions", "sessions", "Start a session with a run", 413, 429,
	)
	start.DefaultStatus, start.Description = http.StatusAccepted, refused
	huma.Register(s.api, withEndedResponse(start), s.createSession)
	again := newOperation(
		"createRun", http.MethodPost, "/sessions/{id}/runs", "runs", "Go on with a session", 404, 409, 413, 429,
	)
	again.DefaultStatus, again.Description = http.StatusAccepted, refused
	huma.Register(s.api, withEndedResponse(again), s.createRun)
	huma.Register(
		s.api,
		newOperation("listRuns", http.MethodGet, "/sessions/{id}/runs", "runs", "List the runs of a session", 404, 409),
		s.listRuns,
	)
	get := newOperation("getRun", http.MethodGet, "/sessions/{id}/runs/{run}", "runs", "Return a run", 404)
	get.Middlewares = nil // it waits as long as the client prefers
	huma.Register(s.api, get, s.getRun)
	interrupt := newOperation(
		"interruptSession", http.MethodPost, "/sessions/{id}/interrupt", "runs", "End the run of a session", 404, 409,
	)
	interrupt.DefaultStatus, interrupt.Description = http.StatusAccepted, "The session stays legal and can be resumed."
	huma.Register(s.api, withEndedResponse(interrupt), s.interruptSession)
}

// withEndedResponse adds the answer to a client that waited until the run had ended.
func withEndedResponse(o huma.Operation) huma.Operation {
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The run has ended.",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/Run"}},
		},
	}}
	return o
}

func (s *Server) createSession(ctx context.Context, in *newSessionInput) (*acceptedOutput, error) {
	if strings.TrimSpace(in.Body.Prompt) == "" {
		return nil, newProblem(http.StatusUnprocessableEntity, "body.prompt: it is empty; say something")
	}
	return s.submitRun(
		ctx, server.Submission{Task: newTask(in.Body.Prompt, in.Body.System, &in.Body.RunSettings)}, &in.SubmitHeaders,
	)
}

func (s *Server) createRun(ctx context.Context, in *newRunInput) (*acceptedOutput, error) {
	task := newTask(in.Body.Prompt, "", &in.Body.RunSettings)
	found, _, err := s.loadSession(ctx, in.ID)
	if err == nil {
		err = errors.Join(found.Whole(), checkBudget(&found, task.Limits))
	}
	if err != nil {
		return nil, problemOf(err)
	}
	if strings.TrimSpace(task.Prompt) == "" && len(task.Attached) > 0 {
		return nil, newProblem(
			http.StatusUnprocessableEntity, "body.attachments: they need a prompt; say what they are for",
		)
	}
	asked := server.Submission{Session: found.ID, Task: task, New: found.Version == 0}
	if asked.New {
		first, err := s.newestRun(ctx, found.ID)
		if err != nil {
			return nil, problemOf(err)
		}
		asked.Task.System = first.Task.System
	}
	return s.submitRun(ctx, asked, &in.SubmitHeaders)
}

// checkBudget returns an error if a session has no budget left, also with new limits.
func checkBudget(s *session.Session, changed session.Limits) error {
	limits := changed
	if s.Budget != nil {
		limits = s.Budget.Limits.OverriddenBy(changed)
	}
	if err := limits.Exceeded(agent.SpentBy(s)); err != nil {
		return &agent.RunError{SessionID: s.ID, Err: err}
	}
	return nil
}

// checkTask returns why a task cannot be run, as far as it can be known now.
func (s *Server) checkTask(t *server.Task) error {
	if err := session.CheckMetadata(t.Metadata); err != nil {
		return newProblem(http.StatusUnprocessableEntity, "body."+err.Error())
	}
	if t.Model == "" {
		return nil
	}
	return s.options.CheckModel(t.Model)
}

// submitRun hands a run to the backend and, if the client prefers it, waits.
func (s *Server) submitRun(ctx context.Context, asked server.Submission, h *SubmitHeaders) (*acceptedOutput, error) {
	wait, err := parsePrefer(h.Prefer)
	if err == nil {
		err = s.checkTask(&asked.Task)
	}
	if err != nil {
		return nil, problemOf(err)
	}
	asked.Task.TraceParent, asked.Task.TraceState = traceContext(h.TraceParent, h.TraceState)
	asked.Key = h.Key
	run, _, err := s.backend.Submit(ctx, asked)
	if err != nil {
		return nil, problemOf(err)
	}
	return s.acceptRun(ctx, run, wait)
}

// acceptRun answers with a run: at once, or when it has ended within wait. When nothing more
// can be learnt of the run, because the database went away, it is accepted all the same.
func (s *Server) acceptRun(ctx context.Context, run server.Run, wait time.Duration) (*acceptedOutput, error) {
	waited, applied, err := s.waitForRun(ctx, run, wait)
	if err != nil {
		waited, applied = run, ""
	}
	run = waited
	out := &acceptedOutput{
		Status: http.StatusAccepted, Location: "/sessions/" + string(run.Session) + "/runs/" + string(run.ID),
		Applied: applied, Body: newRun(&run),
	}
	if run.Status.Ended() {
		out.Status = http.StatusOK
	}
	return out, nil
}

// waitForRun waits for the end of a run, and says which preference it followed.
func (s *Server) waitForRun(ctx context.Context, run server.Run, wait time.Duration) (server.Run, string, error) {
	if wait == 0 {
		return run, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ended, err := s.backend.Wait(ctx, run.ID)
	if errors.As(err, new(*server.RunNotFoundError)) {
		return run, "", nil // it ended and was forgotten
	}
	return ended, fmt.Sprintf("wait=%d", int(wait.Seconds())), err
}

// maxWait bounds how long a request may wait.
const maxWait = 600

// waitPreference is the wait of a Prefer header (RFC 7240).
var waitPreference = regexp.MustCompile(`^wait\s*=\s*"?([0-9]{1,9})"?$`)

// parsePrefer returns how long a client prefers to wait. Other preferences are ignored,
// as RFC 7240 says.
func parsePrefer(header string) (time.Duration, error) {
	for preference := range strings.SplitSeq(header, ",") {
		preference, _, _ = strings.Cut(strings.TrimSpace(strings.ToLower(preference)), ";")
		if m := waitPreference.FindStringSubmatch(strings.TrimSpace(preference)); m != nil {
			seconds, err := strconv.Atoi(m[1])
			return time.Duration(min(seconds, maxWait)) * time.Second, err
		}
		if strings.HasPrefix(preference, "wait") {
			return 0, newProblem(
				http.StatusBadRequest, "header Prefer: wait needs a number of seconds; send Prefer: wait=30",
			)
		}
	}
	return 0, nil
}

// traceParentPattern is the traceparent of version 00 (W3C Trace Context, section 3.2).
var traceParentPattern = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceContext returns a trace context, or none if it is malformed, as the standard says.
func traceContext(parent, state string) (string, string) {
	if !traceParentPattern.MatchString(parent) || len(state) > 512 {
		return "", ""
	}
	return parent, state
}

func (s *Server) listRuns(ctx context.Context, in *listRunsInput) (*listRunsOutput, error) {
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	runs, err := s.backend.Runs(ctx, found.ID, server.RunID(in.Before), in.Limit+1)
	if err != nil {
		return nil, problemOf(err)
	}
	out := &listRunsOutput{}
	if len(runs) > in.Limit {
		runs = runs[:in.Limit]
		out.Body.NextBefore = string(runs[len(runs)-1].ID)
	}
	out.Body.Runs = make([]Run, 0, len(runs))
	for i := range runs {
		out.Body.Runs = append(out.Body.Runs, *newRun(&runs[i]))
	}
	return out, nil
}

func (s *Server) getRun(ctx context.Context, in *runInput) (*runOutput, error) {
	wait, err := parsePrefer(in.Prefer)
	if err != nil {
		return nil, err
	}
	run, err := s.backend.Run(ctx, server.RunID(in.Run))
	if err == nil && string(run.Session) != in.ID {
		err = &server.RunNotFoundError{Run: run.ID}
	}
	if err != nil {
		return nil, problemOf(err)
	}
	run, applied, err := s.waitForRun(ctx, run, wait)
	return &runOutput{applied, newRun(&run)}, problemOf(err)
}

func (s *Server) interruptSession(ctx context.Context, in *interruptInput) (*acceptedOutput, error) {
	wait, err := parsePrefer(in.Prefer)
	if err != nil {
		return nil, err
	}
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	run, err := s.backend.Interrupt(ctx, found.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	return s.acceptRun(ctx, run, wait)
}
