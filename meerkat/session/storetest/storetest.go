// Package storetest tests an implementation of session.Store.
//
// The test of a store calls [Run] with a function that opens an empty one:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) session.Store { return mystore.Open(t.TempDir()) })
//	}
//
// [Checks] lists the contract, point by point: what was appended is loaded byte
// for byte, a session has one writer, a failed writer stays failed, and so on. A
// store that passes can be used by an agent. The checks need no network, and
// each of them uses a store of its own.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// storeCheck is one point of the contract.
type storeCheck struct {
	Name string
	// Try runs the check on an empty store and returns how the store breaks it,
	// nil if it does not.
	Try func(store session.Store) error
}

// Run runs every check as a subtest, each on an empty store that open returns.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	t.Helper()
	for _, c := range storeChecks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Try(open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// storeChecks returns the whole contract.
func storeChecks() []storeCheck {
	return []storeCheck{
		{"what is appended is what is loaded, byte for byte", checkLossless},
		{"a session is there as soon as Create returns", checkCreateVisible},
		{"a record is there as soon as Append returns", checkAppendVisible},
		{"records add up over several writers", checkReopen},
		{"an id is taken once", checkUniqueID},
		{"a session has one writer", checkOneWriter},
		{"what does not exist is not found", checkNotFound},
		{"a closed writer appends nothing", checkClosedWriter},
		{"an ended context appends nothing", checkCancelledAppend},
		{"a writer that failed stays failed", checkFailedWriter},
		{"a loaded session is the caller's own", checkNoAliasing},
		{"deleted is gone", checkDelete},
		{"listing sorts, filters and pages", checkList},
		{"sessions of one time are listed in one order, page by page", checkStablePages},
		{"a clock that goes back does not take a session back", checkLatestTime},
		{"sessions are independent under concurrency", checkConcurrent},
		{"an id that is not an id is refused", checkBadID},
	}
}

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
)

// numberedHeader returns the n-th header; ids sort by n.
func numberedHeader(n int) session.Header {
	return session.Header{Version: session.Version, ID: session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n)),
		Created: epoch.Add(time.Duration(n) * time.Hour), Provider: "anthropic", Model: "claude-opus-4-5"}
}

func userMessage(text string) session.Record {
	return session.MessageRecord{At: epoch, Message: transcript.User(text)}
}

// allRecordKinds has every kind of record and bytes that a careless store would change.
func allRecordKinds() []session.Record {
	tools := []transcript.ToolDef{{
		Name: "t", Description: "<&>", InputSchema: transcript.RawJSON("{ \"type\":\"object\",\"z\":1,\"a\":1.0 }"),
	}}
	hash, _ := session.Digest("be <brief>", tools, nil)
	args := []byte("{\"z\":1, \"a\":12345678901234567890,\"s\":\"<\u2028\xff\"}")
	calls := transcript.Assistant(transcript.StopToolUse,
		transcript.Reasoning("", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "EqQB+/="}),
		transcript.ToolUse("toolu_1", "t", args))
	calls.Extra = `{"future":true}`
	read := uint64(7)
	return []session.Record{
		session.Prefix{
			At: epoch, Provider: "anthropic", Model: "claude-opus-4-5", Effort: "low", System: "be <brief>",
			Tools: tools, Hash: hash,
		},
		session.Annotation{At: epoch, Name: session.AnnotationAllowUnlisted, Value: "m"},
		session.Run{At: epoch, ID: "run 1"},
		session.Budget{At: epoch, Limits: session.Limits{MaxTokens: 9, MaxDuration: time.Minute}},
		userMessage("hi \xed\xa0\x80 \x00"),
		session.Checkpoint{At: epoch, Reason: session.ReasonPrompt},
		session.MessageRecord{At: epoch, Message: calls},
		session.Call{At: epoch, Turn: 1, Provider: "anthropic", Model: "m", Sent: 1, Hash: "sha256:x",
			StopReason: transcript.StopToolUse,
			Usage:      &transcript.Usage{InputTokens: 3, OutputTokens: 4, CacheReadTokens: &read}},
		session.Checkpoint{At: epoch, Reason: session.ReasonAssistant},
		session.Tool{
			At:         epoch,
			CallRecord: transcript.CallRecord{Message: 1, CallID: "toolu_1", Name: "t", Status: transcript.CallRunning},
		},
		session.MessageRecord{
			At: epoch,
			Message: transcript.ToolResults(transcript.ToolResult{
				ToolUseID: "toolu_1", Content: strings.Repeat("\xff line\n", 1<<13),
			}),
		},
		session.Call{
			At: epoch, Turn: 2, Provider: "anthropic", Model: "m", Sent: 3, Hash: "sha256:y",
			StopReason: transcript.StopEndTurn, Discarded: true,
		},
		session.Compaction{At: epoch, Through: 2, Summary: "<&> \uFFFD", Kept: []int{0}, Reason: "threshold"},
		session.ErrorRecord{At: epoch, RunID: "run 1", Kind: "overloaded", Message: "<&>"},
		session.RunEnd{
			At: epoch, RunID: "run 1", Turns: 2, ToolCalls: 1, DurationMS: 60000, StopReason: transcript.StopEndTurn,
		},
		session.Checkpoint{At: epoch.Add(time.Minute), Reason: session.ReasonCompleted},
	}
}

// checkLoaded compares a loaded session with what its records add up to.
func checkLoaded(got session.Session, h session.Header, records []session.Record) error {
	want, err := session.Load(append([]session.Record{h}, records...)...)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(session.Session{})); diff != "" {
		return fmt.Errorf("loaded session differs (-want +got):\n%s", diff)
	}
	return nil
}

// createFilled creates session n with records and closes it.
func createFilled(store session.Store, n int, records ...session.Record) error {
	w, err := store.Create(ctx, numberedHeader(n))
	if err != nil {
		return err
	}
	return errors.Join(w.Append(ctx, records...), w.Close())
}

func checkLossless(store session.Store) error {
	if err := createFilled(store, 1, allRecordKinds()...); err != nil {
		return err
	}
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	return checkLoaded(got, numberedHeader(1), allRecordKinds())
}

func checkCreateVisible(store session.Store) error {
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return fmt.Errorf("Load beside the writer: %w", err)
	}
	if err := checkLoaded(got, numberedHeader(1), nil); err != nil {
		return err
	}
	return errors.Join(w.Append(ctx), checkListed(store, session.Filter{}, []int{1}))
}

func checkAppendVisible(store session.Store) error {
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	var done []session.Record
	for _, r := range allRecordKinds() {
		if err := w.Append(ctx, r); err != nil {
			return err
		}
		done = append(done, r)
		got, err := store.Load(ctx, numberedHeader(1).ID)
		if err != nil {
			return err
		}
		if err := checkLoaded(got, numberedHeader(1), done); err != nil {
			return fmt.Errorf("after record %d: %w", len(done), err)
		}
	}
	return nil
}

func checkNotFound(store session.Store) error {
	id := numberedHeader(9).ID
	_, err := store.Load(ctx, id)
	_, _, openErr := store.Open(ctx, id)
	for name, err := range map[string]error{"Load": err, "Open": openErr, "Delete": store.Delete(ctx, id)} {
		if !errors.Is(err, session.ErrNotFound) || !strings.Contains(err.Error(), string(id)) {
			return fmt.Errorf("%s: %v; want ErrNotFound naming the session", name, err)
		}
	}
	infos, err := store.List(ctx, session.Filter{})
	if err != nil || len(infos) != 0 {
		return fmt.Errorf("List of an empty store: %v, %v", infos, err)
	}
	return nil
}

func checkDelete(store session.Store) error {
	if err := errors.Join(
		createFilled(store, 1, userMessage("a")), createFilled(store, 2, userMessage("b")),
	); err != nil {
		return err
	}
	if err := store.Delete(ctx, numberedHeader(1).ID); err != nil {
		return err
	}
	if _, err := store.Load(ctx, numberedHeader(1).ID); !errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("Load after Delete: %v; want ErrNotFound", err)
	}
	if _, err := store.Load(ctx, numberedHeader(2).ID); err != nil {
		return fmt.Errorf("Delete took another session along: %w", err)
	}
	return createFilled(store, 1, userMessage("again"))
}

func checkBadID(store session.Store) error {
	for _, id := range []session.ID{
		"", "../x", "0199A2B4-0000-7000-8000-000000000001", "{0199a2b4-0000-7000-8000-000000000001}",
	} {
		h := numberedHeader(1)
		h.ID = id
		if w, err := store.Create(ctx, h); err == nil {
			_ = w.Close()
			return fmt.Errorf("Create accepted the id %q", id)
		}
		_, err := store.Load(ctx, id)
		_, _, openErr := store.Open(ctx, id)
		for name, err := range map[string]error{"Load": err, "Open": openErr, "Delete": store.Delete(ctx, id)} {
			if !errors.Is(err, session.ErrNotFound) {
				return fmt.Errorf("%s of the id %q: %v; want ErrNotFound", name, id, err)
			}
		}
	}
	return nil
}
