package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// RunID names a run: the text of a UUID version 7, so that ids sort by the time of
// their submission.
type RunID string

// Task is what a run is asked to do. Its JSON form is what a queue keeps. Empty fields
// mean what the configuration says or, in a session that exists, what it had before.
type Task struct {
	// Prompt may be empty where the session waits for an answer.
	Prompt   string            `json:"prompt,omitempty"`
	Model    string            `json:"model,omitempty"`
	Effort   string            `json:"effort,omitempty"`
	System   string            `json:"system,omitempty"`
	Limits   session.Limits    `json:"limits,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Attached []transcript.Part `json:"attached,omitempty"`
	// TraceParent and TraceState are the W3C trace context of the request that
	// submitted the run. They are no part of what a repeated key must repeat.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

// Submission asks for a run.
type Submission struct {
	// Session is the one to go on with; "" starts another, whose id the backend makes.
	Session session.ID
	// New says that Session does not exist yet: the run that was to create it ended before
	// it did.
	New  bool
	Task Task
	// Key makes a request repeatable: the same key with the same request is the same
	// run. "" for none.
	Key string
}

// Fingerprint returns a digest of what is asked for: equal ones are the same request.
func (s Submission) Fingerprint() (string, error) {
	task := s.Task
	task.TraceParent, task.TraceState = "", ""
	text, err := json.Marshal(struct {
		Session session.ID
		Task    Task
	}{s.Session, task})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// Status says where a run stands.
type Status string

// The statuses. The last three are final.
const (
	StatusQueued      Status = "queued"
	StatusRunning     Status = "running"
	StatusCompleted   Status = "completed"
	StatusFailed      Status = "failed"
	StatusInterrupted Status = "interrupted"
)

// Ended reports whether the status is final.
func (s Status) Ended() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusInterrupted
}

// Run is one run of a server, as it is known now.
type Run struct {
	ID      RunID      `json:"id"`
	Session session.ID `json:"session_id"`
	// New says that the run starts its session.
	New    bool   `json:"new,omitempty"`
	Status Status `json:"status"`
	Task   Task   `json:"task"`
	// Attempt counts from 1 how often the run was begun. It is more than 1 when a
	// replica ended in the middle.
	Attempt int       `json:"attempt,omitempty"`
	Created time.Time `json:"created_at"`
	Started time.Time `json:"started_at,omitzero"`
	Ended   time.Time `json:"ended_at,omitzero"`
	// Outcome is set when the run has ended.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Outcome is what came of a run.
type Outcome struct {
	Status     Status                `json:"status"`
	Text       string                `json:"text,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason,omitempty"`
	Usage      transcript.Usage      `json:"usage,omitzero"`
	Turns      int                   `json:"turns,omitempty"`
	ToolCalls  int                   `json:"tool_calls,omitempty"`
	// ErrorKind is one of agent.ErrorKind or of this package; Error says what to do.
	ErrorKind string `json:"error_kind,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Steering is a message to a run that is under way.
type Steering struct {
	ID      string         `json:"id"`
	Session session.ID     `json:"session_id"`
	Run     RunID          `json:"run_id"`
	Text    string         `json:"text"`
	Status  SteeringStatus `json:"status"`
	Created time.Time      `json:"created_at"`
}

// SteeringStatus says what became of a message.
type SteeringStatus string

// The statuses of steering. A message that is still queued when its run ends is expired
// if the run completed, and failed otherwise.
const (
	SteeringQueued  SteeringStatus = "queued"
	SteeringApplied SteeringStatus = "applied"
	SteeringExpired SteeringStatus = "expired"
	SteeringFailed  SteeringStatus = "failed"
)

// AfterRun returns what becomes of a message when its run ends with the status end.
func (s SteeringStatus) AfterRun(end Status) SteeringStatus {
	switch {
	case s != SteeringQueued:
		return s
	case end == StatusCompleted:
		return SteeringExpired
	default:
		return SteeringFailed
	}
}
