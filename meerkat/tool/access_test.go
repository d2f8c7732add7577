package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func threeTools(t *testing.T) tool.Dispatcher {
	t.Helper()
	ok := func(context.Context, []byte) (transcript.ToolResult, error) { return text("ran") }
	read := named("read", ok)
	read.Timeout, read.ReadOnly = time.Second, true
	return registry(t, read, named("write", ok), named("spawn_agent", ok))
}

// TestAccess: the list of tools stays, and each call is answered as the policy says.
func TestAccess(t *testing.T) {
	d := threeTools(t)
	for _, c := range []struct {
		policy tool.AccessPolicy
		call   string
		want   string
	}{
		{tool.AccessPolicy{}, "write", "ran"},
		{tool.InheritAccess(), "write", "ran"},
		{tool.AllowList("read"), "read", "ran"},
		{
			tool.AllowList("read"), "write",
			"not executed: this agent may not call the tool write; the tools that it may call are: read",
		},
		{
			tool.AllowList(), "read",
			"not executed: this agent may not call the tool read; the tools that it may call are: none",
		},
		{tool.DenyList("spawn_agent"), "write", "ran"},
		{
			tool.DenyList("spawn_agent"), "spawn_agent",
			"not executed: this agent may not call the tool spawn_agent; the tools that it may call are: read, write",
		},
		{tool.DenyList("spawn_agent"), "raed", `there is no tool named "raed"; the tools are: read, write`},
	} {
		limited := tool.WithAccess(d, c.policy)
		if diff := cmp.Diff(d.Defs(), limited.Defs()); diff != "" {
			t.Errorf("%v: the tools on offer changed: %s", c.policy, diff)
		}
		got := limited.Dispatch(ctx, transcript.ToolCall{ID: "c1", Name: c.call, Args: []byte("{}")})
		if got.Content != c.want || got.ToolUseID != "c1" || got.IsError != (c.want != "ran") {
			t.Errorf("%v, %s: %+v, want %q", c.policy, c.call, got, c.want)
		}
		if traits := tool.TraitsOf(limited, "read"); !traits.ReadOnly || traits.Timeout != time.Second {
			t.Errorf("the traits are lost: %+v", traits)
		}
	}
}

// fixedDefs is a dispatcher of somebody else, which returns its own slice.
type fixedDefs struct {
	tool.Dispatcher
	defs []transcript.ToolDef
}

func (f fixedDefs) Defs() []transcript.ToolDef { return f.defs }

// TestAccessToHosted: what the provider runs cannot be refused call by call, so it is not
// offered where it is not allowed, also by a policy that names a tool that is gone. A call
// of it as a function is answered with an error.
func TestAccessToHosted(t *testing.T) {
	inner := registry(
		t,
		named(
			"read",
			func(context.Context, []byte) (transcript.ToolResult, error) { return transcript.ToolResult{}, nil },
		),
		tool.Hosted(transcript.HostedSearch),
	)
	d := fixedDefs{inner, inner.Defs()}
	for allowed, want := range map[string]int{"read": 1, transcript.HostedSearch: 2} {
		limited := tool.WithAccess(d, tool.AllowList(allowed, "gone"))
		if n := len(limited.Defs()); n != want {
			t.Errorf("allowed %s: %d tools are on offer, want %d", allowed, n, want)
		}
	}
	if diff := cmp.Diff(inner.Defs(), d.Defs()); diff != "" {
		t.Errorf("the slice of the dispatcher changed: %s", diff)
	}
	if got := d.Dispatch(ctx, transcript.ToolCall{
		ID: "c1", Name: transcript.HostedSearch, Args: []byte("{}"),
	}); !got.IsError || !strings.Contains(got.Content, "the provider runs this tool itself") {
		t.Errorf("%+v", got)
	}
}

func TestAccessNamesUnknownTools(t *testing.T) {
	err := tool.AllowList("raed", "write", "deploy").Validate(threeTools(t).Defs())
	const want = "tool access: there is no tool named \"raed\"; did you mean read?\ntool access: there is no tool named \"deploy\""
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAccessJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"inherit"}`:                           `{"type":"inherit"}`,
		`{"type":"allow_list","value":["b","a"]}`:      `{"type":"allow_list","value":["b","a"]}`,
		`{"type":"allow_list","value":[]}`:             `{"type":"allow_list","value":[]}`,
		`{"type":"deny_list","value":["a"]}`:           `{"type":"deny_list","value":["a"]}`,
		`{"type":"alow_list","value":["a"]}`:           "did you mean allow_list?",
		`{"type":"allow_list"}`:                        "allow_list needs a value",
		`{"type":"inherit","value":["a"]}`:             "inherit takes no value",
		`{"type":"allow_list","value":["a"],"deny":1}`: `unknown field "deny"`,
		`{"type":"deny_list","value":"a"}`:             "cannot unmarshal",
		`{}`:                                           `type "" is not known`,
	} {
		var p tool.AccessPolicy
		err := json.Unmarshal([]byte(in), &p)
		out, merr := json.Marshal(p)
		if merr != nil || err == nil && string(out) != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v, %v; want %s", in, out, err, merr, want)
		}
	}
	if out, err := json.Marshal(tool.AccessPolicy{}); err != nil || string(out) != `{"type":"inherit"}` {
		t.Errorf("%s, %v", out, err)
	}
}

// FuzzAccessPolicy: what is read is written, and what is written is read as the same.
func FuzzAccessPolicy(f *testing.F) {
	f.Add([]byte(`{"type":"allow_list","value":["read"]}`), "read")
	f.Add([]byte(`{"type":"deny_list","value":[]}`), "")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		var first, second tool.AccessPolicy
		if json.Unmarshal(data, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &second); err != nil || first.Allows(name) != second.Allows(name) {
			t.Errorf("%s became %s: %v", data, written, err)
		}
	})
}
