package observe_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// canary stands wherever somebody wrote something.
const canary = "canary-text"

// course is the course of a run with a retry, tools and a failure, then one
// that goes well. Events are a second apart.
func course() []agent.Event {
	yes, ms, delay := true, int64(1500), int64(20)
	cached := uint64(5)
	events := []agent.Event{
		{Type: agent.RunStarted, Prompt: canary},
		{
			Type: agent.Degraded, Rule: "foreign-thinking",
			Degradation: &handoff.Degradation{Rule: "foreign-thinking", Reason: canary},
		},
		{Type: agent.TurnStarted, Turn: 1, Provider: "gemini", Model: "gemini-x"},
		{Type: agent.TextDelta, Turn: 1, Delta: canary},
		{Type: agent.StreamReset, Turn: 1},
		{Type: agent.Retrying, Turn: 1, ErrorKind: "overloaded", Error: canary, DelayMS: &delay},
		{Type: agent.TextDelta, Turn: 1, Delta: canary},
		{Type: agent.TextComplete, Turn: 1, Content: canary},
		{
			Type: agent.TurnCompleted, Turn: 1, StopReason: transcript.StopToolUse, ResponseID: "resp",
			RateLimits: []stream.RateLimit{{Name: "requests", Limit: 50, Remaining: 49}},
			Usage:      &transcript.Usage{InputTokens: 10, OutputTokens: 4, CacheReadTokens: &cached},
		},
		{
			Type: agent.ToolExecutionStarted, Turn: 1, ID: "c1", Name: "read",
			Args: transcript.RawJSON(`"` + canary + `"`),
		},
		{Type: agent.ToolExecutionStarted, Turn: 1, ID: "c2", Name: "read"},
		{Type: agent.ToolProgress, Turn: 1, ID: "c1", Message: canary},
		{
			Type: agent.ToolExecutionCompleted, Turn: 1, ID: "c1", Name: "read", Status: "error", IsError: &yes,
			DurationMS: &ms, Result: canary,
		},
		{Type: agent.ToolExecutionTimedOut, Turn: 1, ID: "c2", Name: "read", Status: "interrupted", DurationMS: &ms},
		{Type: agent.BudgetWarning, Turn: 1, BudgetType: session.BudgetTokens, Used: 8, Limit: 10},
		{Type: agent.TurnStarted, Turn: 2, Provider: "gemini", Model: "gemini-x"},
		{
			Type: agent.RunFailed, Turn: 2, Error: canary, ErrorKind: "authentication",
			Usage: &transcript.Usage{InputTokens: 10, OutputTokens: 4},
		},
	}
	for i := range events {
		events[i].SessionID, events[i].RunID, events[i].Seq = "sess", "run", i
		events[i].TS = time.Unix(int64(i), 0)
	}
	return events
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	listen := observe.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for _, e := range course() {
		listen(e)
	}
	if strings.Contains(out.String(), canary) {
		t.Errorf("the log holds what somebody wrote:\n%s", out.String())
	}
	for _, want := range []string{
		"level=INFO msg=run_started session=sess run=run seq=0 prompt_bytes=11",
		"level=WARN msg=retrying session=sess run=run seq=5 turn=1 error_kind=overloaded delay_ms=20",
		"level=INFO msg=turn_completed session=sess run=run seq=8 turn=1 stop_reason=tool_use input_tokens=10 output_tokens=4 requests_left=49",
		"level=INFO msg=tool_execution_completed session=sess run=run seq=12 turn=1 tool=read call=c1 status=error duration_ms=1500",
		"level=WARN msg=degraded session=sess run=run seq=1 rule=foreign-thinking message=0",
		"level=WARN msg=budget_warning session=sess run=run seq=14 turn=1 budget=tokens used=8 limit=10",
		"level=ERROR msg=run_failed session=sess run=run seq=16 turn=2 error_kind=authentication",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "text_delta") {
		t.Error("deltas are logged")
	}
}
