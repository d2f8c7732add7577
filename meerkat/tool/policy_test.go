package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quickly(context.Context, []byte) (transcript.ToolResult, error) { return text("done") }

func call(name string) transcript.ToolCall {
	return transcript.ToolCall{ID: "id", Name: name, Args: []byte(`{}`)}
}

func names(d tool.Dispatcher) string {
	var out []string
	for _, def := range d.Defs() {
		out = append(out, def.Name)
	}
	return strings.Join(out, " ")
}

// TestRestrict: what is not allowed is not on offer and does not run.
func TestRestrict(t *testing.T) {
	base := registry(t, named("fs_read", quickly), named("fs_write", quickly), named("web", quickly),
		tool.Tool{Def: transcript.ToolDef{Name: "own"}, Func: quickly, Timeout: time.Second, Idempotent: true})
	d, err := tool.Restrict(base, tool.Policy{
		Allow: []string{"fs_*", "own"}, Deny: []string{"*_write"},
		Timeout: time.Minute, Timeouts: map[string]time.Duration{"web": time.Hour}, MaxText: 5000,
	})
	if err != nil || names(d) != "fs_read own" {
		t.Fatal(err, names(d))
	}
	for name, want := range map[string]string{
		"fs_read":  "done",
		"fs_write": "not executed: the tool fs_write is not allowed in this run",
		"web":      "not executed: the tool web is not allowed in this run",
		"nope":     `there is no tool named "nope"; the tools are: fs_read, own`,
	} {
		if got := d.Dispatch(ctx, call(name)).Content; got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, want := range map[string]time.Duration{"fs_read": time.Minute, "own": time.Second, "web": time.Hour} {
		if got := tool.TraitsOf(d, name); got.Timeout != want || got.MaxText != 5000 ||
			got.Idempotent != (name == "own") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := tool.Restrict(base, tool.Policy{Deny: []string{"["}}); err == nil ||
		!strings.HasPrefix(err.Error(), `tool pattern "["`) {
		t.Error(err)
	}
}

func TestJoin(t *testing.T) {
	a, b := registry(t, named("z", quickly)), registry(t, tool.Tool{
		Def: transcript.ToolDef{Name: "a"}, Func: quickly, ReadOnly: true,
	})
	d, err := tool.Join(a, b)
	if err != nil || names(d) != "z a" {
		t.Fatal(err, names(d))
	}
	if got := d.Dispatch(ctx, call("a")); got.Content != "done" || !tool.TraitsOf(d, "a").ReadOnly {
		t.Error(got)
	}
	if got := d.Dispatch(ctx, call("x")).Content; got != `there is no tool named "x"; the tools are: z, a` {
		t.Error(got)
	}
	if _, err := tool.Join(a, a); err == nil || !strings.Contains(err.Error(), "tools of one name: z") {
		t.Error(err)
	}
}

// TestTimeouts are typed: by the bound that ended the call, whatever the tool
// says, and whether or not it listens. A slot is free again.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := registry(t,
			tool.Tool{Def: transcript.ToolDef{Name: "deaf"}, Timeout: time.Second,
				Func: func(context.Context, []byte) (transcript.ToolResult, error) {
					<-release
					return text("late")
				}},
			tool.Tool{Def: transcript.ToolDef{Name: "polite"}, Timeout: time.Second,
				Func: func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
					<-ctx.Done()
					return text("")
				}},
			tool.Tool{Def: transcript.ToolDef{Name: "gives-up"}, Timeout: time.Second,
				Func: func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
					<-ctx.Done()
					return transcript.ToolResult{}, fmt.Errorf("asking: %w", ctx.Err())
				}},
			named("inner", func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				<-ctx.Done()
				return transcript.ToolResult{}, ctx.Err()
			}),
			named("quick", quickly))
		got := map[string]tool.Outcome{}
		var order, calls []string
		var all []transcript.ToolCall
		for _, name := range []string{"deaf", "gives-up", "inner", "quick"} {
			all = append(all, call(name))
			calls = append(calls, name)
		}
		results := tool.DispatchAll(t.Context(), d, all, 1, tool.Observer{
			Settled: func(c transcript.ToolCall, _ transcript.ToolResult, o tool.Outcome) {
				got[c.Name], order = o, append(order, c.Name)
			},
		})
		close(release)
		want := map[string]tool.Outcome{
			"deaf":     {Status: tool.StatusTimedOut, Took: time.Second, Timeout: time.Second},
			"gives-up": {Status: tool.StatusTimedOut, Took: time.Second, Timeout: time.Second},
			"inner":    {Status: tool.StatusError, Took: time.Second},
			"quick":    {Status: tool.StatusComplete},
		}
		if diff := cmp.Diff(want, got); diff != "" || !cmp.Equal(order, calls) {
			t.Error(diff, order)
		}
		for i, want := range []string{
			"tool deaf timed out after 1s; it may have had effects", "tool gives-up timed out",
			"context deadline exceeded", "done",
		} {
			if !strings.HasPrefix(results[i].Content, want) {
				t.Error(results[i].Content)
			}
		}
	})
}

// TestStatuses of a run that ends: what was there, what ran, what did not start.
func TestStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := registry(t, named("quick", quickly), named("bad",
			func(context.Context, []byte) (transcript.ToolResult, error) {
				return transcript.ToolResult{}, errors.New("no")
			}), named("long", func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
			cancel()
			<-ctx.Done()
			return transcript.ToolResult{}, ctx.Err()
		}))
		got := map[string]string{} // by tool: the order of different calls is open
		results := tool.DispatchAll(ctx, d,
			[]transcript.ToolCall{call("quick"), call("bad"), call("long"), call("never")}, 1, tool.Observer{
				Done: func(c transcript.ToolCall, _ transcript.ToolResult) { got[c.Name] += "done, " },
				Settled: func(c transcript.ToolCall, _ transcript.ToolResult,
					o tool.Outcome) {
					got[c.Name] += string(o.Status)
				},
			})
		want := map[string]string{
			"quick": "done, complete", "bad": "done, error", "long": "done, interrupted", "never": "cancelled",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(tool.Interrupted("id"), results[2]); diff != "" {
			t.Error(diff)
		}
	})
}

// wild is a Dispatcher that keeps none of the promises.
type wild struct{}

func (wild) Defs() []transcript.ToolDef { return nil }

func (wild) Dispatch(_ context.Context, c transcript.ToolCall) transcript.ToolResult {
	if c.Name == "panic" {
		panic("wild")
	}
	return transcript.ToolResult{ToolUseID: "another", Content: strings.Repeat("é\xff", 300_000)}
}

func TestDispatchAllTamesTheWild(t *testing.T) {
	got := tool.DispatchAll(ctx, wild{}, []transcript.ToolCall{call("panic"), call("flood")}, 0, tool.Observer{})
	if !strings.HasPrefix(got[0].Content, "tool panic panicked: wild") || !got[0].IsError {
		t.Error(got[0])
	}
	if got[1].ToolUseID != "id" || len(got[1].Content) > tool.DefaultMaxText || !utf8.ValidString(got[1].Content) ||
		!strings.Contains(got[1].Content, "[300000 bytes were not valid UTF-8 and stand as U+FFFD]") {
		t.Errorf(
			"%q, %d bytes, ends %.200q", got[1].ToolUseID, len(got[1].Content),
			got[1].Content[len(got[1].Content)-200:],
		)
	}
}

// TestProgress comes between the start and the end of its own call, mended.
func TestProgress(t *testing.T) {
	var late context.Context
	d := registry(t, named("t", func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
		late = ctx
		tool.Report(ctx, tool.Progress{Done: 1, Total: 2, Message: "a\xff" + strings.Repeat("é", 1000)})
		return text("done")
	}))
	var got []string
	tool.DispatchAll(ctx, d, []transcript.ToolCall{call("t")}, 0, tool.Observer{
		Started: func(transcript.ToolCall) { got = append(got, "started") },
		Progress: func(c transcript.ToolCall, p tool.Progress) {
			got = append(got, fmt.Sprint(c.ID, p.Done, p.Total, len(p.Message), utf8.ValidString(p.Message)))
		},
		Done: func(transcript.ToolCall, transcript.ToolResult) { got = append(got, "done") },
	})
	tool.Report(late, tool.Progress{Done: 2})
	tool.Report(ctx, tool.Progress{Done: 3})
	if diff := cmp.Diff([]string{"started", "id1 2 1024 true", "done"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSound(t *testing.T) {
	long := strings.Repeat("a", 3000) + strings.Repeat("z", 3000)
	got := tool.SanitizeResult(transcript.ToolResult{Content: long}, 2000, 0).Content
	if len(got) > 2000 || !strings.HasPrefix(got, "aaa") || !strings.HasSuffix(got, "zzz") ||
		!strings.Contains(
			got, "[cut: the tool returned 6000 bytes of text; the first 1404 and the last 468 are here]",
		) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	parts := []transcript.Part{
		{Type: "image", MediaType: "image/png", Data: make([]byte, 60)},
		{Type: "file", MediaType: "application/pdf", Data: make([]byte, 50)}, {Type: "image", URL: "https://x"},
	}
	r := tool.SanitizeResult(transcript.ToolResult{Content: "see\n", Parts: parts}, 0, 100)
	if len(r.Parts) != 2 ||
		r.Content != "see\n[left out: file application/pdf of 50 bytes; results may hold 100 bytes]" {
		t.Errorf("%+v", r)
	}
	if r := tool.SanitizeResult(
		transcript.ToolResult{Content: long, Parts: parts}, -1, -1,
	); r.Content != long || len(r.Parts) != 3 {
		t.Error("a negative bound is none")
	}
}

// FuzzSound: valid, bounded, and sound once sound.
func FuzzSound(f *testing.F) {
	f.Add("plain", 0)
	f.Add("\xff\xc3", 1)
	f.Add(strings.Repeat("é\xf0\x9f", 2000), 1500)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		once := tool.SanitizeResult(transcript.ToolResult{Content: s}, limit, 0)
		if !utf8.ValidString(once.Content) {
			t.Error("not valid UTF-8")
		}
		if limit > 0 && len(once.Content) > max(limit, 1<<10) {
			t.Errorf("%d bytes of at most %d", len(once.Content), limit)
		}
		if utf8.ValidString(s) && len(s) <= 1<<10 && once.Content != s {
			t.Error("a sound text was changed")
		}
		if twice := tool.SanitizeResult(once, limit, 0); twice.Content != once.Content {
			t.Error("sound twice is another")
		}
	})
}
