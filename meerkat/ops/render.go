package ops

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// The beginnings of messages that have the role of the user and are not the user's.
const (
	SteeringPrefix = "[STEERING] "
	ResultsPrefix  = "[OPERATION RESULTS] "
)

// SystemNote tells a sub-agent what directives are. It is part of its system prompt.
const SystemNote = `You are a sub-agent: another agent gave you a task and reads your last message as its result. Messages prefixed with [STEERING] are control directives from your parent agent. Treat them as high-priority instructions and adjust your plan accordingly. Do not ask follow-up questions unless required to comply.`

// shownOperation is an operation as the model reads it.
type shownOperation struct {
	ID     OperationID `json:"id"`
	Name   string      `json:"name,omitempty"`
	Status OpStatus    `json:"status"`
	// Result, or Beginning and Artifact of one that is too large.
	Result    string `json:"result,omitempty"`
	Error     string `json:"error,omitempty"`
	Beginning string `json:"beginning,omitempty"`
	Artifact  string `json:"artifact_id,omitempty"`
	Size      int    `json:"size_bytes,omitempty"`
	Hint      string `json:"hint,omitempty"`
	// Progress is the last that a running operation reported.
	Progress    string        `json:"progress,omitempty"`
	Percent     *float64      `json:"percent,omitempty"`
	ParentOpID  OperationID   `json:"parent_op_id,omitempty"`
	DependsOn   []OperationID `json:"depends_on,omitempty"`
	Attempt     int           `json:"attempt,omitempty"`
	SubmittedAt string        `json:"submitted_at,omitempty"`
	CompletedAt string        `json:"completed_at,omitempty"`
}

func showResult(r OpResult) shownOperation {
	s := shownOperation{
		ID: r.OpID, Name: r.Label, Status: r.Status, Result: r.Text, Error: r.Error, ParentOpID: r.ParentOpID,
		DependsOn: r.DependsOn, Attempt: r.Attempt,
		SubmittedAt: formatTime(r.SubmittedAt), CompletedAt: formatTime(r.CompletedAt),
	}
	if r.Artifact != "" {
		s.Artifact, s.Size, s.Beginning = r.Artifact, r.Size, r.Summary
		s.Hint = "the result is too large to show; read it with fetch_result"
	}
	return s
}

// formatTime shows a time, "" for none.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// RenderResults is the message that brings results to the model: a line for each.
func RenderResults(results []OpResult) string {
	var b strings.Builder
	b.WriteString(ResultsPrefix + "Operations that you started have ended:")
	for _, r := range results {
		b.WriteString("\n")
		b.WriteString(encodeJSON(showResult(r)))
	}
	return b.String()
}

// encodeJSON encodes v without escaping HTML. Our values always can be encoded.
func encodeJSON(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `{"error":"it cannot be shown"}`
	}
	return strings.TrimSpace(buf.String())
}

// cutText returns at most limit bytes of a text and never a part of a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
