package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// approvedTool offers a tool that works for as long as its limit allows and a minute
// more, if it is stubborn, or answers at once.
func approvedTool(t *testing.T, stubborn bool, approve tool.Approve) tool.Dispatcher {
	t.Helper()
	r, err := tool.New(tool.Tool{
		Def:     transcript.ToolDef{Name: "dig", InputSchema: transcript.RawJSON(`{"type":"object"}`)},
		Timeout: time.Minute, Idempotent: true,
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			if stubborn {
				time.Sleep(2 * time.Minute)
			}
			return transcript.ToolResult{Content: "dug"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool.Approved(r, approve)
}

// TestApproved holds that a refusal reaches the model and not the tool, that a person
// may take longer than the tool, and that the tool's own time still counts.
func TestApproved(t *testing.T) {
	call := transcript.ToolCall{ID: "1", Name: "dig", Args: transcript.RawJSON(`{}`)}
	for _, c := range []struct {
		name     string
		stubborn bool
		approve  tool.Approve
		want     string
		isError  bool
	}{
		{
			"refused", false,
			func(context.Context, transcript.ToolCall, tool.Traits) error { return errors.New("the user said no") },
			"not executed: the user said no", true,
		},
		{
			"after an hour", false,
			func(context.Context, transcript.ToolCall, tool.Traits) error { time.Sleep(time.Hour); return nil }, "dug",
			false,
		},
		{
			"too slow a tool", true, func(context.Context, transcript.ToolCall, tool.Traits) error { return nil },
			"timed out after 1m0s", true,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked tool.Traits
			d := approvedTool(t, c.stubborn,
				func(ctx context.Context, call transcript.ToolCall, traits tool.Traits) error {
					asked = traits
					return c.approve(ctx, call, traits)
				})
			got := tool.DispatchAll(t.Context(), d, []transcript.ToolCall{call}, 1, tool.Observer{})[0]
			if !strings.Contains(got.Content, c.want) || got.IsError != c.isError {
				t.Errorf("%s: %+v; want %q", c.name, got, c.want)
			}
			if asked.Timeout != time.Minute || !tool.TraitsOf(d, "dig").Idempotent {
				t.Errorf("%s: traits %+v", c.name, asked)
			}
			time.Sleep(time.Hour) // until the tool is done
		})
	}
}
