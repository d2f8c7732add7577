package tool

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// chatty reports progress n times in each call.
type chatty struct{ n, limit int }

func (chatty) Defs() []transcript.ToolDef { return []transcript.ToolDef{{Name: "run"}} }
func (c chatty) Traits(string) Traits     { return Traits{MaxProgress: c.limit} }

func (c chatty) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	for i := range c.n {
		Report(ctx, Progress{Done: float64(i), Total: math.Inf(1), Message: fmt.Sprint("step ", i)})
	}
	return transcript.ToolResult{ToolUseID: call.ID}
}

// TestProgressIsBounded: a tool that reports without end is heard a bounded number of
// times, the last of which says so; one that stays below is heard in full.
func TestProgressIsBounded(t *testing.T) {
	for _, c := range []struct {
		tool chatty
		want int
	}{{chatty{4, 5}, 4}, {chatty{100_000, 5}, 5}, {chatty{100_000, 0}, DefaultMaxProgress}} {
		var heard []Progress
		DispatchAll(t.Context(), c.tool, []transcript.ToolCall{{ID: "a", Name: "run"}}, 1, Observer{
			Progress: func(_ transcript.ToolCall, p Progress) { heard = append(heard, p) },
		})
		if len(heard) != c.want {
			t.Fatalf("%+v: heard %d times; want %d", c.tool, len(heard), c.want)
		}
		last := heard[len(heard)-1]
		if cut := strings.Contains(last.Message, "tools.max_progress"); cut != (c.tool.n > c.want) {
			t.Errorf("%+v: the last report is %q", c.tool, last.Message)
		}
		if last.Total != 0 {
			t.Errorf("a total that JSON cannot hold was passed on: %v", last.Total)
		}
	}
}
