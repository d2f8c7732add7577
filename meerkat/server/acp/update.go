package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// updater tells the client what happens in one session.
type updater struct {
	ctx     context.Context //nolint:containedctx // that of the connection
	client  *sdk.AgentSideConnection
	session sdk.SessionId

	mu    sync.Mutex
	calls map[string]sdk.ToolCallId // of the current turn, by the id of the provider
	shown map[int]bool              // blocks of the current turn of which a part was sent
}

// sendUpdate sends one update. If it does not arrive, the connection has ended, and the
// prompt ends with it.
func (u *updater) sendUpdate(update sdk.SessionUpdate) {
	_ = u.client.SessionUpdate(u.ctx, sdk.SessionNotification{SessionId: u.session, Update: update})
}

// toolCallID returns the id under which the client knows a call. Providers use an id
// again in a later turn.
func (u *updater) toolCallID(id string) sdk.ToolCallId {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, ok := u.calls[id]; ok {
		return known
	}
	return sdk.ToolCallId(id)
}

func (u *updater) startTurn() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.shown)
}

func (u *updater) addCall(e meerkat.Event) sdk.ToolCallId {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls[e.ID] = sdk.ToolCallId(e.TurnID + "/" + e.ID)
	return u.calls[e.ID]
}

// markShown notes that a part of a block was sent, and reports whether one was before.
func (u *updater) markShown(index *int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if index == nil {
		return false
	}
	before := u.shown[*index]
	u.shown[*index] = true
	return before
}

// sendEvent translates the events of a run. It is called one at a time.
func (u *updater) sendEvent(e meerkat.Event) {
	if e.ParentID != "" {
		return // of a sub-agent: the editor shows the conversation of the user
	}
	switch e.Type {
	case agent.TurnStarted:
		u.startTurn()
	case agent.TextDelta:
		u.markShown(e.Index)
		u.sendUpdate(sdk.UpdateAgentMessageText(e.Delta))
	case agent.ReasoningDelta:
		u.markShown(e.Index)
		u.sendUpdate(sdk.UpdateAgentThoughtText(e.Delta))
	case agent.BlockCompleted:
		if !u.markShown(e.Index) { // it came in one piece
			u.sendBlock(e.Block)
		}
	case agent.StreamReset:
		u.startTurn()
		u.sendUpdate(sdk.UpdateAgentThoughtText("\n[that answer is void]\n"))
	default:
		u.sendToolEvent(e)
	}
}

// sendBlock sends a block that the client has not seen.
func (u *updater) sendBlock(b *transcript.Block) {
	switch {
	case b.Type == transcript.BlockText && b.Text != "":
		u.sendUpdate(sdk.UpdateAgentMessageText(b.Text))
	case b.Type == transcript.BlockReasoning && b.Text != "":
		u.sendUpdate(sdk.UpdateAgentThoughtText(b.Text))
	}
}

func (u *updater) sendToolEvent(e meerkat.Event) {
	switch e.Type {
	case agent.ToolCallRequested:
		if e.Name == planTool {
			return // the plan itself is sent
		}
		u.sendUpdate(sdk.StartToolCall(u.addCall(e), e.Name, sdk.WithStartKind(sdk.ToolKindOther),
			sdk.WithStartStatus(sdk.ToolCallStatusPending), sdk.WithStartRawInput(rawValue(e.Args))))
	case agent.ToolExecutionStarted:
		u.sendCallStatus(e, sdk.ToolCallStatusInProgress, "")
	case agent.ToolProgress:
		u.sendCallStatus(e, sdk.ToolCallStatusInProgress, e.Message)
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut, agent.ToolResultReceived:
		if e.Type == agent.ToolResultReceived && e.Result == "" {
			return // it was sent when the execution ended
		}
		status := sdk.ToolCallStatusCompleted
		if e.Type == agent.ToolExecutionTimedOut || e.IsError != nil && *e.IsError {
			status = sdk.ToolCallStatusFailed
		}
		u.sendCallStatus(e, status, e.Result)
	default: // the rest is not for the client
	}
}

func (u *updater) sendCallStatus(e meerkat.Event, status sdk.ToolCallStatus, text string) {
	if e.Name == planTool {
		return
	}
	options := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
	if text != "" {
		options = append(options, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}))
	}
	u.sendUpdate(sdk.UpdateToolCall(u.toolCallID(e.ID), options...))
}

// sendHistory shows a stored conversation.
func (u *updater) sendHistory(messages []transcript.Message) {
	for i := range messages {
		m := &messages[i]
		if m.Role == transcript.RoleUser && m.Content != "" {
			u.sendUpdate(sdk.UpdateUserMessageText(m.Content))
		}
		for j := range m.Blocks {
			b := &m.Blocks[j]
			u.sendBlock(b)
			if b.Type == transcript.BlockToolUse && b.Name != planTool {
				u.mu.Lock()
				id := sdk.ToolCallId(fmt.Sprintf("%d/%s", i, b.ID))
				u.calls[b.ID] = id
				u.mu.Unlock()
				u.sendUpdate(sdk.StartToolCall(
					id, b.Name, sdk.WithStartKind(sdk.ToolKindOther), sdk.WithStartStatus(sdk.ToolCallStatusPending),
					sdk.WithStartRawInput(rawValue(b.Args)),
				))
			}
		}
		for _, r := range m.Results {
			u.sendResult(r)
		}
	}
}

func (u *updater) sendResult(r transcript.ToolResult) {
	u.mu.Lock()
	id, known := u.calls[r.ToolUseID]
	u.mu.Unlock()
	if !known {
		return
	}
	status := sdk.ToolCallStatusCompleted
	if r.IsError {
		status = sdk.ToolCallStatusFailed
	}
	u.sendUpdate(sdk.UpdateToolCall(
		id, sdk.WithUpdateStatus(status),
		sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(r.Content))}),
	))
}

// rawValue returns arguments as a value of JSON: the bytes if they are JSON, else their
// text.
func rawValue(args transcript.RawJSON) any {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	return string(args)
}
