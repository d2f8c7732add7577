package session

import (
	"cmp"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// DisplayType names a DisplayEvent.
type DisplayType string

// The events of a display.
const (
	displaySessionMetadata  DisplayType = "session_metadata"  // Metadata; first, if there is any
	displayRunStart         DisplayType = "run_start"         // RunID
	displayTurnStart        DisplayType = "turn_start"        // Turn
	displayUserMessage      DisplayType = "user_message"      // Text, Images
	displayDeveloperMessage DisplayType = "developer_message" // Text, Images
	displayOperationResult  DisplayType = "operation_result"  // Text; what sub-agents have answered
	displaySteering         DisplayType = "steering"          // Text; a directive of the parent agent or a program
	displayReasoning        DisplayType = "reasoning"         // Text; only what the provider showed
	displayAssistantMessage DisplayType = "assistant_message" // Text: all text of the message, in order
	displayAssistantImage   DisplayType = "assistant_image"   // Images, one
	displayToolCall         DisplayType = "tool_call"         // ID, Name, Args
	displayToolResult       DisplayType = "tool_result"       // ID, Name, Text, Images, Status
	displayInterrupt        DisplayType = "interrupt"
	displayUsage            DisplayType = "usage"         // Usage, StopReason
	displayError            DisplayType = "error"         // Name (the kind), Text
	displayTaskMetadata     DisplayType = "task_metadata" // Task
	displayCompaction       DisplayType = "compaction"    // Text: the summary
)

// DisplayStatus is how a tool ended. For a user, an aborted call is an error
// that an interrupt follows.
type DisplayStatus string

// The two statuses.
const (
	displaySuccess DisplayStatus = "success"
	displayFailure DisplayStatus = "error"
)

// DisplayEvent is one thing that a user saw. Type says which fields are set.
type DisplayEvent struct {
	Type       DisplayType           `json:"type"`
	At         time.Time             `json:"at"`
	RunID      string                `json:"run_id,omitempty"`
	Turn       int                   `json:"turn,omitempty"`    // from 1, counted over the session
	Message    *int                  `json:"message,omitempty"` // index in the session
	Text       string                `json:"text,omitempty"`
	Images     []DisplayImage        `json:"images,omitempty"`
	ID         string                `json:"id,omitempty"`
	Name       string                `json:"name,omitempty"`
	Args       transcript.RawJSON    `json:"args,omitempty"`
	Status     DisplayStatus         `json:"status,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason,omitempty"`
	Usage      *transcript.Usage     `json:"usage,omitempty"`
	RunEnd     *RunEnd               `json:"task,omitempty"`
	Metadata   map[string]string     `json:"metadata,omitempty"`
}

// DisplayImage is an image or a file beside a text: its bytes, or its address.
type DisplayImage struct {
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

func displayImages(parts []transcript.Part) (images []DisplayImage) {
	for _, p := range parts {
		images = append(images, DisplayImage{p.MediaType, p.Data, p.URL})
	}
	return images
}

// Display derives from the stored records what the user saw, in order.
// The result is the same every time. Deltas were never stored, so they are not
// shown again; an interrupt is derived from the reply or result it left. System
// messages are stored but not shown. The result shares memory with s; treat
// both as read-only.
func Display(s *Session) []DisplayEvent {
	b := displayBuilder{session: s, toolNames: map[string]string{}}
	if s.Metadata != nil {
		b.at = s.Created
		b.addEvent(DisplayEvent{Type: displaySessionMetadata, Metadata: s.Metadata})
	}
	for _, item := range s.Timeline {
		b.at = item.At
		b.addItem(item)
	}
	return b.events
}

// displayBuilder collects the events while it walks over the timeline.
type displayBuilder struct {
	session   *Session
	events    []DisplayEvent
	at        time.Time
	runID     string
	turn      int
	toolNames map[string]string // by call id
}

func (b *displayBuilder) addEvent(e DisplayEvent) {
	e.At, e.RunID, e.Turn = b.at, b.runID, b.turn
	b.events = append(b.events, e)
}

func (b *displayBuilder) addItem(item TimelineItem) {
	s := b.session
	switch item.Kind {
	case "run":
		b.runID = s.Runs[item.Index].ID
		b.addEvent(DisplayEvent{Type: displayRunStart})
	case "message":
		b.addMessage(item.Index, item.Source)
	case "usage":
		c := &s.Calls[item.Index]
		b.addEvent(DisplayEvent{Type: displayUsage, Usage: c.Usage, StopReason: c.StopReason})
	case "error":
		f := &s.Errors[item.Index]
		b.addEvent(DisplayEvent{Type: displayError, Name: f.Kind, Text: f.Message})
	case "task":
		b.addEvent(DisplayEvent{Type: displayTaskMetadata, RunEnd: &s.RunEnds[item.Index]})
	case "compaction":
		c := &s.Compactions[item.Index]
		b.addEvent(DisplayEvent{Type: displayCompaction, Text: cmp.Or(c.Summary, compactedWindow), Usage: c.Usage})
	}
}

// compactedWindow is shown in the place of a summary that only the provider can read.
const compactedWindow = "The provider compacted the conversation. Only the provider can read the result."

// displayTypeOf is how a message of the user's role is shown.
func displayTypeOf(source Source) DisplayType {
	switch source {
	case SourceOperations:
		return displayOperationResult
	case SourceSteering:
		return displaySteering
	default:
		return displayUserMessage
	}
}

func (b *displayBuilder) addMessage(i int, source Source) {
	m := &b.session.Messages[i]
	switch m.Role {
	case transcript.RoleUser:
		b.addEvent(DisplayEvent{
			Type: displayTypeOf(source), Message: &i, Text: m.Content, Images: displayImages(m.Parts),
		})
	case transcript.RoleDeveloper:
		b.addEvent(DisplayEvent{
			Type: displayDeveloperMessage, Message: &i, Text: m.Content, Images: displayImages(m.Parts),
		})
	case transcript.RoleAssistant:
		b.addReply(i, m)
	case transcript.RoleToolResults:
		for r := range m.Results {
			b.addResult(i, &m.Results[r])
		}
	case transcript.RoleSystem: // not shown
	}
}

// addReply shows one reply: the thoughts that the provider showed, its text as
// one, its images, its calls, and the interrupt that ended it.
func (b *displayBuilder) addReply(i int, m *transcript.Message) {
	b.turn++
	b.addEvent(DisplayEvent{Type: displayTurnStart, Message: &i})
	for n := range m.Blocks {
		if m.Blocks[n].Type == transcript.BlockReasoning && m.Blocks[n].Text != "" {
			b.addEvent(DisplayEvent{Type: displayReasoning, Message: &i, Text: m.Blocks[n].Text})
		}
	}
	if text := m.String(); text != "" {
		b.addEvent(DisplayEvent{Type: displayAssistantMessage, Message: &i, Text: text, StopReason: m.StopReason})
	}
	for _, image := range displayImages(modelImages(m)) {
		b.addEvent(DisplayEvent{Type: displayAssistantImage, Message: &i, Images: []DisplayImage{image}})
	}
	for c := range m.ToolCalls() {
		b.toolNames[c.ID] = c.Name
		b.addEvent(DisplayEvent{Type: displayToolCall, Message: &i, ID: c.ID, Name: c.Name, Args: c.JSON()})
	}
	if m.StopReason == transcript.StopAborted {
		b.addEvent(DisplayEvent{Type: displayInterrupt, Message: &i})
	}
}

// modelImages returns the images that the model made, those of its blocks first.
func modelImages(m *transcript.Message) (parts []transcript.Part) {
	for i := range m.Blocks {
		parts = append(parts, m.Blocks[i].Parts...)
	}
	return append(parts, m.Parts...)
}

func (b *displayBuilder) addResult(i int, r *transcript.ToolResult) {
	status := displaySuccess
	if r.IsError || r.Status == transcript.ResultAborted {
		status = displayFailure
	}
	b.addEvent(DisplayEvent{
		Type: displayToolResult, Message: &i, ID: r.ToolUseID, Name: b.toolNames[r.ToolUseID], Text: r.Content,
		Images: displayImages(r.Parts), Status: status,
	})
	if r.Status == transcript.ResultAborted {
		b.addEvent(DisplayEvent{Type: displayInterrupt, Message: &i})
	}
}
