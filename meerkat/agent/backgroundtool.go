package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// runBackgroundTool calls a tool for an agent that goes on meanwhile. The tools are those
// that this agent may call.
func runBackgroundTool(ctx context.Context, task ops.Task, parent *Config) ops.Outcome {
	args := task.Spec.Arguments
	if len(args) == 0 {
		args = []byte("{}")
	}
	call := transcript.ToolCall{ID: string(task.Spec.ID), Name: task.Spec.Tool, Args: transcript.RawJSON(args)}
	var how tool.Outcome
	observer := tool.Observer{
		Progress: func(_ transcript.ToolCall, p tool.Progress) { task.Report(p.Message, percentOf(p)) },
		Settled:  func(_ transcript.ToolCall, _ transcript.ToolResult, o tool.Outcome) { how = o },
	}
	result := tool.DispatchAll(ctx, parent.toolDispatcher(), []transcript.ToolCall{call}, 1, observer)[0]
	out := ops.Outcome{Status: ops.Completed, Text: textOfResult(&result)}
	switch how.Status {
	case tool.StatusComplete:
		return keepLarge(ctx, parent, task.Parent, out)
	case tool.StatusInterrupted, tool.StatusCancelled:
		out.Status = ops.Interrupted
	default:
		out.Status = ops.Failed
	}
	out.Text, out.Error = "", out.Text
	return out
}

// percentOf returns how far a tool is, from 0 to 100, nil if it does not say.
func percentOf(p tool.Progress) *float64 {
	if p.Total <= 0 {
		return nil
	}
	percent := 100 * max(0, min(1, p.Done/p.Total)) // the quotient can be infinite, which JSON cannot hold
	return &percent
}

// textOfResult returns a result as text, because operations have no other results. A part
// that is an image or a file becomes a line that names it.
func textOfResult(r *transcript.ToolResult) string {
	var b strings.Builder
	b.WriteString(r.Content)
	for _, p := range r.Parts {
		fmt.Fprintf(
			&b, "\n[%s of type %s, %d bytes, not shown: call the tool directly to see it]", p.Type, p.MediaType,
			len(p.Data),
		)
	}
	return b.String()
}
