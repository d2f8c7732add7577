package session

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

var png = transcript.Part{Type: "image", MediaType: "image/png", Data: []byte("\x89PNG")}

func at(s int) time.Time { return time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC) }

// stored returns a session with everything that a user may have seen, read back
// from a store: only what is stored counts.
func stored(t *testing.T) *Session {
	t.Helper()
	calls := transcript.Assistant(transcript.StopToolUse,
		transcript.Reasoning("I look it up.", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "sig"}),
		transcript.Text("First "), transcript.ToolUse("c1", "read", []byte(`{"b":1, "a":"<script>"}`)),
		transcript.Text("then."), transcript.ToolUse("c2", "draw", []byte(`{}`)))
	calls.Blocks[1].Parts = []transcript.Part{png}
	hidden := transcript.Assistant(transcript.StopAborted, transcript.Reasoning("", nil), transcript.Text("I was abo"))
	h := Header{
		Version: Version, ID: "0199a2b4-0000-7000-8000-000000000001", Created: at(0), Provider: "anthropic",
		Model: "m",
	}
	hash, err := Digest("Be <b>brief</b>.", nil, nil)
	store := NewMemoryStore()
	w, cerr := store.Create(t.Context(), h)
	if err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	err = w.Append(t.Context(),
		Run{At: at(1), ID: "run-1"},
		Prefix{At: at(1), Provider: "anthropic", Model: "m", System: "Be <b>brief</b>.", Hash: hash},
		MessageRecord{At: at(1), Message: transcript.System("not shown")},
		MessageRecord{
			At: at(1),
			Message: transcript.Message{
				Role: transcript.RoleUser, Content: "<img src=x onerror=alert(1)>",
				Parts: []transcript.Part{{Type: "image", MediaType: "image/svg+xml", Data: []byte("<svg onload=x>")}},
			},
		},
		MessageRecord{At: at(2), Message: calls},
		Call{
			At: at(2), Turn: 1, Sent: 1, StopReason: transcript.StopToolUse,
			Usage: &transcript.Usage{InputTokens: 3, OutputTokens: 4},
		},
		Checkpoint{At: at(2), Reason: ReasonAssistant},
		MessageRecord{At: at(3), Message: transcript.ToolResults(
			transcript.ToolResult{ToolUseID: "c1", Content: "text of the file", Parts: []transcript.Part{png}},
			transcript.ToolResult{
				ToolUseID: "c2", Content: "not executed", IsError: true, Status: transcript.ResultAborted,
			})},
		MessageRecord{
			At: at(3), Message: transcript.Message{Role: transcript.RoleDeveloper, Content: "the tools changed"},
		},
		ErrorRecord{At: at(4), RunID: "run-1", Kind: "overloaded", Message: "the provider is overloaded"},
		RunEnd{At: at(4), RunID: "run-1", Turns: 1, ToolCalls: 2, DurationMS: 3000},
		Run{At: at(5), ID: "run-2"},
		Compaction{At: at(5), Through: 1, Summary: "what was said"},
		MessageRecord{At: at(6), Message: hidden},
		Call{At: at(6), Turn: 2, Sent: 5, StopReason: transcript.StopAborted},
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Load(t.Context(), h.ID)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestEvents checks the whole list of events that a stored session gives.
func TestEvents(t *testing.T) {
	var got []string
	for _, e := range Display(stored(t)) {
		line := []string{string(e.Type)}
		for _, s := range []string{e.ID, e.Name, string(e.Status), e.Text} {
			if s != "" {
				line = append(line, s)
			}
		}
		got = append(got, strings.Join(line, " | "))
	}
	want := []string{
		"run_start",
		"user_message | <img src=x onerror=alert(1)>",
		"turn_start",
		"reasoning | I look it up.",
		"assistant_message | First then.",
		"assistant_image",
		"tool_call | c1 | read",
		"tool_call | c2 | draw",
		"usage",
		"tool_result | c1 | read | success | text of the file",
		"tool_result | c2 | draw | error | not executed",
		"interrupt",
		"developer_message | the tools changed",
		"error | overloaded | the provider is overloaded",
		"task_metadata",
		"run_start",
		"compaction | what was said",
		"turn_start",
		"assistant_message | I was abo",
		"interrupt",
		"usage",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSameEveryTime(t *testing.T) {
	s := stored(t)
	if diff := cmp.Diff(Display(s), Display(s)); diff != "" {
		t.Error(diff)
	}
}

// StoredSession is for the tests of the page.
var StoredSession = stored

func TestExports(t *testing.T) {
	var got bytes.Buffer
	if err := WriteJSONL(&got, stored(t)); err != nil {
		t.Fatal(err)
	}
	CheckGolden(t, "session.jsonl", got.String())
}

// CheckGolden compares with a file of testdata, which -update writes anew.
func CheckGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}
