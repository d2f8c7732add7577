package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// countingModel calls the tool work once, and answers when it has the result.
type countingModel struct{}

func (countingModel) Provider() string                         { return "anthropic" }
func (countingModel) Render(*provider.Request) ([]byte, error) { return nil, nil }

func (countingModel) Complete(_ context.Context, r *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	reply := stream.Reply{Usage: transcript.Usage{InputTokens: 1, OutputTokens: 1}, UsageKnown: true}
	if r.Messages[len(r.Messages)-1].Role == transcript.RoleUser {
		reply.Message = transcript.Assistant(transcript.StopToolUse, transcript.ToolUse("call_1", "work", []byte(`{}`)))
		return reply, nil
	}
	reply.Message = transcript.Assistant(transcript.StopEndTurn, transcript.Text("done"))
	return reply, nil
}

// TestKindOfToolServer: a tool server that does not start is not a fault of this program,
// and a client that interrupted its start is not told of the server.
func TestKindOfToolServer(t *testing.T) {
	for cause, want := range map[error]string{
		errors.New("no such file"): "tool_server", context.Canceled: "interrupted",
	} {
		err := fmt.Errorf("build: %w", &mcp.ServerError{Server: "bank", Err: cause})
		if got := server.ErrorKind(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// recordingStore keeps the records of the sessions that are created in it.
type recordingStore struct {
	session.Store
	mu      sync.Mutex
	header  session.Header
	records []session.Record
}

func (s *recordingStore) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	w, err := s.Store.Create(ctx, h)
	s.header = h
	return recordingWriter{w, s}, err
}

type recordingWriter struct {
	session.Writer
	store *recordingStore
}

func (w recordingWriter) Append(ctx context.Context, records ...session.Record) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.records = append(w.store.records, records...)
	return w.Writer.Append(ctx, records...)
}

// newHost returns a host of agents with a countingModel. ran counts the runs of its tool.
func newHost(store session.Store, ran func()) server.Host {
	work := tool.Tool{
		Def: transcript.ToolDef{
			Name: "work", Description: "works", InputSchema: transcript.RawJSON(`{"type":"object"}`),
		},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			ran()
			return transcript.ToolResult{Content: "worked"}, nil
		},
	}
	return server.Host{Store: store, Open: func(ctx context.Context, r server.Request) (*meerkat.Agent, func(), error) {
		b := meerkat.NewAgent().WithClient(countingModel{}).WithStore(store).WithEvents(r.Listen).WithTool(work).
			WithNewRunID(func() (string, error) { return r.RunID, nil })
		if r.NewSession != "" {
			b.WithNewID(func() (session.ID, error) { return r.NewSession, nil })
		}
		a, err := b.BuildContext(ctx)
		return a, func() {}, err
	}}
}

// keptEvents is a Control that keeps the kinds of events.
type keptEvents struct{ kinds []string }

func (k *keptEvents) Append(kind string, _ json.RawMessage) { k.kinds = append(k.kinds, kind) }
func (k *keptEvents) TakeSteering() []server.Steering       { return nil }
func (k *keptEvents) OnCancel(func(session.ID))             {}

// TestExecuteGoesOn ends the first attempt of a run after each record that it wrote. The
// second attempt must complete the run: the prompt is said once, and a tool that may have
// run is not run again.
func TestExecuteGoesOn(t *testing.T) {
	run := server.Run{
		ID: "0199a2b4-0000-7000-8000-00000000000a", Session: "0199a2b4-0000-7000-8000-00000000000b", New: true,
		Task: server.Task{Prompt: "work"},
	}
	whole := &recordingStore{Store: session.NewMemoryStore()}
	if out := newHost(whole, func() {}).Execute(
		t.Context(), run, &keptEvents{},
	); out.Status != server.StatusCompleted || out.Text != "done" || out.ToolCalls != 1 {
		t.Fatalf("the whole run: %+v", out)
	}
	for n := range len(whole.records) + 1 {
		t.Run(fmt.Sprint(n, " records"), func(t *testing.T) {
			store := session.NewMemoryStore()
			w, err := store.Create(t.Context(), whole.header)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Append(t.Context(), whole.records[:n]...), w.Close()); err != nil {
				t.Fatal(err)
			}
			before, err := store.Load(t.Context(), run.Session)
			if err != nil {
				t.Fatal(err)
			}
			ran := 0
			out := newHost(store, func() { ran++ }).Execute(t.Context(), run, &keptEvents{})
			if out.Status != server.StatusCompleted || out.Text != "done" {
				t.Errorf("the second attempt: %+v", out)
			}
			after, err := store.Load(t.Context(), run.Session)
			if err != nil {
				t.Fatal(err)
			}
			said := 0
			for _, m := range after.Messages {
				if m.Role == transcript.RoleUser {
					said++
				}
			}
			if entry, ok := before.Ledger.Lookup(1, "call_1"); ok && entry.Status != transcript.CallProposed &&
				ran > 0 {
				t.Errorf("the tool was %s and ran again", entry.Status)
			}
			if said != 1 || len(after.Ledger.Open()) > 0 {
				t.Errorf("the prompt was said %d times, calls without a result: %v", said, after.Ledger.Open())
			}
		})
	}
}

// TestExecuteFails holds that what fails before there is an agent is an event, too.
func TestExecuteFails(t *testing.T) {
	host := newHost(session.NewMemoryStore(), func() {})
	host.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	events := &keptEvents{}
	run := server.Run{ID: "r", Session: "0199a2b4-0000-7000-8000-00000000000b", Task: server.Task{Prompt: "work"}}
	if out := host.Execute(t.Context(), run, events); out.Status != server.StatusFailed ||
		out.ErrorKind != "session_not_found" || !slices.Equal(events.kinds, []string{"run_failed"}) {
		t.Errorf("a session that does not exist: %+v, events %v", out, events.kinds)
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(server.ErrInterrupted)
	run.New = true
	if out := host.Execute(cancelled, run, &keptEvents{}); out.Status != server.StatusInterrupted {
		t.Errorf("a run whose context has ended: %+v", out)
	}
}

// awayStore is a store that fails at first: each operation has its failures before it works.
type awayStore struct {
	session.Store
	load, create, open []error
}

func firstOf(failures *[]error) error {
	if len(*failures) == 0 {
		return nil
	}
	err := (*failures)[0]
	*failures = (*failures)[1:]
	return err
}

func (s *awayStore) Load(ctx context.Context, id session.ID) (session.Session, error) {
	if err := firstOf(&s.load); err != nil {
		return session.Session{}, err
	}
	return s.Store.Load(ctx, id)
}

func (s *awayStore) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	if err := firstOf(&s.create); err != nil {
		return nil, err
	}
	return s.Store.Create(ctx, h)
}

func (s *awayStore) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	if err := firstOf(&s.open); err != nil {
		return session.Session{}, nil, err
	}
	return s.Store.Open(ctx, id)
}

// TestExecuteIsPatient holds that a run begins, or is taken over, when its store is back, and
// that only a patient host waits, and not for ever.
func TestExecuteIsPatient(t *testing.T) {
	away := &session.StorageError{Err: errors.New("the database is away")}
	first := server.Run{
		ID: "r1", Session: "0199a2b4-0000-7000-8000-00000000000b", New: true, Task: server.Task{Prompt: "work"},
	}
	second := first
	second.ID = "r2"
	for name, c := range map[string]struct {
		store    awayStore
		patience time.Duration
		again    bool // the session exists
		want     string
		waits    int
	}{
		"loading":  {awayStore{load: []error{away, away, away}}, time.Minute, false, "completed", 3},
		"creating": {awayStore{create: []error{away, session.ErrExists}}, time.Minute, false, "completed", 2},
		"going on": {awayStore{open: []error{away}}, time.Minute, true, "completed", 1},
		"taken over": {
			awayStore{open: []error{&session.LockedError{}, &session.LockedError{}}}, time.Minute, true, "completed",
			2,
		},
		"no patience": {awayStore{load: []error{away}}, 0, false, "failed storage", 0},
		"away too long": {
			awayStore{load: slices.Repeat([]error{away}, 100)}, 5 * time.Second, false, "failed storage", 4,
		},
		"damaged": {awayStore{load: []error{&session.CorruptError{}}}, time.Minute, false, "failed session_damaged", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.store.Store = session.NewMemoryStore()
			run := first
			if c.again {
				newHost(c.store.Store, func() {}).Execute(t.Context(), first, &keptEvents{})
				run = second
			}
			host, waits, now := newHost(&c.store, func() {}), 0, time.Unix(0, 0)
			host.Patience, host.Now = c.patience, func() time.Time { return now }
			host.Sleep = func(_ context.Context, d time.Duration) error {
				waits, now = waits+1, now.Add(d)
				return nil
			}
			events := &keptEvents{}
			out := host.Execute(t.Context(), run, events)
			if got := strings.TrimSpace(string(out.Status) + " " + out.ErrorKind); got != c.want || waits != c.waits {
				t.Errorf("%s after %d waits, want %s after %d: %+v", got, waits, c.want, c.waits, out)
			}
			if failed := slices.Contains(events.kinds, "run_failed"); failed != (out.Status == server.StatusFailed) {
				t.Errorf("the events: %v", events.kinds)
			}
		})
	}
}

// TestExecuteIsCalledOff: a run that waits for its store ends at once when it is interrupted,
// or when the server stops and another replica is to go on with it.
func TestExecuteIsCalledOff(t *testing.T) {
	host := newHost(
		&awayStore{Store: session.NewMemoryStore(), load: []error{&session.StorageError{Err: errors.New("away")}}},
		func() {},
	)
	ctx, cancel := context.WithCancelCause(t.Context())
	host.Patience = time.Hour
	host.Sleep = func(ctx context.Context, _ time.Duration) error {
		cancel(server.ErrDraining)
		return ctx.Err()
	}
	run := server.Run{
		ID: "r", Session: "0199a2b4-0000-7000-8000-00000000000b", New: true, Task: server.Task{Prompt: "work"},
	}
	if out := host.Execute(ctx, run, &keptEvents{}); out.Status != server.StatusInterrupted {
		t.Errorf("%+v", out)
	}
}
