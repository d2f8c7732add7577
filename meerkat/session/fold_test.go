package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var header = session.Header{Version: 1, ID: "0199a2b4-0000-7000-8000-000000000001", Created: epoch}

func load(t *testing.T, records ...session.Record) session.Session {
	t.Helper()
	s, err := session.Load(append([]session.Record{header}, records...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func calling(ids ...string) session.MessageRecord {
	var blocks []transcript.Block
	for _, id := range ids {
		blocks = append(blocks, transcript.ToolUse(id, "t", []byte("{}")))
	}
	return session.MessageRecord{Message: transcript.Assistant(transcript.StopToolUse, blocks...)}
}

func answering(results ...transcript.ToolResult) session.MessageRecord {
	return session.MessageRecord{Message: transcript.ToolResults(results...)}
}

func tool(message int, id string, s transcript.CallStatus) session.Tool {
	return session.Tool{
		At: epoch, CallRecord: transcript.CallRecord{Message: message, CallID: id, Name: "t", Status: s},
	}
}

// TestLedgerOfASession: what records say of calls.
func TestLedgerOfASession(t *testing.T) {
	ok, bad := transcript.ToolResult{ToolUseID: "a", Content: "1"}, transcript.ToolResult{ToolUseID: "a", IsError: true}
	aborted := transcript.ToolResult{ToolUseID: "a", IsError: true, Status: transcript.ResultAborted}
	for name, c := range map[string]struct {
		records []session.Record
		want    transcript.CallStatus
	}{
		"proposed": {[]session.Record{calling("a")}, transcript.CallProposed},
		"running": {
			[]session.Record{calling("a"), tool(0, "a", transcript.CallRunning)}, transcript.CallRunning,
		},
		"answered":               {[]session.Record{calling("a"), answering(ok)}, transcript.CallComplete},
		"answered with an error": {[]session.Record{calling("a"), answering(bad)}, transcript.CallError},
		"aborted before it ran":  {[]session.Record{calling("a"), answering(aborted)}, transcript.CallCancelled},
		"aborted while it ran": {
			[]session.Record{calling("a"), tool(0, "a", transcript.CallRunning), answering(aborted)},
			transcript.CallInterrupted,
		},
		"answered twice": {
			[]session.Record{calling("a"), answering(ok), answering(bad)}, transcript.CallComplete,
		},
		"what was recorded stands": {
			[]session.Record{calling("a"), tool(0, "a", transcript.CallInterrupted), answering(ok)},
			transcript.CallInterrupted,
		},
		"answered too late": {
			[]session.Record{calling("a"), calling("b"), answering(ok)}, transcript.CallProposed,
		},
		"an orphan result is alone": {[]session.Record{answering(ok), calling("a")}, transcript.CallProposed},
	} {
		s := load(t, c.records...)
		at := 0
		if s.Messages[0].Role != transcript.RoleAssistant {
			at = 1
		}
		if e, found := s.Ledger.Lookup(at, "a"); !found || e.Status != c.want {
			t.Errorf("%s: %v, want %s", name, e, c.want)
		}
	}
}

// TestAnEndLearnsItsResult from the message that holds it.
func TestAnEndLearnsItsResult(t *testing.T) {
	s := load(
		t, calling("a"), tool(0, "a", transcript.CallInterrupted),
		answering(transcript.ToolResult{ToolUseID: "a", Content: "may have run", IsError: true}),
	)
	if e, _ := s.Ledger.Lookup(0, "a"); e.Status != transcript.CallInterrupted || e.Result == nil ||
		e.Result.Content != "may have run" {
		t.Errorf("%v", e)
	}
}

// TestBranches: two sessions that grow from one with room behind its messages do
// not write into each other.
func TestBranches(t *testing.T) {
	say := func(s session.Session, text string) session.Session {
		s, err := s.With(session.MessageRecord{Message: transcript.User(text)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := load(t)
	for n := range 10 {
		one, two := say(base, "one"), say(base, "two")
		if one.Last().Content != "one" || two.Last().Content != "two" {
			t.Errorf("after %d messages: %s, %s", n, one.Last().Content, two.Last().Content)
		}
		base = say(base, "base")
	}
}

// TestRepeatedIDs checks ids that start over each turn, as those made up for
// Gemini do.
func TestRepeatedIDs(t *testing.T) {
	s := load(t, calling("fc_0"), answering(transcript.ToolResult{ToolUseID: "fc_0"}), calling("fc_0"))
	first, _ := s.Ledger.Lookup(0, "fc_0")
	second, _ := s.Ledger.Lookup(2, "fc_0")
	if first.Status != transcript.CallComplete || second.Status != transcript.CallProposed {
		t.Errorf("%v, %v", first, second)
	}
}

func TestElapsedCountsRunsAlone(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	s := load(t,
		session.Annotation{At: at(5), Name: "before any run"},
		// killed here
		session.Run{At: at(10), ID: "r1"}, session.MessageRecord{At: at(12)}, session.MessageRecord{At: at(13)},
		session.Repair{At: at(100)},
		session.Run{At: at(101), ID: "r2"}, session.RunEnd{At: at(105)},
	)
	if s.Elapsed != 7*time.Second || len(s.Runs) != 2 || !s.Updated.Equal(at(105)) {
		t.Errorf("elapsed %s, updated %s, runs %v", s.Elapsed, s.Updated, s.Runs)
	}
}

func TestRecordsThatContradict(t *testing.T) {
	user := session.MessageRecord{Message: transcript.User("u")}
	for name, records := range map[string][]session.Record{
		"a call ends twice": {
			calling("a"), tool(0, "a", transcript.CallComplete), tool(0, "a", transcript.CallCancelled),
		},
		"compaction of nothing":  {user, session.Compaction{Through: 2}},
		"keeps what is not past": {user, session.Compaction{Through: 1, Kept: []int{1}}},
		"keeps out of order":     {user, user, session.Compaction{Through: 2, Kept: []int{1, 0}}},
		"falls back":             {user, session.Compaction{Through: 1}, session.Compaction{Through: 0}},
		"brings back": {
			user, user, session.Compaction{Through: 1}, session.Compaction{Through: 2, Kept: []int{0}},
		},
		"compaction before": {user, session.Compaction{Through: -1}},
	} {
		if _, err := session.Load(append([]session.Record{header}, records...)...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestHistory(t *testing.T) {
	s := load(t, session.MessageRecord{Message: transcript.User("u")}, calling("a"),
		session.Compaction{Through: 1, Summary: "bad \xff", Usage: &transcript.Usage{InputTokens: 2}},
		session.Budget{Limits: session.Limits{MaxTurns: 3}})
	h := s.History()
	want := []handoff.Compaction{{Through: 1, Summary: "bad \uFFFD", Made: 2}}
	if diff := cmp.Diff(want, h.Compactions); diff != "" || len(h.Messages) != 2 || len(h.Ledger.Open()) != 1 {
		t.Errorf("%s%v", diff, h)
	}
	if s.Usage.InputTokens != 2 || s.Budget.Limits.MaxTurns != 3 {
		t.Errorf("usage %v, budget %v", s.Usage, s.Budget)
	}
}

// TestDigestIsAChain: a longer conversation is hashed from where the shorter
// one ended.
func TestDigestIsAChain(t *testing.T) {
	messages := []transcript.Message{transcript.User("a"), transcript.User("b"), transcript.User("c")}
	whole, _ := session.Digest("s", nil, messages)
	digest, _ := session.Digest("s", nil, messages[:1])
	if digest, _ = session.Extend(digest, messages[1:]...); digest != whole {
		t.Errorf("%s, want %s", digest, whole)
	}
}

// TestGrowth grows many sessions from one another and holds each to the one
// that its own records add up to, through the stored form too.
func TestGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type grown struct {
			s       session.Session
			records []session.Record
		}
		base, _ := session.Load(header)
		values := []grown{{base, []session.Record{header}}}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			from := values[rapid.IntRange(0, len(values)-1).Draw(t, "from")]
			r := anyRecord().Draw(t, "record")
			s, err := from.s.With(r)
			if err != nil {
				continue
			}
			values = append(values, grown{s, append(from.records[:len(from.records):len(from.records)], r)})
		}
		for i, v := range values {
			var lines []byte
			for _, r := range v.records {
				var err error
				if lines, err = session.AppendRecord(lines, r); err != nil {
					t.Fatal(err)
				}
			}
			p, err := session.Parse("test", lines)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(
				p.Session, v.s, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(session.Session{}),
			); diff != "" {
				t.Fatalf("value %d (-read +grown):\n%s", i, diff)
			}
		}
	})
}

func anyRecord() *rapid.Generator[session.Record] {
	text := rapid.SampledFrom([]string{"", "x", "<&>\u2028", "\xff\xfe", "\x00"})
	return rapid.Custom(func(t *rapid.T) session.Record {
		at := epoch.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "at")) * time.Second)
		id := text.Draw(t, "id")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return session.Run{At: at, ID: "r"}
		case 1:
			e := calling("a"+id, "b")
			e.At = at
			return e
		case 2:
			e := answering(transcript.ToolResult{
				ToolUseID: "a" + id, Content: text.Draw(t, "content"), Status: transcript.ResultAborted,
			})
			e.At = at
			return e
		case 3:
			return session.Tool{At: at,
				CallRecord: transcript.CallRecord{Message: rapid.IntRange(0, 2).Draw(t, "message"), CallID: "a" + id,
					Name: text.Draw(t, "name"),
					Status: rapid.SampledFrom([]transcript.CallStatus{
						transcript.CallRunning, transcript.CallComplete,
					}).Draw(t, "status"),
					Result: &transcript.ToolResult{ToolUseID: "a" + id, Content: text.Draw(t, "content")}}}
		case 4:
			return session.ErrorRecord{At: at, RunID: "r", Kind: "k", Message: text.Draw(t, "message")}
		case 5:
			return session.RunEnd{
				At: at, RunID: "r", Turns: 1, Usage: transcript.Usage{InputTokens: 1},
				StopReason: transcript.StopEndTurn,
			}
		case 6:
			return session.Compaction{
				At: at, Through: rapid.IntRange(0, 3).Draw(t, "through"), Summary: text.Draw(t, "summary"),
				Reason: "r",
			}
		case 7:
			return session.Budget{At: at, Limits: session.Limits{MaxTokens: 1, MaxDuration: time.Second}}
		case 8:
			reasoning := uint64(2)
			return session.Call{At: at, RunID: "r", Turn: 1, Attempt: 2,
				Usage:    &transcript.Usage{OutputTokens: 3, ReasoningTokens: &reasoning},
				Degraded: []handoff.Degradation{{Rule: "foreign-thinking", Message: 1, Block: -1, Reason: "r"}}}
		default:
			return session.MessageRecord{At: at, Message: transcript.Developer("d")}
		}
	})
}

// BenchmarkTurn is what one turn adds: it must cost the same at any length.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, _ := session.Load(header)
			digest, _ := session.Digest("s", nil, nil)
			turn := func(i int) {
				id := fmt.Sprint(i)
				new := []session.Record{calling(id), session.Call{Turn: i, Usage: &transcript.Usage{InputTokens: 1}},
					tool(len(s.Messages), id, transcript.CallRunning),
					answering(transcript.ToolResult{ToolUseID: id, Content: "ok"}),
					session.Checkpoint{Reason: session.ReasonToolResults}}
				next, err := s.With(new...)
				if err != nil {
					b.Fatal(err)
				}
				if digest, err = session.Extend(digest, next.Messages[len(s.Messages):]...); err != nil {
					b.Fatal(err)
				}
				s = next
			}
			for i := range n / 2 {
				turn(i)
			}
			b.ReportAllocs()
			for i := n; b.Loop(); i++ {
				turn(i)
			}
		})
	}
}
