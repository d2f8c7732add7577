// Package replay turns a stored session back into what a user saw (seed 002):
// a pure derivation from the history, the same every time. Deltas were never
// stored and are not replayed; an interrupt is derived from what it left.
package replay

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Type names an Event.
type Type string

// The events of a replay.
const (
	RunStart         Type = "run_start"         // RunID
	TurnStart        Type = "turn_start"        // Turn
	UserMessage      Type = "user_message"      // Text, Images
	DeveloperMessage Type = "developer_message" // Text, Images
	Reasoning        Type = "reasoning"         // Text; only what the provider showed
	AssistantMessage Type = "assistant_message" // Text: all text of the message, in order
	AssistantImage   Type = "assistant_image"   // Images, one
	ToolCall         Type = "tool_call"         // ID, Name, Args
	ToolResult       Type = "tool_result"       // ID, Name, Text, Images, Status
	Interrupt        Type = "interrupt"
	Usage            Type = "usage"         // Usage, StopReason
	Error            Type = "error"         // Name (the kind), Text
	TaskMetadata     Type = "task_metadata" // Task
	Compaction       Type = "compaction"    // Text: the summary
)

// Status is how a tool ended, for a user: an aborted one is an error that an
// Interrupt follows.
type Status string

// The two statuses.
const (
	Success Status = "success"
	Failure Status = "error"
)

// Event is one thing that a user saw. Type says which fields count.
type Event struct {
	Type       Type                  `json:"type"`
	At         time.Time             `json:"at"`
	RunID      string                `json:"run_id,omitempty"`
	Turn       int                   `json:"turn,omitempty"`    // from 1, counted over the session
	Message    *int                  `json:"message,omitempty"` // index in the session
	Text       string                `json:"text,omitempty"`
	Images     []Image               `json:"images,omitempty"`
	ID         string                `json:"id,omitempty"`
	Name       string                `json:"name,omitempty"`
	Args       transcript.RawJSON    `json:"args,omitempty"`
	Status     Status                `json:"status,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason,omitempty"`
	Usage      *transcript.Usage     `json:"usage,omitempty"`
	Task       *session.Task         `json:"task,omitempty"`
}

// Image is an image or a file beside a text: its bytes, or where it is.
type Image struct {
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

func images(parts []transcript.Part) (out []Image) {
	for _, p := range parts {
		out = append(out, Image{p.MediaType, p.Data, p.URL})
	}
	return out
}

// Events returns what s looked like, in order. System messages are stored but
// not shown. The result shares memory with s; treat both as read-only.
func Events(s *session.Session) []Event {
	p := player{session: s, names: map[string]string{}}
	for _, m := range s.Timeline {
		p.at = m.At
		p.play(m)
	}
	return p.events
}

type player struct {
	session *session.Session
	events  []Event
	at      time.Time
	run     string
	turn    int
	names   map[string]string // of the tools, by call id
}

func (p *player) emit(e Event) {
	e.At, e.RunID, e.Turn = p.at, p.run, p.turn
	p.events = append(p.events, e)
}

func (p *player) play(m session.Moment) {
	s := p.session
	switch m.Kind {
	case "run":
		p.run = s.Runs[m.Index].ID
		p.emit(Event{Type: RunStart})
	case "message":
		p.message(m.Index)
	case "usage":
		c := &s.Calls[m.Index]
		p.emit(Event{Type: Usage, Usage: c.Usage, StopReason: c.StopReason})
	case "error":
		f := &s.Failures[m.Index]
		p.emit(Event{Type: Error, Name: f.Kind, Text: f.Message})
	case "task":
		p.emit(Event{Type: TaskMetadata, Task: &s.Tasks[m.Index]})
	case "compaction":
		c := &s.Compactions[m.Index]
		p.emit(Event{Type: Compaction, Text: c.Summary, Usage: c.Usage})
	}
}

func (p *player) message(i int) {
	m := &p.session.Messages[i]
	switch m.Role {
	case transcript.RoleUser:
		p.emit(Event{Type: UserMessage, Message: &i, Text: m.Content, Images: images(m.Parts)})
	case transcript.RoleDeveloper:
		p.emit(Event{Type: DeveloperMessage, Message: &i, Text: m.Content, Images: images(m.Parts)})
	case transcript.RoleAssistant:
		p.assistant(i, m)
	case transcript.RoleToolResults:
		for r := range m.Results {
			p.result(i, &m.Results[r])
		}
	case transcript.RoleSystem: // not shown
	}
}

// assistant replays one reply: what it showed of its thoughts, its text as one,
// its images, its calls, and the interrupt that ended it.
func (p *player) assistant(i int, m *transcript.Message) {
	p.turn++
	p.emit(Event{Type: TurnStart, Message: &i})
	for b := range m.Blocks {
		if m.Blocks[b].Type == transcript.BlockReasoning && m.Blocks[b].Text != "" {
			p.emit(Event{Type: Reasoning, Message: &i, Text: m.Blocks[b].Text})
		}
	}
	if text := m.String(); text != "" {
		p.emit(Event{Type: AssistantMessage, Message: &i, Text: text, StopReason: m.StopReason})
	}
	for _, image := range images(made(m)) {
		p.emit(Event{Type: AssistantImage, Message: &i, Images: []Image{image}})
	}
	for c := range m.ToolCalls() {
		p.names[c.ID] = c.Name
		p.emit(Event{Type: ToolCall, Message: &i, ID: c.ID, Name: c.Name, Args: c.JSON()})
	}
	if m.StopReason == transcript.StopAborted {
		p.emit(Event{Type: Interrupt, Message: &i})
	}
}

// made returns the images that the model made, those of its blocks first.
func made(m *transcript.Message) (parts []transcript.Part) {
	for i := range m.Blocks {
		parts = append(parts, m.Blocks[i].Parts...)
	}
	return append(parts, m.Parts...)
}

func (p *player) result(i int, r *transcript.ToolResult) {
	status := Success
	if r.IsError || r.Status == transcript.ResultAborted {
		status = Failure
	}
	p.emit(Event{Type: ToolResult, Message: &i, ID: r.ToolUseID, Name: p.names[r.ToolUseID], Text: r.Content, Images: images(r.Parts), Status: status})
	if r.Status == transcript.ResultAborted {
		p.emit(Event{Type: Interrupt, Message: &i})
	}
}
