package session_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const child = session.ID("0199a2b4-0000-7000-8000-000000000002")

// loop is a session of two prompts. The first is answered with two rounds of calls,
// the second with a call that is open.
func loop(t *testing.T, thinks bool) session.Session {
	t.Helper()
	call := func(id string) transcript.Message {
		m := transcript.Assistant(transcript.StopToolUse, transcript.ToolUse(id, "t", []byte("{}")))
		if thinks {
			m.Blocks = append([]transcript.Block{transcript.Reasoning("hm", nil)}, m.Blocks...)
		}
		return m
	}
	result := func(id string) transcript.Message {
		return transcript.ToolResults(transcript.ToolResult{ToolUseID: id, Content: "ok"})
	}
	records := []session.Record{session.Header{
		Version: session.Version, ID: "0199a2b4-0000-7000-8000-000000000001", Provider: "anthropic", Model: "m",
	}}
	for _, m := range []transcript.Message{
		transcript.User("one"), call("a"), result("a"), call("b"), result("b"),
		transcript.Assistant(transcript.StopEndTurn, transcript.Text("done")),
		transcript.Developer("note"), transcript.User("two"), call("c"),
	} {
		records = append(records, session.MessageRecord{At: time.Unix(1, 0).UTC(), Message: m})
	}
	s, err := session.Load(records...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begin(t *testing.T, s session.Session, c session.ContextStrategy) session.Session {
	t.Helper()
	h, records, err := s.Begin(c, child, time.Unix(9, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	begun, err := session.Load(append([]session.Record{h}, records...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := begun.Whole(); err != nil || begun.Forked.ID != s.ID {
		t.Errorf("%v, forked from %v", err, begun.Forked)
	}
	return begun
}

// TestBeginLastTurns: whole groups only, with the prompt that they answer and what the
// agent said.
func TestBeginLastTurns(t *testing.T) {
	for _, c := range []struct {
		thinks bool
		turns  uint32
		want   []int
	}{
		{false, 1, []int{6, 7, 8, 9}},
		{false, 2, []int{0, 5, 6, 7, 8, 9}},
		{false, 3, []int{0, 3, 4, 5, 6, 7, 8, 9}},
		{false, 4, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{false, 99, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{true, 1, []int{6, 7, 8, 9}},
		{true, 2, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		begun := begin(t, loop(t, c.thinks), session.LastTurns(c.turns))
		if diff := cmp.Diff(c.want, visibleMessages(&begun)); diff != "" {
			t.Errorf("thinks %v, last %d turns: %s", c.thinks, c.turns, diff)
		}
		if len(c.want) == 10 && len(begun.Compactions) > 0 {
			t.Errorf("nothing is left out, and yet %+v", begun.Compactions)
		}
	}
}

// visibleMessages are the messages that a target sees which reads every compaction.
func visibleMessages(s *session.Session) []int {
	if n := len(s.Compactions); n > 0 {
		return s.VisibleMessages(&s.Compactions[n-1])
	}
	return s.VisibleMessages(nil)
}

// TestBeginAfterWindow: what a provider's window stands for is known to all, and comes back.
func TestBeginAfterWindow(t *testing.T) {
	window := transcript.Assistant(transcript.StopCompaction)
	s, err := loop(t, false).With(session.Compaction{Through: 9, Window: &window})
	if err != nil {
		t.Fatal(err)
	}
	begun := begin(t, s, session.LastTurns(2))
	if diff := cmp.Diff([]int{0, 5, 6, 7, 8, 9}, visibleMessages(&begun)); diff != "" {
		t.Error(diff)
	}
}

// TestBeginAfterCompaction: what a summary has replaced does not come back.
func TestBeginAfterCompaction(t *testing.T) {
	s, err := loop(t, false).With(session.Compaction{Through: 5, Summary: "earlier", Kept: []int{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for turns, want := range map[uint32][]int{1: {6, 7, 8, 9}, 2: {0, 5, 6, 7, 8, 9}, 3: {0, 1, 2, 5, 6, 7, 8, 9}} {
		begun := begin(t, s, session.LastTurns(turns))
		if diff := cmp.Diff(want, visibleMessages(&begun)); diff != "" {
			t.Errorf("last %d turns: %s", turns, diff)
		}
	}
}

func TestBeginWithAll(t *testing.T) {
	for _, c := range []session.ContextStrategy{{}, session.FullHistory(), session.SummaryContext(500)} {
		begun := begin(t, loop(t, false), c)
		if n := len(begun.Messages); n != 10 || begun.Messages[9].Results[0].ToolUseID != "c" {
			t.Errorf("%+v: %d messages, the open call is not closed", c, n)
		}
	}
	if n, ok := session.SummaryContext(500).SummaryTokens(); n != 500 || !ok {
		t.Error(n, ok)
	}
	if _, ok := session.LastTurns(3).SummaryTokens(); ok {
		t.Error("last turns are no summary")
	}
}

// TestForkKnowsUnansweredCalls: what the model was told of a call that has no result is
// what a fork tells it, because later thinking is bound to those words.
func TestForkKnowsUnansweredCalls(t *testing.T) {
	s, err := session.Load(session.Header{Version: session.Version, ID: "0199a2b4-0000-7000-8000-000000000001"},
		session.MessageRecord{Message: transcript.User("one")},
		session.MessageRecord{
			Message: transcript.Assistant(transcript.StopToolUse, transcript.ToolUse("a", "t", []byte("{}"))),
		},
		session.Tool{
			CallRecord: transcript.CallRecord{Message: 1, CallID: "a", Name: "t", Status: transcript.CallRunning},
		},
		session.MessageRecord{Message: transcript.User("two")},
		session.MessageRecord{Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text("done"))})
	if err != nil {
		t.Fatal(err)
	}
	begun := begin(t, s, session.FullHistory())
	if e, _ := begun.Ledger.Lookup(1, "a"); e.Status != transcript.CallRunning {
		t.Errorf("the fork knows the call as %q", e.Status)
	}
}

func TestBeginCustom(t *testing.T) {
	parent := loop(t, false)
	if begun := begin(t, parent, session.CustomContext()); len(begun.Messages) != 0 {
		t.Errorf("an empty beginning has %d messages", len(begun.Messages))
	}
	signed := transcript.Reasoning("hm", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "c2ln"})
	signed.Raw, signed.Origin = []byte(`{}`), &transcript.Origin{Provider: "anthropic"}
	opaque := transcript.Block{Type: transcript.BlockOpaque, Kind: "server_tool_use", Raw: []byte(`{}`)}
	given := transcript.Assistant(transcript.StopToolUse, signed, opaque, transcript.ToolUse("x", "t", []byte("{}")))
	begun := begin(t, parent, session.CustomContext(transcript.User("try"), given))
	if len(begun.Messages) != 3 || begun.Messages[2].Results[0].ToolUseID != "x" {
		t.Fatalf("the open call of a message is not closed: %+v", begun.Messages)
	}
	if got := begun.Messages[1].Blocks; len(got) != 2 || got[0].Meta != nil || got[0].Raw != nil ||
		got[0].Origin != nil {
		t.Errorf("tokens went along: %+v", got)
	}
	if given.Blocks[0].Meta == nil || len(given.Blocks) != 3 {
		t.Error("the message of the caller changed")
	}
}

func TestContextStrategyJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"full_history"}`:                                                     "",
		`{"type":"last_turns","value":3}`:                                             "",
		`{"type":"summary","value":{"max_tokens":500}}`:                               "",
		`{"type":"custom","value":{"messages":[{"role":"user","content":"hi"}]}}`:     "",
		`{"type":"custom","value":{"messages":[]}}`:                                   "",
		`{"type":"last_turns","value":0}`:                                             "context: last_turns is 0; want at least 1",
		`{"type":"last_turns","value":-1}`:                                            "context: last_turns: json: cannot unmarshal",
		`{"type":"summary","value":{"max_tokens":0}}`:                                 "context: the max_tokens of a summary is 0",
		`{"type":"summary","value":{"tokens":5}}`:                                     `context: summary: json: unknown field "tokens"`,
		`{"type":"last_turn","value":1}`:                                              `context: type "last_turn" is not known; did you mean last_turns?`,
		`{"type":"custom","value":{"messages":[{"role":"system","content":"obey"}]}}`: `context: message 1: the role is "system"`,
		`{"type":"custom","value":{"messages":[{"role":"assistant","blocks":[{"block_type":"x"}],"stop_reason":"end_turn"}]}}`: `context: message 1: block 1: the type is "x"`,
	} {
		var c session.ContextStrategy
		err := json.Unmarshal([]byte(in), &c)
		out, merr := json.Marshal(c)
		if merr != nil || want == "" && (err != nil || string(out) != in) || want != "" && (err == nil ||
			!strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %s, %v, %v; want %s", in, out, err, merr, want)
		}
	}
}

// TestWriteNew: a beginning that cannot be stored leaves nothing.
func TestWriteNew(t *testing.T) {
	s, store := loop(t, false), session.NewMemoryStore()
	h, records, err := s.Begin(session.FullHistory(), child, time.Unix(9, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	bad := append(slices.Clone(records), session.MessageRecord{})
	if err := session.WriteNew(t.Context(), store, h, bad); err == nil {
		t.Fatal("a message without a role was stored")
	}
	if _, err := store.Load(t.Context(), child); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("half a session was left: %v", err)
	}
	if err := session.WriteNew(t.Context(), store, h, records); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Load(t.Context(), child); err != nil || len(got.Messages) != 10 {
		t.Errorf("%d messages, %v", len(got.Messages), err)
	}
}

// FuzzContextStrategy: what is read is written again as the same, and a session can begin
// with it.
func FuzzContextStrategy(f *testing.F) {
	for _, s := range []string{`{"type":"last_turns","value":3}`, `{"type":"summary","value":{"max_tokens":500}}`,
		`{"type":"custom","value":{"messages":[{"role":"assistant","blocks":[{"block_type":"tool_use","id":"a","name":"b","args":{}}],"stop_reason":"tool_use"}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second session.ContextStrategy
		if json.Unmarshal(data, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil || json.Unmarshal(written, &second) != nil {
			t.Fatalf("%s became %s: %v", data, written, err)
		}
		if again, err := json.Marshal(second); err != nil || string(again) != string(written) {
			t.Fatalf("%s became %s: %v", written, again, err)
		}
		s := loop(t, false)
		if _, _, err := s.Begin(second, child, time.Unix(9, 0).UTC()); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
	})
}
