package rest

import (
	"encoding/json"
	"time"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// RunSettings are what a run can be told besides its prompt. What is absent is as the
// server is configured or, in a session that exists, as it was before.
type RunSettings struct {
	Model       string            `json:"model,omitempty" maxLength:"200" doc:"Only models of the allowlist are accepted. Another model, also of another provider, takes a session over."`
	Effort      string            `json:"effort,omitempty" maxLength:"40" doc:"How hard the model thinks, such as low, medium or high."`
	Budget      *Budget           `json:"budget,omitempty" doc:"Bounds the session over all its runs."`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"Notes about the session, at most 32; an empty value removes one. No provider sees them."`
	Attachments []Attachment      `json:"attachments,omitempty" maxItems:"32" nullable:"false" doc:"Images and files that go with the prompt."`
}

// NewSession asks for a session and its first run.
type NewSession struct {
	Prompt string `json:"prompt" minLength:"1" doc:"The task, for the model."`
	System string `json:"system,omitempty" doc:"Replaces the configured system prompt."`
	RunSettings
}

// NewRun asks for another run of a session.
type NewRun struct {
	Prompt string `json:"prompt,omitempty" doc:"What to say next. Without it the model goes on where an answer is due."`
	RunSettings
}

// Budget bounds what a session may use over all its runs. Absent members set no limit.
type Budget struct {
	MaxTokens    uint64 `json:"max_tokens,omitempty" maximum:"1000000000000" doc:"Tokens of all kinds."`
	MaxTurns     int    `json:"max_turns,omitempty" minimum:"0" maximum:"1000000" doc:"Calls of the model."`
	MaxToolCalls int    `json:"max_tool_calls,omitempty" minimum:"0" maximum:"1000000"`
	MaxSeconds   int    `json:"max_seconds,omitempty" minimum:"0" maximum:"31536000" doc:"Time of the runs, added up."`
}

// Attachment is an image or a file.
type Attachment struct {
	MediaType string `json:"media_type" minLength:"3" maxLength:"100" pattern:"^[a-z]+/[a-zA-Z0-9.+-]+$" doc:"Such as image/png or application/pdf."`
	Data      []byte `json:"data" minLength:"1" doc:"The bytes in base64."`
}

// Run is one run of a session.
type Run struct {
	ID        string     `json:"id" format:"uuid"`
	SessionID string     `json:"session_id" format:"uuid"`
	Status    string     `json:"status" enum:"queued,running,completed,failed,interrupted"`
	Attempt   int        `json:"attempt" doc:"More than 1 if a replica ended in the middle of the run."`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Result    *RunResult `json:"result,omitempty" doc:"What the run did; present when it has ended."`
	Error     *RunError  `json:"error,omitempty" doc:"Why the run did not complete."`
}

// RunResult is what a run did. After an error it says how far the run got.
type RunResult struct {
	Text       string `json:"text" doc:"The answer."`
	StopReason string `json:"stop_reason,omitempty"`
	Usage      Usage  `json:"usage"`
	Turns      int    `json:"turns" doc:"Calls of the model."`
	ToolCalls  int    `json:"tool_calls"`
}

// Usage is what a run used.
type Usage struct {
	InputTokens  uint64 `json:"input_tokens"`
	OutputTokens uint64 `json:"output_tokens"`
}

// RunError says why a run did not complete.
type RunError struct {
	Kind    string `json:"kind" doc:"Such as budget_exceeded, rate_limit, refused or interrupted."`
	Message string `json:"message"`
}

// SessionSummary describes a session.
type SessionSummary struct {
	ID         string     `json:"id" format:"uuid"`
	Status     string     `json:"status" enum:"idle,queued,running,unreadable" doc:"Where its last run stands; unreadable if its records are damaged or of a newer version."`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	UpdatedAt  *time.Time `json:"updated_at,omitempty"`
	Provider   string     `json:"provider,omitempty"`
	Model      string     `json:"model,omitempty"`
	ForkedFrom string     `json:"forked_from,omitempty" doc:"The session that this one began with."`
	Problem    string     `json:"problem,omitempty" doc:"Why it cannot be read."`
}

// Session is a session with what it holds.
type Session struct {
	SessionSummary
	Result    string            `json:"result" doc:"The last answer."`
	Messages  int               `json:"messages"`
	Tokens    uint64            `json:"tokens" doc:"Used over all runs."`
	OpenCalls int               `json:"open_calls" doc:"Calls of tools without a result."`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Budget    *Budget           `json:"budget,omitempty"`
	Run       *Run              `json:"run,omitempty" doc:"The run that has not ended."`
}

// HistoryItem is one thing that happened in a session, in order. Deltas are not kept.
type HistoryItem struct {
	Type       string          `json:"type" doc:"Such as run_start, user_message, assistant_message, reasoning, tool_call, tool_result, error, compaction, interrupt or usage."`
	At         time.Time       `json:"at"`
	RunID      string          `json:"run_id,omitempty"`
	Turn       int             `json:"turn,omitempty"`
	Message    *int            `json:"message,omitempty" doc:"The index of the message in the session."`
	Text       string          `json:"text,omitempty"`
	Files      []HistoryFile   `json:"files,omitempty" nullable:"false"`
	ID         string          `json:"id,omitempty" doc:"Of the tool call."`
	Name       string          `json:"name,omitempty" doc:"Of the tool, or the kind of an error."`
	Arguments  json.RawMessage `json:"arguments,omitempty" doc:"Of the tool call, as the model wrote them; a string if they are not JSON."`
	Status     string          `json:"status,omitempty" enum:"success,error" doc:"Of the tool."`
	StopReason string          `json:"stop_reason,omitempty"`
	Usage      *Usage          `json:"usage,omitempty"`
}

// HistoryFile is an image or a file beside a text.
type HistoryFile struct {
	MediaType string `json:"media_type,omitempty"`
	Bytes     int    `json:"bytes"`
	URL       string `json:"url,omitempty"`
}

// newTask returns the task of a request.
func newTask(prompt, system string, s *RunSettings) server.Task {
	t := server.Task{
		Prompt: prompt, System: system, Model: s.Model, Effort: s.Effort, Limits: s.Budget.limits(),
		Metadata: s.Metadata,
	}
	for _, a := range s.Attachments {
		kind := "file"
		if len(a.MediaType) > 6 && a.MediaType[:6] == "image/" {
			kind = "image"
		}
		t.Attached = append(t.Attached, transcript.Part{Type: kind, MediaType: a.MediaType, Data: a.Data})
	}
	return t
}

func (b *Budget) limits() session.Limits {
	if b == nil {
		return session.Limits{}
	}
	return session.Limits{
		MaxTokens: b.MaxTokens, MaxTurns: b.MaxTurns, MaxToolCalls: b.MaxToolCalls,
		MaxDuration: time.Duration(b.MaxSeconds) * time.Second,
	}
}

func newBudget(b *session.Budget) *Budget {
	if b == nil {
		return nil
	}
	l := b.Limits
	return &Budget{l.MaxTokens, l.MaxTurns, l.MaxToolCalls, int(l.MaxDuration / time.Second)}
}

func newRun(r *server.Run) *Run {
	out := &Run{
		ID: string(r.ID), SessionID: string(r.Session), Status: string(r.Status), Attempt: max(1, r.Attempt),
		CreatedAt: r.Created, StartedAt: timeOrNil(r.Started), EndedAt: timeOrNil(r.Ended),
	}
	if o := r.Outcome; o != nil {
		out.Result = &RunResult{
			o.Text, string(o.StopReason), Usage{o.Usage.InputTokens, o.Usage.OutputTokens}, o.Turns, o.ToolCalls,
		}
		if o.ErrorKind != "" {
			out.Error = &RunError{o.ErrorKind, o.Error}
		}
	}
	return out
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func newHistoryItem(e *session.DisplayEvent) HistoryItem {
	out := HistoryItem{
		Type: string(e.Type), At: e.At, RunID: e.RunID, Turn: e.Turn, Message: e.Message, Text: e.Text, ID: e.ID,
		Name:      e.Name,
		Arguments: json.RawMessage(e.Args), Status: string(e.Status), StopReason: string(e.StopReason),
	}
	for _, i := range e.Images {
		out.Files = append(out.Files, HistoryFile{i.MediaType, len(i.Data), i.URL})
	}
	if e.Usage != nil {
		out.Usage = &Usage{e.Usage.InputTokens, e.Usage.OutputTokens}
	}
	return out
}
