package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// parent is a session of two turns with parallel tools, of which one result
// came in a message of its own, and an open call at the end.
func parent(t *testing.T, store session.Store) session.ID {
	t.Helper()
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	h := session.Header{
		Version: session.Version, ID: "0199a2b4-0000-7000-8000-000000000001", Created: at(0), Provider: "anthropic",
		Model: "m",
	}
	calls := func(ids ...string) transcript.Message {
		m := transcript.Assistant(transcript.StopToolUse)
		for _, id := range ids {
			m.Blocks = append(m.Blocks, transcript.ToolUse(id, "t", []byte("{}")))
		}
		return m
	}
	result := func(id string) transcript.Message {
		return transcript.ToolResults(transcript.ToolResult{ToolUseID: id, Content: "ok"})
	}
	usage := transcript.Usage{InputTokens: 1, OutputTokens: 2}
	w, err := store.Create(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Append(t.Context(),
		session.Run{At: at(1), ID: "r"},
		session.Prefix{At: at(1), Provider: "openai", Model: "n", System: "s", Hash: mustDigest(t)},
		session.Annotation{At: at(1), Name: session.AnnotationAllowUnlisted, Value: "n"},
		session.MessageRecord{At: at(1), Message: transcript.User("go")},
		session.MessageRecord{At: at(2), Message: calls("a", "b")},
		session.Call{At: at(2), Turn: 1, Sent: 1, Hash: "h1", Usage: &usage},
		session.MessageRecord{At: at(3), Message: result("b")},
		session.MessageRecord{At: at(4), Message: result("a")},
		session.MessageRecord{At: at(5), Message: calls("a")},
		session.Call{At: at(5), Turn: 2, Sent: 4, Hash: "h2", Usage: &usage},
		session.Tool{
			At:         at(6),
			CallRecord: transcript.CallRecord{Message: 4, CallID: "a", Name: "t", Status: transcript.CallRunning},
		},
		session.Checkpoint{At: at(6), Reason: session.ReasonAssistant},
	)
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return h.ID
}

func mustDigest(t *testing.T) string {
	t.Helper()
	hash, err := session.Digest("s", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestFork cuts at every message: the fork begins with the same messages, every
// call in it has its one answer, and what it cost begins at nothing.
func TestFork(t *testing.T) {
	store := session.NewMemoryStore()
	id := parent(t, store)
	whole, err := store.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	const branch = session.ID("0199a2b4-0000-7000-8000-000000000002")
	closed := map[int]string{
		2: "the conversation was forked here", 3: "the conversation was forked here",
		5: "the conversation was forked here",
	}
	sent := map[int]int{1: 0, 2: 1, 3: 1, 4: 1, 5: 2}
	for n := 1; n <= len(whole.Messages); n++ {
		if _, err := session.Branch(t.Context(), store, id, n, branch, time.Unix(9, 0).UTC()); err != nil {
			t.Fatal(n, err)
		}
		got, err := store.Load(t.Context(), branch)
		if err != nil {
			t.Fatal(n, err)
		}
		if diff := cmp.Diff(whole.Messages[:n], got.Messages[:n]); diff != "" {
			t.Errorf("%d: %s", n, diff)
		}
		if len(got.Ledger.Open()) != 0 || got.Usage.Total() != 0 || len(got.Runs) != 0 || len(got.Calls) != sent[n] {
			t.Errorf(
				"%d: open %v, usage %+v, runs %v, %d calls", n, got.Ledger.Open(), got.Usage, got.Runs, len(got.Calls),
			)
		}
		if extra := len(got.Messages) - n; (extra > 0) != (closed[n] != "") {
			t.Errorf("%d: %d messages more", n, extra)
		} else if extra > 0 && !startsWith(got.Last().Results[0].Content, closed[n]) {
			t.Errorf("%d: %q", n, got.Last().Results[0].Content)
		}
		if got.Model != "n" || got.Provider != "openai" || got.Prefix.System != "s" ||
			*got.Forked != (session.Forked{ID: id, Messages: n}) || len(got.Annotations) != 1 {
			t.Errorf("%d: %+v", n, got.Header)
		}
		if err := store.Delete(t.Context(), branch); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{-1, 6} {
		if _, err := session.Branch(t.Context(), store, id, n, branch, time.Unix(9, 0)); err == nil {
			t.Errorf("forked after message %d", n)
		}
	}
}

// TestForkForgetsLaterMarks: what the model was told behind the border it was
// not told in the fork; that its name is not on the list stays known.
func TestForkForgetsLaterMarks(t *testing.T) {
	const id = session.ID("0199a2b4-0000-7000-8000-000000000001")
	at := time.Unix(9, 0).UTC()
	whole, err := session.Load(
		session.Header{Version: session.Version, ID: id, Created: at},
		session.Annotation{At: at, Name: "early"},
		session.MessageRecord{At: at, Message: transcript.User("go")},
		session.Annotation{At: at, Name: "of the first"},
		session.MessageRecord{At: at, Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text("gone"))},
		session.MessageRecord{At: at, Message: transcript.Developer("the tools changed")},
		session.Annotation{At: at, Name: "told"},
		session.Annotation{At: at, Name: session.AnnotationAllowUnlisted, Value: "m"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{1: 3, 2: 3, 3: 4} {
		h, records, err := whole.Fork(n, "0199a2b4-0000-7000-8000-000000000002", at)
		if err != nil {
			t.Fatal(err)
		}
		fork, err := session.Load(append([]session.Record{h}, records...)...)
		if _, told := fork.AnnotationValue("told"); err != nil || len(fork.Annotations) != want || told != (n == 3) {
			t.Errorf("%d: %+v, %v", n, fork.Annotations, err)
		}
		if _, ok := fork.AnnotationValue(session.AnnotationAllowUnlisted); !ok {
			t.Errorf("%d: the model is no longer known to be unlisted", n)
		}
	}
}

// TestForkKeepsTheTruth: what became of a call is the same in the fork.
func TestForkKeepsTheTruth(t *testing.T) {
	at := time.Unix(9, 0).UTC()
	reply := transcript.Assistant(transcript.StopToolUse)
	answers := transcript.Message{Role: transcript.RoleToolResults}
	records := []session.Record{
		session.Header{Version: session.Version, ID: "0199a2b4-0000-7000-8000-000000000001", Created: at},
		session.MessageRecord{At: at, Message: transcript.User("go")}, nil,
	}
	for _, status := range []transcript.CallStatus{
		transcript.CallComplete, transcript.CallError, transcript.CallCancelled, transcript.CallInterrupted,
	} {
		id := string(status)
		reply.Blocks = append(reply.Blocks, transcript.ToolUse(id, "t", []byte("{}")))
		answers.Results = append(answers.Results, transcript.ToolResult{
			ToolUseID: id, Content: id, IsError: status != transcript.CallComplete,
		})
		records = append(records, session.Tool{
			At: at, CallRecord: transcript.CallRecord{Message: 1, CallID: id, Name: "t", Status: status},
		})
	}
	records[2] = session.MessageRecord{At: at, Message: reply}
	whole, err := session.Load(append(records, session.MessageRecord{At: at, Message: answers})...)
	if err != nil {
		t.Fatal(err)
	}
	h, copied, err := whole.Fork(3, "0199a2b4-0000-7000-8000-000000000002", at)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := session.Load(append([]session.Record{h}, copied...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range reply.Blocks {
		if e, _ := fork.Ledger.Lookup(1, c.ID); string(e.Status) != c.ID {
			t.Errorf("a call that was %s is %s in the fork", c.ID, e.Status)
		}
	}
}

// fullDisk is a store that keeps a part of what is appended.
type fullDisk struct{ *session.MemoryStore }

type fullWriter struct{ session.Writer }

var errFull = errors.New("no space left on device")

func (f fullDisk) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	w, err := f.MemoryStore.Create(ctx, h)
	return fullWriter{w}, err
}

func (w fullWriter) Append(ctx context.Context, records ...session.Record) error {
	return errors.Join(w.Writer.Append(ctx, records[:len(records)/2]...), errFull)
}

// TestBranchWholeOrNot: a fork that could not be written leaves nothing that
// looks like a session.
func TestBranchWholeOrNot(t *testing.T) {
	store := session.NewMemoryStore()
	id := parent(t, store)
	if _, err := session.Branch(
		t.Context(), fullDisk{store}, id, 0, "0199a2b4-0000-7000-8000-000000000002", time.Unix(9, 0),
	); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if infos, err := store.List(t.Context(), session.Filter{}); err != nil || len(infos) != 1 {
		t.Errorf("%d sessions, %v", len(infos), err)
	}
}

func startsWith(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// TestTornFork: a fork that was cut off anywhere while it was written is known
// as such.
func TestTornFork(t *testing.T) {
	store := session.NewMemoryStore()
	whole, err := store.Load(t.Context(), parent(t, store))
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Whole(); err != nil {
		t.Error(err)
	}
	h, records, err := whole.Fork(len(whole.Messages), "0199a2b4-0000-7000-8000-000000000002", time.Unix(9, 0))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(records) + 1 {
		piece, err := session.Load(append([]session.Record{h}, records[:n]...)...)
		if err != nil {
			t.Fatal(err)
		}
		if torn := errors.Is(piece.Whole(), session.ErrTornFork); torn != (n < len(records)) {
			t.Errorf("%d of %d records: torn is %v", n, len(records), torn)
		}
	}
}
