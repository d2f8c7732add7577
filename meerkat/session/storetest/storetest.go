// Package storetest judges a session.Store by the contract that the interface
// states. A Store that passes Run can stand behind an agent.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Check is one point of the contract.
type Check struct {
	Name string
	// Try returns what is wrong with an empty store, nil if nothing is.
	Try func(store session.Store) error
}

// Run tries every check on a store of its own.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	t.Helper()
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Try(open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Checks returns the whole contract.
func Checks() []Check {
	return []Check{
		{"what is appended is what is loaded, byte for byte", lossless},
		{"a session is there as soon as Create returns", created},
		{"a record is there as soon as Append returns", durable},
		{"records add up over several writers", reopened},
		{"an id is taken once", takenOnce},
		{"a session has one writer", oneWriter},
		{"what does not exist is not found", notFound},
		{"a closed writer appends nothing", closed},
		{"an ended context appends nothing", ended},
		{"a writer that failed stays failed", poisoned},
		{"a loaded session is the caller's own", isolated},
		{"deleted is gone", deleted},
		{"listing sorts, filters and pages", listing},
		{"sessions of one time are listed in one order, page by page", paged},
		{"a clock that goes back does not take a session back", backwards},
		{"sessions are independent under concurrency", concurrent},
		{"an id that is no id is refused", badID},
	}
}

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
)

// header returns the n-th header; ids sort by n.
func header(n int) session.Header {
	return session.Header{Version: session.Version, ID: session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n)),
		Created: epoch.Add(time.Duration(n) * time.Hour), Provider: "anthropic", Model: "claude-opus-4-5"}
}

func user(text string) session.Record {
	return session.MessageRecord{At: epoch, Message: transcript.User(text)}
}

// history has every kind of record and bytes that break careless stores.
func history() []session.Record {
	tools := []transcript.ToolDef{{Name: "t", Description: "<&>", InputSchema: transcript.RawJSON("{ \"type\":\"object\",\"z\":1,\"a\":1.0 }")}}
	hash, _ := session.Digest("be <brief>", tools, nil)
	args := []byte("{\"z\":1, \"a\":12345678901234567890,\"s\":\"<\u2028\xff\"}")
	calls := transcript.Assistant(transcript.StopToolUse,
		transcript.Reasoning("", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "EqQB+/="}),
		transcript.ToolUse("toolu_1", "t", args))
	calls.Extra = `{"future":true}`
	read := uint64(7)
	return []session.Record{
		session.Prefix{At: epoch, Provider: "anthropic", Model: "claude-opus-4-5", Effort: "low", System: "be <brief>", Tools: tools, Hash: hash},
		session.Annotation{At: epoch, Name: session.AnnotationAllowUnlisted, Value: "m"},
		session.Run{At: epoch, ID: "run 1"},
		session.Budget{At: epoch, Limits: session.Limits{MaxTokens: 9, MaxDuration: time.Minute}},
		user("hi \xed\xa0\x80 \x00"),
		session.Checkpoint{At: epoch, Reason: session.ReasonPrompt},
		session.MessageRecord{At: epoch, Message: calls},
		session.Call{At: epoch, Turn: 1, Provider: "anthropic", Model: "m", Sent: 1, Hash: "sha256:x", StopReason: transcript.StopToolUse,
			Usage: &transcript.Usage{InputTokens: 3, OutputTokens: 4, CacheReadTokens: &read}},
		session.Checkpoint{At: epoch, Reason: session.ReasonAssistant},
		session.Tool{At: epoch, CallRecord: transcript.CallRecord{Message: 1, CallID: "toolu_1", Name: "t", Status: transcript.CallRunning}},
		session.MessageRecord{At: epoch, Message: transcript.ToolResults(transcript.ToolResult{ToolUseID: "toolu_1", Content: strings.Repeat("\xff line\n", 1<<13)})},
		session.Call{At: epoch, Turn: 2, Provider: "anthropic", Model: "m", Sent: 3, Hash: "sha256:y", StopReason: transcript.StopEndTurn, Discarded: true},
		session.Compaction{At: epoch, Through: 2, Summary: "<&> \uFFFD", Kept: []int{0}, Reason: "threshold"},
		session.ErrorRecord{At: epoch, RunID: "run 1", Kind: "overloaded", Message: "<&>"},
		session.RunEnd{At: epoch, RunID: "run 1", Turns: 2, ToolCalls: 1, DurationMS: 60000, StopReason: transcript.StopEndTurn},
		session.Checkpoint{At: epoch.Add(time.Minute), Reason: session.ReasonCompleted},
	}
}

// same compares what a store returned with what records add up to.
func same(got session.Session, h session.Header, records []session.Record) error {
	want, err := session.Load(append([]session.Record{h}, records...)...)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(session.Session{})); diff != "" {
		return fmt.Errorf("loaded session differs (-want +got):\n%s", diff)
	}
	return nil
}

// filled creates session n with records and closes it.
func filled(store session.Store, n int, records ...session.Record) error {
	w, err := store.Create(ctx, header(n))
	if err != nil {
		return err
	}
	return errors.Join(w.Append(ctx, records...), w.Close())
}

func lossless(store session.Store) error {
	if err := filled(store, 1, history()...); err != nil {
		return err
	}
	got, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return err
	}
	return same(got, header(1), history())
}

func created(store session.Store) error {
	w, err := store.Create(ctx, header(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	got, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return fmt.Errorf("Load beside the writer: %w", err)
	}
	if err := same(got, header(1), nil); err != nil {
		return err
	}
	return errors.Join(w.Append(ctx), lists(store, session.Filter{}, []int{1}))
}

func durable(store session.Store) error {
	w, err := store.Create(ctx, header(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	var done []session.Record
	for _, r := range history() {
		if err := w.Append(ctx, r); err != nil {
			return err
		}
		done = append(done, r)
		got, err := store.Load(ctx, header(1).ID)
		if err != nil {
			return err
		}
		if err := same(got, header(1), done); err != nil {
			return fmt.Errorf("after record %d: %w", len(done), err)
		}
	}
	return nil
}

func reopened(store session.Store) error {
	all := history()
	if err := filled(store, 1, all[:4]...); err != nil {
		return err
	}
	for i, r := range all[4:] {
		got, w, err := store.Open(ctx, header(1).ID)
		if err != nil {
			return err
		}
		err = same(got, header(1), all[:4+i])
		if err := errors.Join(err, w.Append(ctx, r), w.Close()); err != nil {
			return err
		}
	}
	got, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return err
	}
	return same(got, header(1), all)
}

func takenOnce(store session.Store) error {
	if err := filled(store, 1, user("first")); err != nil {
		return err
	}
	if w, err := store.Create(ctx, header(1)); !errors.Is(err, session.ErrExists) {
		return fmt.Errorf("a second Create returned %v, %v; want ErrExists", w, err)
	}
	got, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return err
	}
	return same(got, header(1), []session.Record{user("first")})
}

func oneWriter(store session.Store) error {
	w, err := store.Create(ctx, header(1))
	if err != nil {
		return err
	}
	for _, doing := range []string{"created", "opened"} {
		var locked *session.LockedError
		if _, second, err := store.Open(ctx, header(1).ID); !errors.As(err, &locked) {
			return fmt.Errorf("Open beside the writer that %s it returned %v, %v; want *LockedError", doing, second, err)
		}
		if err := store.Delete(ctx, header(1).ID); !errors.As(err, &locked) {
			return fmt.Errorf("Delete beside a writer: %v; want *LockedError", err)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			return fmt.Errorf("Close twice: %w", err)
		}
		if _, w, err = store.Open(ctx, header(1).ID); err != nil {
			return fmt.Errorf("Open after Close: %w", err)
		}
	}
	return w.Close()
}

func notFound(store session.Store) error {
	id := header(9).ID
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

func closed(store session.Store) error {
	w, err := store.Create(ctx, header(1))
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := w.Append(ctx, user("late")); !errors.Is(err, session.ErrClosed) {
		return fmt.Errorf("Append after Close: %v; want ErrClosed", err)
	}
	return holds(store, 0)
}

func ended(store session.Store) error {
	w, err := store.Create(ctx, header(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Append(over, user("late")); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Append with an ended context: %v; want context.Canceled", err)
	}
	if err := holds(store, 0); err != nil {
		return err
	}
	return w.Append(ctx, user("in time"))
}

func poisoned(store session.Store) error {
	w, err := store.Create(ctx, header(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	bad := session.MessageRecord{At: epoch} // a message without a role cannot be stored
	if err := w.Append(ctx, user("a"), bad); err == nil {
		return errors.New("a message that cannot be stored was accepted")
	}
	if err := w.Append(ctx, user("b")); err == nil {
		return errors.New("Append after a failed Append succeeded")
	}
	return nil
}

// holds requires n messages in session 1.
func holds(store session.Store, n int) error {
	got, err := store.Load(ctx, header(1).ID)
	if err == nil && len(got.Messages) != n {
		err = fmt.Errorf("%d messages are stored; want %d", len(got.Messages), n)
	}
	return err
}

func isolated(store session.Store) error {
	if err := filled(store, 1, history()...); err != nil {
		return err
	}
	got, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return err
	}
	got.Messages[1].Blocks[1].Args[0] = 'X'
	got.Messages = append(got.Messages[:0], transcript.User("mine"))
	again, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return err
	}
	return same(again, header(1), history())
}

func deleted(store session.Store) error {
	if err := errors.Join(filled(store, 1, user("a")), filled(store, 2, user("b"))); err != nil {
		return err
	}
	if err := store.Delete(ctx, header(1).ID); err != nil {
		return err
	}
	if _, err := store.Load(ctx, header(1).ID); !errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("Load after Delete: %v; want ErrNotFound", err)
	}
	if _, err := store.Load(ctx, header(2).ID); err != nil {
		return fmt.Errorf("Delete took another session along: %w", err)
	}
	return filled(store, 1, user("again"))
}

func listing(store session.Store) error {
	for n := range 4 {
		if err := filled(store, n); err != nil {
			return err
		}
	}
	_, w, err := store.Open(ctx, header(1).ID)
	if err != nil {
		return err
	}
	late := session.Checkpoint{At: epoch.Add(24 * time.Hour), Reason: session.ReasonCompleted}
	if err := errors.Join(w.Append(ctx, late), w.Close()); err != nil {
		return err
	}
	for _, c := range []struct {
		filter session.Filter
		want   []int
	}{
		{session.Filter{}, []int{1, 3, 2, 0}},
		{session.Filter{Limit: 2}, []int{1, 3}},
		{session.Filter{Limit: 2, Offset: 3}, []int{0}},
		{session.Filter{Offset: 9}, nil},
		{session.Filter{CreatedAfter: header(2).Created}, []int{3, 2}},
		{session.Filter{UpdatedAfter: header(3).Created}, []int{1, 3}},
	} {
		if err := lists(store, c.filter, c.want); err != nil {
			return err
		}
	}
	return nil
}

// paged lists sessions of which all, or some, were updated at the same time:
// each page must go on where the one before it ended.
func paged(store session.Store) error {
	const sessions = 5
	for n := range sessions {
		h := header(n)
		h.Created = epoch
		w, err := store.Create(ctx, h)
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	for n := range sessions {
		if err := lists(store, session.Filter{Offset: n, Limit: 1}, []int{sessions - 1 - n}); err != nil {
			return err
		}
	}
	return nil
}

// backwards holds the time of the last update to the latest one that a record
// carries, over several writers.
func backwards(store session.Store) error {
	if err := errors.Join(filled(store, 0), filled(store, 1, session.Annotation{At: epoch.Add(9 * time.Hour), Name: "late"}, user("earlier"))); err != nil {
		return err
	}
	for range 2 {
		_, w, err := store.Open(ctx, header(1).ID)
		if err != nil {
			return err
		}
		if err := errors.Join(w.Append(ctx, user("earlier")), w.Close()); err != nil {
			return err
		}
	}
	got, err := store.Load(ctx, header(1).ID)
	if err != nil {
		return err
	}
	infos, err := store.List(ctx, session.Filter{Limit: 1})
	if err != nil {
		return err
	}
	if want := epoch.Add(9 * time.Hour); len(infos) != 1 || infos[0].ID != header(1).ID || !infos[0].Updated.Equal(want) || !got.Updated.Equal(want) {
		return fmt.Errorf("List returned %+v; want session 1, updated %s", infos, want)
	}
	return nil
}

func lists(store session.Store, f session.Filter, want []int) error {
	infos, err := store.List(ctx, f)
	if err != nil {
		return err
	}
	var have, ids []session.ID
	for _, i := range infos {
		have = append(have, i.ID)
		if i.Problem != nil || i.Model != header(0).Model || i.Updated.IsZero() {
			return fmt.Errorf("List returned %+v", i)
		}
	}
	for _, n := range want {
		ids = append(ids, header(n).ID)
	}
	if !slices.Equal(have, ids) {
		return fmt.Errorf("List(%+v) = %v; want %v", f, have, ids)
	}
	return nil
}

func concurrent(store session.Store) error {
	const sessions, appends = 8, 10
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for n := range sessions {
		wg.Go(func() { errs[n] = filled(store, n, slices.Repeat([]session.Record{user("x")}, appends)...) })
		wg.Go(func() { _, _ = store.List(ctx, session.Filter{}) })
	}
	wg.Wait()
	for n := range sessions {
		got, err := store.Load(ctx, header(n).ID)
		if err := errors.Join(errs[n], err); err != nil {
			return err
		}
		if len(got.Messages) != appends {
			return fmt.Errorf("session %d holds %d messages; want %d", n, len(got.Messages), appends)
		}
	}
	return nil
}

func badID(store session.Store) error {
	for _, id := range []session.ID{"", "../x", "0199A2B4-0000-7000-8000-000000000001", "{0199a2b4-0000-7000-8000-000000000001}"} {
		h := header(1)
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
