package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// hostile configures the test binary as a server.
func hostile(name, kind string, env ...string) mcp.Server {
	s := mcp.Server{Name: name, Command: os.Args[0], Env: map[string]string{mode: kind}}
	for i := 0; i < len(env); i += 2 {
		s.Env[env[i]] = env[i+1]
	}
	return s
}

var quick = mcp.Options{Grace: 400 * time.Millisecond}

func open(t *testing.T, o mcp.Options, servers ...mcp.Server) *mcp.Router {
	t.Helper()
	r, err := mcp.Open(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func call(r tool.Dispatcher, name, args string) transcript.ToolResult {
	return r.Dispatch(context.Background(), transcript.ToolCall{ID: "id", Name: name, Args: []byte(args)})
}

func wantText(t *testing.T, got transcript.ToolResult, isError bool, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got.Content, part) {
			t.Errorf("%q does not hold %q", got.Content, part)
		}
	}
	if got.IsError != isError || got.ToolUseID != "id" {
		t.Errorf("isError %v, id %q: %q", got.IsError, got.ToolUseID, got.Content)
	}
}

func names(defs []transcript.ToolDef) []string {
	var out []string
	for _, d := range defs {
		out = append(out, d.Name)
	}
	return out
}

// TestDiscovery: the servers' order and each server's own over its pages, exact
// schemas, and what was left out.
func TestDiscovery(t *testing.T) {
	chosen := hostile("c", "lies")
	chosen.Allow, chosen.Deny = []string{"*o*"}, []string{"remote"}
	r := open(t, quick, hostile("b", "pages"), hostile("a", "plain"), chosen)
	want := []string{"b__zeta", "b__alpha", "a__run", "c__good"}
	if diff := cmp.Diff(want, names(r.Defs())); diff != "" {
		t.Error(diff)
	}
	if got := string(r.Defs()[2].InputSchema); got != `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","maximum":9007199254740993}}}` {
		t.Error("the schema is not the server's own:", got)
	}
	wantInfo := mcp.Info{
		Server: "a", Name: "test", Version: "1", Protocol: "2025-06-18", Instructions: "be kind", Tools: 1,
	}
	if diff := cmp.Diff(wantInfo, r.Servers()[1]); diff != "" {
		t.Error(diff)
	}
	wantText(t, call(r, "a__run", `{}`), false, "done")
	wantText(t, call(r, "nope", `{}`), true, "b__zeta, b__alpha")
	wantText(t, call(r, "a__run", `{"a":"x"}`), true, "not executed", "a: Invalid type", "z (string)")
}

func TestLiesAboutSchemas(t *testing.T) {
	r := open(t, quick, hostile("s", "lies"))
	if got := names(r.Defs()); len(got) != 3 || got[0] != "s__good" || got[1] != "s__remote" ||
		!strings.HasPrefix(got[2], "s__w") {
		t.Error(got)
	}
	var left []string
	for _, p := range r.Problems() {
		left = append(left, p.Tool+": "+p.Why)
	}
	all := strings.Join(left, "\n")
	for _, want := range []string{
		"none: ", "null: ", "list: ", "text: ", "untyped: ", "wrong: its input schema is not a valid",
		"circle: its input schema holds references that run in circles", "listed twice",
		"task: it runs as a task only",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	wantText(t, call(r, "s__remote", `{"x":1}`), false, "done")
}

func TestOpenFails(t *testing.T) {
	slow := hostile("s", "hang")
	slow.StartTimeout = 2 * time.Second // it must have said what it waits for
	for want, servers := range map[string][]mcp.Server{
		"mcp server s: it did not answer the handshake within ":       {hostile("ok", "plain"), slow},
		"it said: waiting for a database":                             {slow},
		"mcp server d: it ended during the handshake (exit status 3)": {hostile("d", "die")},
		"no token [TOKEN]": {hostile("d", "die", "TOKEN", "sk-canary-0123")},
		"mcp server n: no-such-program: not found in PATH": {{Name: "n", Command: "no-such-program"}},
		"mcp server w: cwd: stat /no/folder: no such file": {{Name: "w", Command: "sh", Dir: "/no/folder"}},
		"mcp server g: its list of tools cannot be read":   {hostile("g", "garbled")},
		"mcp server e: its list of tools has no end":       {hostile("e", "endless")},
		"mcp server u: ":                      {{Name: "u", URL: "http://127.0.0.1:1/mcp"}},
		"mcp server number 1: it has no name": {{Command: "x"}},
		"mcp server a: two servers have this name": {
			{Name: "a", Command: "x"}, {Name: "a", Command: "x"},
		},
		"mcp server a: set either command or url":                 {{Name: "a"}},
		"mcp server a: its url is not an http or https address":   {{Name: "a", URL: "file:///x"}},
		`mcp server a: tool pattern "[": syntax error in pattern`: {{Name: "a", Command: "x", Deny: []string{"["}}},
	} {
		begin := time.Now()
		_, err := mcp.Open(t.Context(), servers, quick)
		var se *mcp.ServerError
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &se) {
			t.Errorf("%v; want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Error("the error holds a secret:", err)
		}
		if took := time.Since(begin); took > 40*time.Second {
			t.Errorf("%s: took %v", want, took)
		}
	}
	broken := hostile("d", "die")
	broken.Optional = true
	r := open(t, quick, broken, hostile("a", "plain"))
	if p := r.Problems(); len(p) != 1 || p[0].Server != "d" || strings.HasPrefix(p[0].Why, "mcp server") ||
		len(r.Defs()) != 1 {
		t.Error(p, r.Defs())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcp.Open(ctx, []mcp.Server{hostile("a", "plain")}, quick); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCrash: the call that the server died in is answered truthfully, the next
// one starts it again, and not for ever.
func TestCrash(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	o := quick
	o.MaxRestarts = 1
	r := open(t, o, hostile("s", "crash", "NOTES", notes))
	for range 2 {
		wantText(
			t, call(r, "s__run", `{}`), true, "the server s ended while the tool ran (exit status 7)", "may have run",
		)
	}
	wantText(t, call(r, "s__run", `{}`), true, "it ended 2 times and is not started again", "did not run")
	if got := readTool(t, notes); got != "crash\ncall\ncrash\ncall\n" {
		t.Error(got)
	}
	if c := r.Changes(t.Context()); c != nil {
		t.Error(c)
	}
}

// TestEndsBetweenCalls: a server that ended when nobody called is started again
// before the next call, of which nothing was lost.
func TestEndsBetweenCalls(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	r := open(t, quick, hostile("s", "brief", "NOTES", notes))
	for i := range 3 {
		wantText(t, call(r, "s__run", `{}`), false, "done")
		until(t, func() bool { return strings.Count(readTool(t, notes), "leaving") == i+1 })
		until(t, func() bool { return mcp.Ended(r) })
	}
}

func TestNoiseAndFloods(t *testing.T) {
	o := quick
	o.MaxMessage = 1 << 20
	r := open(
		t, o, hostile("n", "noise"), hostile("h", "huge"), hostile("f", "flood"), hostile("t", "types"),
		hostile("k", "kinds"), hostile("e", "isError"),
	)
	wantText(t, call(r, "n__run", `{}`), false, "done")
	wantText(
		t, call(r, "h__run", `{}`), true, "the server h ended",
		"it sent a message of more than 1048576 bytes; the setting limits.mcp_message_bytes holds this limit",
		"may have run",
	)
	wantText(t, call(r, "f__run", `{}`), true, "the server f ended", "bytes that are not messages")
	for range 2 { // the link lives on
		wantText(t, call(r, "t__run", `{}`), true, "the answer of the server t cannot be read")
		wantText(t, call(r, "k__run", `{}`), true, "the answer of the server k cannot be read", "hologram")
	}
	wantText(t, call(r, "e__run", `{}`), true, "failed without a message")
}

func TestRichResults(t *testing.T) {
	r := open(t, quick, hostile("r", "rich"), hostile("t", "twice"), hostile("e", "echo"))
	got := call(r, "r__run", `{}`)
	want := "see\n[left out: an image, image/svg+xml of 6 bytes; images are PNG, JPEG, GIF or WebP]\n[resource file:///a]\nbody\n[resource file:///c: c, text/plain]\n" + `{"z":1.0,"a":9007199254740993}`
	if diff := cmp.Diff(want, got.Content); diff != "" {
		t.Error(diff)
	}
	var kinds []string
	for _, p := range got.Parts {
		kinds = append(kinds, fmt.Sprint(p.Type, " ", p.MediaType, " ", len(p.Data)))
	}
	if diff := cmp.Diff(
		[]string{"image image/png 70", "file audio/wav 4", "file application/pdf 4"}, kinds,
	); diff != "" {
		t.Error(diff)
	}
	if got := call(r, "t__run", `{}`).Content; got != `{"b":2,"a":1}` {
		t.Error(got)
	}
	wantText(
		t, call(r, "e__run", `{"z":"é","a":9007199254740993}`), false, `"arguments":{"z":"é","a":9007199254740993}`,
		`"name":"run"`,
	)
}

// TestEnvironment: a server sees what it was given and where things are, and
// nothing that another has; its secrets are not in the log.
func TestEnvironment(t *testing.T) {
	var log bytes.Buffer
	o := quick
	o.Log = slog.New(slog.NewTextHandler(&safe{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Environ = []string{"PATH=/old", "PATH=/bin", "HOME=/home/x", "ANTHROPIC_API_KEY=sk-ant-canary"}
	t.Setenv("MEERKAT_LEAK", "leak")
	r := open(
		t, o, hostile("a", "env", "TOKEN", "canary-token-1", "HOME", "/own"),
		hostile("b", "env", "TOKEN", "canary-token-2"),
	)
	got := call(r, "a__run", `{}`).Content
	if want := "HOME=/own\nMCP_TEST_SERVER=env\nTOKEN=canary-token-1\nPATH=/bin"; got != want {
		t.Errorf("%s", got)
	}
	r.Close()
	o.Environ = nil // that of this process, of which only what is harmless is passed on
	r = open(t, o, hostile("c", "env"))
	if got := call(r, "c__run", `{}`).Content; !strings.Contains(got, "PATH="+os.Getenv("PATH")) ||
		strings.Contains(got, "LEAK") {
		t.Error(got)
	}
	r.Close()
	if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "my token is [TOKEN]") {
		t.Error(text)
	}
}

// TestAsks: what we do not offer is declined, and the call goes on.
func TestAsks(t *testing.T) {
	r := open(t, quick, hostile("s", "asks"))
	got := call(r, "s__run", `{}`)
	wantText(t, got, false, "sampling/createMessage {\"code\"", "elicitation/create {\"code\"", "roots/list ")
}

// TestChanges: definitions stay, changes are told once.
func TestChanges(t *testing.T) {
	r := open(t, quick, hostile("s", "changes"))
	before := r.Defs()
	if c := r.Changes(t.Context()); c != nil {
		t.Error(c)
	}
	wantText(t, call(r, "s__run", `{}`), false, "changed")
	var c []mcp.Change
	until(t, func() bool { c = r.Changes(t.Context()); return c != nil })
	if len(c) != 1 || c[0].Server != "s" || !cmp.Equal(names(c[0].Added), []string{"s__new"}) ||
		!cmp.Equal(c[0].Removed, []string{"s__old"}) || !cmp.Equal(names(c[0].Altered), []string{"s__run"}) {
		t.Fatalf("%+v", c)
	}
	wantText(t, call(r, "s__old", `{}`), true, "the server s no longer offers the tool s__old")
	if c := r.Changes(t.Context()); c != nil {
		t.Error(c)
	}
	if diff := cmp.Diff(before, r.Defs()); diff != "" {
		t.Error(diff)
	}
}

// TestCancel: the end of a call reaches the server, and a timeout is one.
func TestCancel(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	s := hostile("s", "slow", "NOTES", notes)
	s.Timeout = 200 * time.Millisecond
	r := open(t, quick, s)
	var outcome tool.Outcome
	got := tool.DispatchAll(t.Context(), r, []transcript.ToolCall{{ID: "id", Name: "s__run", Args: []byte(`{}`)}}, 0,
		tool.Observer{
			Settled: func(_ transcript.ToolCall, _ transcript.ToolResult, o tool.Outcome) { outcome = o },
		})
	wantText(t, got[0], true, "tool s__run timed out after 200ms")
	if outcome.Status != tool.StatusTimedOut || outcome.Timeout != s.Timeout {
		t.Errorf("%+v", outcome)
	}
	until(t, func() bool { return strings.HasSuffix(readTool(t, notes), "call\nwaiting\ncancelled\n") })
	if p := r.Problems(); p != nil {
		t.Error(p)
	}
}

func TestProgress(t *testing.T) {
	r := open(t, quick, hostile("s", "progress"))
	seen := make(chan tool.Progress, 9)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tool.DispatchAll(ctx, r, []transcript.ToolCall{{ID: "id", Name: "s__run", Args: []byte(`{}`)}}, 0, tool.Observer{
		Progress: func(_ transcript.ToolCall, p tool.Progress) { seen <- p; cancel() },
	})
	if got := <-seen; got != (tool.Progress{Done: 1, Total: 2, Message: "half"}) {
		t.Errorf("%+v", got)
	}
}

// TestCloseEndsTheDeaf: Close interrupts a running call, and kills a server that
// ignores the end of its stdin and SIGTERM, with its children.
func TestCloseEndsTheDeaf(t *testing.T) {
	dir := t.TempDir()
	mark, notes := filepath.Join(dir, "pid"), filepath.Join(dir, "notes")
	r := open(t, quick, hostile("s", "deaf", "MARK", mark, "NOTES", notes, "PATH", os.Getenv("PATH")))
	got := make(chan transcript.ToolResult)
	go func() { got <- call(r, "s__run", `{}`) }()
	until(t, func() bool { return strings.Contains(readTool(t, notes), "waiting") })
	begin := time.Now()
	r.Close()
	if took := time.Since(begin); took > 40*time.Second {
		t.Errorf("Close took %v", took)
	}
	wantText(t, <-got, true, "interrupted")
	pid, err := strconv.Atoi(readTool(t, mark))
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return gone(pid) })
	r.Close() // once more is no harm
	wantText(t, call(r, "s__run", `{}`), true, "did not run")
}

// gone reports whether a process has ended; one that waits to be reaped by its
// adoptive parent has.
func gone(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil || process.Signal(syscall.Signal(0)) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func readTool(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// until waits for what another process does.
func until(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); !done(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it did not happen")
		}
	}
}

// safe is a writer for several goroutines.
type safe struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
