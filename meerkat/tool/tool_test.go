package tool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var ctx = context.Background()

func named(name string, f tool.Func) tool.Tool {
	return tool.Tool{Def: transcript.ToolDef{Name: name}, Func: f}
}

func text(s string) (transcript.ToolResult, error) { return transcript.ToolResult{Content: s}, nil }

func registry(t *testing.T, tools ...tool.Tool) *tool.Registry {
	t.Helper()
	r, err := tool.New(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDispatch: every call has one answer with its id, whatever the tool does.
func TestDispatch(t *testing.T) {
	ran := 0
	r := registry(t,
		named(
			"echo",
			func(_ context.Context, args []byte) (transcript.ToolResult, error) { ran++; return text(string(args)) },
		),
		named("fail", func(context.Context, []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{}, errors.New("no disk")
		}),
		named("mute", func(context.Context, []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{IsError: true}, nil
		}),
		named("panic", func(context.Context, []byte) (transcript.ToolResult, error) { panic("boom") }),
		named(
			"exit", func(context.Context, []byte) (transcript.ToolResult, error) { runtime.Goexit(); return text("") },
		),
		named("dirty", func(context.Context, []byte) (transcript.ToolResult, error) { return text("a\xff") }),
	)
	for _, c := range []struct {
		name, args, want string
		isError          bool
		runs             int
	}{
		{"echo", `{"z":1.0, "a":"\u00e9"}`, `{"z":1.0, "a":"\u00e9"}`, false, 1},
		{
			"echo", `{"a":`,
			"tool echo was not executed: its arguments are not valid JSON (unexpected end of JSON input)", true, 0,
		},
		{
			"echo", ``, "tool echo was not executed: its arguments are not valid JSON (unexpected end of JSON input)",
			true, 0,
		},
		{"echo", `"{}"`, "tool echo was not executed: its arguments are not a JSON object", true, 0},
		{"echo", `null`, "tool echo was not executed: its arguments are not a JSON object", true, 0},
		{"nope", `{}`, `there is no tool named "nope"; the tools are: echo, fail, mute, panic, exit, dirty`, true, 0},
		{"fail", `{}`, "no disk", true, 0},
		{"mute", `{}`, "tool mute failed without a message", true, 0},
		{"panic", `{}`, "tool panic panicked: boom; it may have had effects", true, 0},
		{"exit", `{}`, "tool exit ended without a result; it may have had effects", true, 0},
		{"dirty", `{}`, "a\uFFFD\n[1 bytes were not valid UTF-8 and stand as U+FFFD]", false, 0},
	} {
		ran = 0
		got := r.Dispatch(ctx, transcript.ToolCall{ID: "id", Name: c.name, Args: []byte(c.args)})
		want := transcript.ToolResult{ToolUseID: "id", Content: c.want, IsError: c.isError}
		if diff := cmp.Diff(want, got); diff != "" || ran != c.runs {
			t.Errorf("%s(%s): ran %d times\n%s", c.name, c.args, ran, diff)
		}
	}
	if got := registry(t).Dispatch(ctx, transcript.ToolCall{Name: "x"}); !strings.Contains(
		got.Content, "the tools are: none",
	) {
		t.Error(got.Content)
	}
}

func TestNewRefuses(t *testing.T) {
	f := func(context.Context, []byte) (transcript.ToolResult, error) { return text("") }
	for want, tools := range map[string][]tool.Tool{
		"registered twice":  {named("a", f), named("a", f)},
		`tool ""`:           {named("", f)},
		`tool "a.b"`:        {named("a.b", f)},
		`tool "1a"`:         {named("1a", f)},
		"1 to 64":           {named(strings.Repeat("a", 65), f)},
		"no function":       {named("a", nil)},
		"not a JSON object": {{Def: transcript.ToolDef{Name: "a", InputSchema: transcript.RawJSON(`[]`)}, Func: f}},
	} {
		if _, err := tool.New(tools...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestDefs keeps order and schemas; the caller may do with the slice as he likes.
func TestDefs(t *testing.T) {
	f := func(context.Context, []byte) (transcript.ToolResult, error) { return text("") }
	r := registry(t, named("z", f), tool.Tool{
		Def: transcript.ToolDef{Name: "a", InputSchema: transcript.RawJSON(`{ "type":"object" }`)}, Func: f,
	})
	r.Defs()[0].Name = "changed"
	want := []transcript.ToolDef{
		{Name: "z", InputSchema: transcript.RawJSON(`{"type":"object","properties":{}}`)},
		{Name: "a", InputSchema: transcript.RawJSON(`{ "type":"object" }`)},
	}
	if diff := cmp.Diff(want, r.Defs()); diff != "" {
		t.Error(diff)
	}
}

func calls(n int) []transcript.ToolCall {
	out := make([]transcript.ToolCall, n)
	for i := range out {
		out[i] = transcript.ToolCall{ID: fmt.Sprint("c", i), Name: "t", Args: []byte(`{}`)}
	}
	return out
}

// TestDispatchAllKeepsOrder although later calls end first, and never runs more
// than the limit at once.
func TestDispatchAllKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, limit = 9, 3
		var running, most, turn atomic.Int32
		r := registry(t, named("t", func(context.Context, []byte) (transcript.ToolResult, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Duration(n-turn.Add(1)) * time.Second)
			return text("done")
		}))
		var started, done []string
		results := tool.DispatchAll(t.Context(), r, calls(n), limit, tool.Observer{
			Started: func(c transcript.ToolCall) { started = append(started, c.ID) },
			Done:    func(c transcript.ToolCall, _ transcript.ToolResult) { done = append(done, c.ID) },
		})
		for i, got := range results {
			if got.ToolUseID != fmt.Sprint("c", i) || got.Content != "done" {
				t.Errorf("result %d is %+v", i, got)
			}
		}
		if most.Load() != limit || len(started) != n || len(done) != n {
			t.Errorf("%d at once, want %d; started %v, done %v", most.Load(), limit, started, done)
		}
	})
}

func TestDispatchAllWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, named("t", func(context.Context, []byte) (transcript.ToolResult, error) {
			time.Sleep(time.Second)
			return text("done")
		}))
		begin := time.Now()
		tool.DispatchAll(t.Context(), r, calls(50), 0, tool.Observer{})
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v", took)
		}
		if got := tool.DispatchAll(t.Context(), r, nil, 0, tool.Observer{}); len(got) != 0 {
			t.Error(got)
		}
	})
}

// TestCancelTellsTheTruth: done, may have run, did not run.
func TestCancelTellsTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var turn atomic.Int32
		r := registry(t, named("t", func(context.Context, []byte) (transcript.ToolResult, error) {
			if turn.Add(1) > 1 {
				<-release // deaf to its context
			}
			return text("done")
		}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		got := tool.DispatchAll(ctx, r, calls(3), 1, tool.Observer{})
		close(release)
		for i, want := range []string{
			"done", "interrupted: the tool may have run", "not executed: the run was cancelled",
		} {
			if !strings.HasPrefix(got[i].Content, want) || got[i].ToolUseID != fmt.Sprint("c", i) ||
				got[i].IsError != (i > 0) {
				t.Errorf("result %d is %+v; want %q", i, got[i], want)
			}
		}
		if turn.Load() != 2 {
			t.Errorf("%d tools ran; want 2", turn.Load())
		}
	})
}
