package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var ctx = context.Background()

func load(tb testing.TB, store session.Store) session.Session {
	tb.Helper()
	s, err := store.Load(ctx, sessionID)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestLoop runs a tool loop and resumes it from the file with another agent.
func TestLoop(t *testing.T) {
	dir := t.TempDir()
	m := &model{replies: []any{calls("a", "b"), calls("c"), text("done")}}
	tools := &counter{}
	got, err := Run(ctx, config(m, jsonl.New(dir, nil), tools), "go")
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		SessionID: sessionID, RunID: "r1", Text: "done", StopReason: "end_turn",
		Usage: transcript.Usage{InputTokens: 30, OutputTokens: 9}, Turns: 3, ToolCalls: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	again := &model{replies: []any{text("more")}}
	cfg := config(again, jsonl.New(dir, nil), tools)
	cfg.Model, cfg.System = "", ""
	if _, err := Resume(ctx, cfg, sessionID, "and now?"); err != nil {
		t.Fatal(err)
	}
	old, req := m.requests[2], again.requests[0]
	if req.System != old.System || req.Model != old.Model || cmp.Diff(old.Tools, req.Tools) != "" {
		t.Errorf("resumed with another prefix: %+v", req)
	}
	sent := append(slices.Clip(old.Messages), text("done").Message, transcript.User("and now?"))
	if diff := cmp.Diff(sent, req.Messages); diff != "" {
		t.Errorf("resumed request (-want +got):\n%s", diff)
	}
	s := load(t, cfg.Store)
	if s.Usage.Total() != 52 || len(s.Calls) != 4 || s.Calls[3].Turn != 4 || s.Checkpoint != session.ReasonCompleted {
		t.Errorf("usage %v, calls %+v, checkpoint %s", s.Usage, s.Calls, s.Checkpoint)
	}
	legal(t, s.Messages)
}

// TestCheckpointsComeFirst: when a tool runs, its call is on disk; when the
// model is asked, everything it is shown is.
func TestCheckpointsComeFirst(t *testing.T) {
	store := jsonl.New(t.TempDir(), nil)
	onDisk := func(req *provider.Request) {
		if diff := cmp.Diff(req.Messages, load(t, store).Messages); diff != "" {
			t.Errorf("sent but not stored: %s", diff)
		}
	}
	m := &model{replies: []any{
		func(req *provider.Request) (stream.Reply, error) { onDisk(req); return calls("a"), nil },
		func(req *provider.Request) (stream.Reply, error) { onDisk(req); return text("done"), nil },
	}}
	ran := false
	tools, err := tool.New(tool.Tool{Def: transcript.ToolDef{Name: "run"},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			s := load(t, store) //nolint:contextcheck // it looks on from outside the run
			ran = s.Last().HasToolCalls() && s.Checkpoint == session.ReasonAssistant
			return transcript.ToolResult{Content: "x"}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(ctx, config(m, store, tools), "go"); err != nil || !ran {
		t.Errorf("%v; the tool saw its own call on disk: %v", err, ran)
	}
}

// TestCrashAnywhere fails every write of a run in turn, before and after it
// reached the disk, and resumes. Whatever happened, the session is legal, no
// call runs twice, and the conversation only grows.
func TestCrashAnywhere(t *testing.T) {
	for n := range 5 {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("append %d, written %v", n, after), func(t *testing.T) {
				store, tools := session.NewMemoryStore(), &counter{}
				m := &model{replies: []any{calls("a", "b"), calls("c"), text("done")}}
				crashing := &flaky{Store: store, n: n, after: after}
				if _, err := Run(ctx, config(m, crashing, tools), "go"); !errors.Is(err, errPower) {
					t.Fatalf("the run survived: %v", err)
				}
				before := load(t, store)
				rest := &model{replies: []any{calls("d"), text("done after all")}}
				got, err := Resume(ctx, config(rest, store, tools), sessionID, "go on")
				if err != nil || got.Text != "done after all" {
					t.Fatalf("%+v, %v", got, err)
				}
				s := load(t, store)
				legal(t, s.Messages)
				if diff := cmp.Diff(
					before.Messages, s.Messages[:len(before.Messages)], cmpopts.EquateEmpty(),
				); diff != "" {
					t.Errorf("history was rewritten: %s", diff)
				}
				for id, runs := range tools.runs {
					if runs != 1 {
						t.Errorf("call %s ran %d times", id, runs)
					}
				}
			})
		}
	}
}

// TestKilledAtAnyByte cuts the file of a finished run near every border of a
// record, and here and there inside, and resumes it with and without a prompt.
// Package jsonl cuts its files at every single byte.
func TestKilledAtAnyByte(t *testing.T) {
	store := jsonl.New(t.TempDir(), nil)
	m := &model{replies: []any{calls("a"), says("max_tokens", transcript.ToolUse("b", "run", []byte(`{"x`)))}}
	var cut *TruncatedError
	if _, err := Run(ctx, config(m, store, &counter{}), "go"); !errors.As(err, &cut) {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(store.Path(sessionID))
	if err != nil {
		t.Fatal(err)
	}
	for n := strings.IndexByte(string(whole), '\n') + 1; n <= len(whole); n++ {
		if !bytes.Contains(whole[max(0, n-2):min(len(whole), n+2)], []byte{'\n'}) && n%23 != 0 {
			continue
		}
		for _, prompt := range []string{"", "go on"} {
			if err := os.WriteFile(store.Path(sessionID), whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			tools := &counter{}
			_, err := Resume(ctx, config(&model{replies: []any{text("done")}}, store, tools), sessionID, prompt)
			if err != nil && (prompt != "" || !errors.Is(err, ErrNothingToContinue)) {
				t.Fatalf("cut %d, prompt %q: %v", n, prompt, err)
			}
			legal(t, load(t, store).Messages)
			if len(tools.runs) > 0 {
				t.Fatalf("cut %d: %v ran", n, tools.runs)
			}
		}
	}
}

// TestBrokenTurnLeavesNothing: a stream that broke off is not a reply; the prompt
// is kept and can be asked again.
func TestBrokenTurnLeavesNothing(t *testing.T) {
	store := session.NewMemoryStore()
	broken := &provider.Error{
		Kind: provider.Incomplete, Provider: "anthropic", Err: &stream.IncompleteError{Reason: "EOF", Pending: 1},
	}
	first := calls("a")
	first.Message.Blocks = append(first.Message.Blocks, transcript.Text("I call a."))
	got, err := Run(ctx, config(&model{replies: []any{first, broken}}, store, &counter{}), "go")
	if got.Text != "" {
		t.Errorf("%q passes for the answer", got.Text)
	}
	var run *RunError
	var incomplete *stream.IncompleteError
	if !errors.As(err, &run) || run.SessionID != sessionID || !errors.As(err, &incomplete) ||
		got.SessionID != sessionID {
		t.Errorf("%+v, %v", got, err)
	}
	s := load(t, store)
	if len(s.Messages) != 3 || s.Checkpoint != session.ReasonToolResults || len(s.Calls) != 1 {
		t.Errorf("%v, %s, %v", s.Messages, s.Checkpoint, s.Calls)
	}
	m := &model{replies: []any{text("done")}}
	if _, err := Resume(
		ctx, config(m, store, &counter{}), sessionID, "",
	); err != nil || len(m.requests[0].Messages) != 3 {
		t.Errorf("%v, %v", err, m.requests)
	}
}

// TestMalformedArguments are answered, never executed, never lost.
func TestMalformedArguments(t *testing.T) {
	store, ran := session.NewMemoryStore(), 0
	tools, _ := tool.New(tool.Tool{Def: transcript.ToolDef{Name: "run"},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			ran++
			return transcript.ToolResult{Content: "x"}, nil
		}})
	bad := says(
		"tool_use", transcript.ToolUse("a", "run", []byte(`{"x": `)), transcript.ToolUse("b", "gone", []byte(`{}`)),
	)
	m := &model{replies: []any{bad, text("sorry")}}
	if _, err := Run(ctx, config(m, store, tools), "go"); err != nil || ran != 0 {
		t.Fatalf("%v, ran %d times", err, ran)
	}
	s := load(t, store)
	legal(t, s.Messages)
	if got := s.Messages[1].Blocks[1].Args; string(got) != `{"x": ` {
		t.Errorf("stored %q", got)
	}
	for i, want := range []string{"tool run was not executed", `there is no tool named "gone"`} {
		if r := s.Messages[2].Results[i]; !r.IsError || !strings.Contains(r.Content, want) {
			t.Errorf("%+v; want %q", r, want)
		}
	}
}

// TestCancelInTools stores what is known and ends; a resume finds it legal.
func TestCancelInTools(t *testing.T) {
	store := session.NewMemoryStore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tools, _ := tool.New(tool.Tool{Def: transcript.ToolDef{Name: "run"},
		Func: func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
			cancel()
			<-ctx.Done()
			return transcript.ToolResult{Content: "stopped"}, nil
		}})
	_, err := Run(ctx, config(&model{replies: []any{calls("a", "b")}}, store, tools), "go")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s := load(t, store)
	legal(t, s.Messages)
	if s.Checkpoint != session.ReasonToolResults {
		t.Errorf("checkpoint %s", s.Checkpoint)
	}
}

// TestResumeRefuses writes nothing when it cannot go on.
func TestResumeRefuses(t *testing.T) {
	store := session.NewMemoryStore()
	if _, err := Run(ctx, config(&model{replies: []any{text("a")}}, store, nil), "go"); err != nil {
		t.Fatal(err)
	}
	before := load(t, store)
	if _, err := Resume(ctx, config(&model{}, store, nil), sessionID, ""); !errors.Is(err, ErrNothingToContinue) {
		t.Errorf("%v", err)
	}
	cfg := config(&model{provider: "openai"}, store, nil)
	cfg.Model = ""
	var mismatch *MismatchError
	if _, err := Resume(ctx, cfg, sessionID, "more"); !errors.As(err, &mismatch) || mismatch.What != "provider" {
		t.Errorf("%v", err)
	}
	cfg = config(&model{}, store, nil)
	cfg.OnInterrupted = "perhaps"
	if _, err := Resume(ctx, cfg, sessionID, "more"); err == nil || !strings.Contains(err.Error(), `"perhaps"`) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, load(t, store), cmpopts.IgnoreUnexported(session.Session{})); diff != "" {
		t.Error(diff)
	}
}

// TestResumeErrors come as the store gives them.
func TestResumeErrors(t *testing.T) {
	store := session.NewMemoryStore()
	if _, err := Resume(ctx, config(&model{}, store, nil), sessionID, "x"); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	w, err := store.Create(ctx, session.Header{Version: 1, ID: sessionID, Created: epoch})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	var locked *session.LockedError
	if _, err := Resume(ctx, config(&model{}, store, nil), sessionID, "x"); !errors.As(err, &locked) {
		t.Error(err)
	}
	if _, err := Run(ctx, config(&model{}, store, nil), " "); !errors.Is(err, ErrNothingToContinue) {
		t.Error(err)
	}
}

// TestIntake checks that invalid text of users is refused before there is a session,
// and that the text of a model stays as it is.
func TestIntake(t *testing.T) {
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{says("end_turn", transcript.Text("raw \xff"))}}, store, nil)
	bad := &TextError{}
	if _, err := Run(ctx, cfg, "line\np\xff"); !errors.As(err, &bad) || *bad != (TextError{"prompt", 6, 2}) {
		t.Errorf("%v", err)
	}
	cfg.System = "s\xff"
	if _, err := Run(ctx, cfg, "p"); !errors.As(err, &bad) || *bad != (TextError{"system prompt", 1, 1}) {
		t.Errorf("%v", err)
	}
	cfg.System, cfg.StopSequences = "", []string{"END", "e\xff"}
	if _, err := Run(ctx, cfg, "p"); !errors.As(err, &bad) || *bad != (TextError{"stop sequence 2", 1, 1}) {
		t.Errorf("%v", err)
	}
	cfg.StopSequences = nil
	if list, err := store.List(ctx, session.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("a session is left behind: %v, %v", list, err)
	}
	cfg.System = "s \uFFFD"
	if _, err := Run(ctx, cfg, "p \uFFFD"); err != nil {
		t.Fatal(err)
	}
	if s := load(t, store); s.Messages[1].String() != "raw \xff" {
		t.Errorf("%q", s.Messages[1].String())
	}
	if _, err := Resume(ctx, cfg, sessionID, "p\xff"); !errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
}

// TestEvents checks the order of the events of a run and the JSON of an event.
func TestEvents(t *testing.T) {
	var types, lines []string
	m := &model{replies: []any{calls("a"), text("done")}, events: []stream.Event{
		{Kind: stream.EventBlockStart}, {Kind: stream.EventTextDelta, Index: 1, Delta: []byte("<")},
		{Kind: stream.EventReasoningDelta, Delta: []byte("r")},
		{Kind: stream.EventToolCallDelta, Index: 2, Delta: []byte("{")},
		{Kind: stream.EventAnomaly, Anomaly: stream.Anomaly{Rule: "orphaned_delta", Detail: "d"}},
		{Kind: stream.EventBlockComplete, Block: &transcript.Block{Type: transcript.BlockText, Text: "x"}},
		{Kind: stream.EventDone},
	}}
	cfg := config(m, session.NewMemoryStore(), &counter{})
	tick := epoch
	cfg.Now = func() time.Time { tick = tick.Add(time.Second); return tick }
	cfg.OnEvent = func(e Event) {
		if e.Seq != len(types) || e.SessionID != sessionID {
			t.Errorf("event %d is %+v", len(types), e)
		}
		types = append(types, string(e.Type))
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if _, err := Run(ctx, cfg, "go"); err != nil {
		t.Fatal(err)
	}
	const turn = " turn_started block_started text_delta reasoning_delta tool_call_delta assembly_anomaly block_completed"
	want := "run_started checkpoint_saved" + turn +
		" text_complete turn_completed checkpoint_saved checkpoint_saved run_completed"
	want = strings.Replace(want, turn+" text_complete", turn+" tool_call_requested turn_completed checkpoint_saved"+
		" tool_execution_started tool_execution_completed tool_result_received checkpoint_saved"+turn+
		" text_complete", 1)
	if got := strings.Join(types, " "); got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
	for _, want := range []string{
		`{"type":"text_delta","session_id":"` + string(sessionID) +
			`","run_id":"r1","seq":4,"ts":"2026-01-02T03:04:12Z","turn":1,"turn_id":"r1.1","attempt":1,"index":1,"delta":"\u003c"}`,
		`"turn":1,"turn_id":"r1.1","attempt":1,"id":"a","name":"run","args":{"id":"a"}}`,
		`"id":"a","name":"run","is_error":false,"status":"complete","duration_ms":2000,"result":"ran {\"id\": \"a\"}"}`,
		`"turn":1,"turn_id":"r1.1","attempt":1,"id":"a","name":"run","is_error":false,"status":"complete","size":15}`,
	} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("no event has %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// TestFailedRunEndsWithItsError is the last event, and names the session.
func TestFailedRunEndsWithItsError(t *testing.T) {
	var last Event
	cfg := config(&model{replies: []any{errors.New("no route")}}, session.NewMemoryStore(), nil)
	cfg.OnEvent = func(e Event) { last = e }
	_, err := Run(ctx, cfg, "go")
	if last.Type != RunFailed || !strings.Contains(last.Error, "no route") || err.Error() != "session "+
		string(sessionID)+": no route" {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestMarks are written once, for each model that was let in.
func TestMarks(t *testing.T) {
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{text("a"), text("b")}}, store, nil)
	cfg.Annotations = []session.Annotation{{Name: session.AnnotationAllowUnlisted, Value: "x"}}
	if _, err := Run(ctx, cfg, "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(ctx, cfg, sessionID, "more"); err != nil {
		t.Fatal(err)
	}
	if s := load(t, store); len(s.Annotations) != 1 || s.Annotations[0].At != epoch {
		t.Errorf("%+v", s.Annotations)
	}
	cfg.Client, cfg.Model = &model{replies: []any{text("c")}}, "y"
	cfg.Annotations = []session.Annotation{{Name: session.AnnotationAllowUnlisted, Value: "y"}}
	if _, err := Resume(ctx, cfg, sessionID, "more"); err != nil {
		t.Fatal(err)
	}
	if s := load(t, store); len(s.Annotations) != 2 || s.Annotations[1].Value != "y" {
		t.Errorf("%+v", s.Annotations)
	}
}
