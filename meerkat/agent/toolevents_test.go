package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestProgressAndTimeout checks that the progress of a tool and its timeout are
// reported, and the text of the result once.
func TestProgressAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools, err := tool.New(tool.Tool{Def: transcript.ToolDef{Name: "run"}, Timeout: 2 * time.Second,
			Func: func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
				tool.Report(ctx, tool.Progress{Done: 1, Total: 4, Message: "a quarter"})
				<-ctx.Done()
				return transcript.ToolResult{}, ctx.Err()
			}})
		if err != nil {
			t.Fatal(err)
		}
		reply := says(
			"tool_use", transcript.ToolUse("a", "run", []byte("{}")), transcript.ToolUse("b", "gone", []byte("{}")),
		)
		cfg := config(&model{replies: []any{reply, text("done")}}, session.NewMemoryStore(), tools)
		cfg.Now = time.Now
		events := heard(&cfg)
		if _, err := Run(ctx, cfg, "go"); err != nil {
			t.Fatal(err)
		}
		by := map[EventType]Event{}
		for _, e := range *events {
			if e.ID == "a" {
				by[e.Type] = e
			}
			if e.Type == ToolResultReceived && e.Result != "" {
				t.Errorf("its text is told twice: %+v", e)
			}
		}
		if p := by[ToolProgress]; *p.Progress != 1 || *p.Total != 4 || p.Message != "a quarter" {
			t.Errorf("%+v", p)
		}
		late := by[ToolExecutionTimedOut]
		if *late.TimeoutMS != 2000 || *late.DurationMS != 2000 ||
			!strings.Contains(late.Result, "timed out after 2s") ||
			late.Status != "timed_out" {
			t.Errorf("%+v", late)
		}
		if _, both := by[ToolExecutionCompleted]; both || *by[ToolResultReceived].Size != len(late.Result) {
			t.Errorf("%+v", by)
		}
		s := load(t, cfg.Store)
		legal(t, s.Messages)
		agrees(t, &s)
	})
}
