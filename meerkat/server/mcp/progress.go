package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
)

// progress tells the client what a run does. Events come one at a time.
type progress struct {
	ctx     context.Context //nolint:containedctx // that of the one call it belongs to
	session *sdk.ServerSession
	token   any
	step    float64
}

// notifyClient sends what people want to know of an event. A notification that does not
// arrive is not sent again: the result does.
func (p *progress) notifyClient(e meerkat.Event) {
	text := describeEvent(e)
	if p.token == nil || text == "" {
		return
	}
	p.step++
	_ = p.session.NotifyProgress(
		p.ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Progress: p.step, Message: text},
	)
}

// maxMessage bounds the text of one notification in bytes.
const maxMessage = 500

func describeEvent(e meerkat.Event) string {
	if e.ParentID != "" {
		return "" // of a sub-agent: its parent reports its progress
	}
	switch e.Type {
	case agent.RunStarted:
		return fmt.Sprintf("session %s", e.SessionID)
	case agent.TurnStarted:
		return fmt.Sprintf("turn %d: %s", e.Turn, e.Model)
	case agent.TextComplete:
		return clipText(e.Content, maxMessage)
	case agent.ToolExecutionStarted:
		return "tool " + e.Name
	case agent.ToolProgress:
		return clipText(strings.TrimSpace("tool "+e.Name+": "+e.Message), maxMessage)
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		return "tool " + e.Name + ": " + e.Status
	case agent.OperationStarted, agent.OperationProgress, agent.OperationEnded:
		return clipText(describeOperation(e), maxMessage)
	case agent.Retrying:
		return "retrying: " + e.ErrorKind
	case agent.CompactionStarted:
		return "compacting the conversation"
	default: // the rest is in the session
		return ""
	}
}

// clipText returns the first n bytes of a text, in whole characters, and says what is missing.
func clipText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(text[:n], ""), len(text)-n)
}

// describeOperation says what happened to a sub-agent.
func describeOperation(e meerkat.Event) string {
	name := e.Name
	if name == "" {
		name = string(e.OperationID)
	}
	switch e.Type {
	case agent.OperationStarted:
		return "sub-agent " + name + " has started"
	case agent.OperationEnded:
		return "sub-agent " + name + ": " + e.Status
	default:
		return "sub-agent " + name + ": " + e.Message
	}
}
