package observe

import (
	"context"
	"log/slog"

	"github.com/meerkat-go/conformance/meerkat/agent"
)

// Log returns a listener that writes one record for each step of a run: failures as
// errors, what a user should look at as warnings, the course of the run as
// information, and the rest for debugging. Deltas are not logged.
func Log(l *slog.Logger) Listener {
	return func(e agent.Event) {
		if e.Type.Droppable() {
			return
		}
		ctx, level := context.Background(), levelOf(&e)
		if l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, string(e.Type), logAttributes(&e)...)
		}
	}
}

func levelOf(e *agent.Event) slog.Level {
	switch e.Type {
	case agent.RunFailed:
		return slog.LevelError
	case agent.CompactionCompleted:
		if e.ErrorKind != "" {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	case agent.RunInterrupted, agent.Retrying, agent.BudgetWarning, agent.Degraded, agent.AssemblyAnomaly,
		agent.StreamReset, agent.StreamTruncated, agent.ToolExecutionTimedOut:
		return slog.LevelWarn
	case agent.RunStarted, agent.RunCompleted, agent.TurnCompleted, agent.ToolExecutionCompleted:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// logAttributes are the fields of e that say something, apart from what anybody
// wrote.
func logAttributes(e *agent.Event) []slog.Attr {
	list := []slog.Attr{
		slog.String("session", string(e.SessionID)), slog.String("run", e.RunID), slog.Int("seq", e.Seq),
	}
	text := func(name, value string) {
		if value != "" {
			list = append(list, slog.String(name, Label(value)))
		}
	}
	number := func(name string, value int64) {
		if value != 0 {
			list = append(list, slog.Int64(name, value))
		}
	}
	number("prompt_bytes", int64(len(e.Prompt)))
	number("turn", int64(e.Turn))
	number("attempt", int64(e.Attempt))
	text("parent", string(e.ParentID))
	text("operation", string(e.OperationID))
	text("provider", e.Provider)
	text("model", e.Model)
	text("tool", toolOf(e))
	text("call", e.ID)
	text("status", e.Status)
	text("stop_reason", string(e.StopReason))
	text("reason", e.Reason)
	text("rule", e.Rule)
	text("error_kind", e.ErrorKind)
	text("budget", string(e.BudgetType))
	number("used", int64(e.Used))   //nolint:gosec // a count
	number("limit", int64(e.Limit)) //nolint:gosec // a count
	number("dropped", int64(e.Dropped))
	if e.DurationMS != nil {
		list = append(list, slog.Int64("duration_ms", *e.DurationMS))
	}
	if e.DelayMS != nil {
		list = append(list, slog.Int64("delay_ms", *e.DelayMS))
	}
	if e.Degradation != nil {
		list = append(list, slog.Int("message", e.Degradation.Message))
	}
	if e.Usage != nil {
		list = append(
			list, slog.Uint64("input_tokens", e.Usage.InputTokens), slog.Uint64("output_tokens", e.Usage.OutputTokens),
		)
	}
	for _, l := range e.RateLimits {
		list = append(list, slog.Int64(l.Name+"_left", l.Remaining))
	}
	return list
}

// toolOf is the tool that e speaks of, "" if it speaks of none.
func toolOf(e *agent.Event) string {
	switch e.Type {
	case agent.ToolCallRequested, agent.ToolExecutionStarted, agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut,
		agent.ToolResultReceived:
		return ToolLabel(e.Name)
	default:
		return ""
	}
}
