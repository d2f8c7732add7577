package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/internal/postgrestest"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/replicated"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// openBackend returns an empty backend that calls execute.
type openBackend func(execute server.Execute, limits server.BackendLimits) server.Backend

var database postgrestest.Server

func TestMain(m *testing.M) { os.Exit(database.Main(m)) }

// backends are the implementations of server.Backend, each opened empty.
var backends = map[string]func(*testing.T, server.Execute, server.BackendLimits) server.Backend{
	"local": func(_ *testing.T, execute server.Execute, limits server.BackendLimits) server.Backend {
		return server.NewLocal(execute, server.LocalOptions{BackendLimits: limits})
	},
	"replicated": func(t *testing.T, execute server.Execute, limits server.BackendLimits) server.Backend {
		t.Helper()
		store, err := sqlstore.OpenPostgres(t.Context(), sqlstore.Options{URL: database.Database(t), Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := replicated.Open(t.Context(), store, execute, replicated.Options{BackendLimits: limits})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			b.Close()
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		return b
	},
}

// backendCheck is one point of the contract.
type backendCheck struct {
	Name string
	// Try returns how a backend breaks the contract, nil if it does not.
	Try func(ctx context.Context, open openBackend) error
}

// patience is how long a check waits for what must happen soon.
const patience = 2 * time.Minute

// TestBackend holds every backend to the contract of server.Backend: two submissions with one key
// are one run, a session has one run at a time, a reader gets every event or is told that some
// are missing. Each check drains a backend of its own.
func TestBackend(t *testing.T) {
	for name, open := range backends {
		for _, c := range backendChecks() {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				var opened server.Backend
				err := c.Try(ctx, func(execute server.Execute, limits server.BackendLimits) server.Backend {
					opened = open(t, execute, limits)
					return opened
				})
				over, end := context.WithCancel(ctx)
				end()
				if err := errors.Join(err, opened.Drain(over)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// backendChecks returns the whole contract.
func backendChecks() []backendCheck {
	return []backendCheck{
		{"a run is executed once as it was accepted, and its outcome is kept", checkExecuted},
		{"a repeated key is the same run", checkRepeatedKey},
		{"a repeated key is the same run, although nothing else is accepted", checkRepeatedWhenFull},
		{"a key that comes 50 times at once is one run", checkConcurrentKey},
		{"a key with another request is refused", checkReusedKey},
		{"a session has one run at a time", checkBusySession},
		{"more runs than the limit are refused", checkFull},
		{"what does not exist is not found", checkNotFound},
		{"waiting ends with the context", checkWaitEnds},
		{"runs are listed by session, the newest first, page by page", checkRunPages},
		{"active runs are those that have not ended", checkActive},
		{"an interrupt ends the run of its session, and says why", checkInterrupt},
		{"a run learns of each operation to cancel, also of those that came before it asked", checkCancel},
		{"events are read in order from any position", checkEvents},
		{"a reader waits for the next event", checkFollow},
		{"sessions have logs of their own", checkLogsApart},
		{"events that are no longer kept are a gap", checkGap},
		{"a position of another log is a gap", checkForeignPosition},
		{"steering is taken once, in order", checkSteering},
		{"steering beyond the limit is refused", checkSteeringFull},
		{"steering that no turn took ends with its run", checkSteeringEnds},
		{"forgotten is gone, and a session that runs is not forgotten", checkForget},
		{"a drain waits for runs and accepts none", checkDrain},
		{"a drain that runs out of time cuts runs off", checkDrainCuts},
		{"a run that panics fails alone", checkPanic},
	}
}

// worker executes runs as a check tells it to.
type worker struct {
	begun chan server.Run
	// finish lets one run end with an outcome.
	finish chan server.Outcome
	// during is called in each run before it waits for finish; it may be nil.
	during func(server.Run, server.Control)
	// causes receives why contexts ended.
	causes chan error
}

func newWorker() *worker {
	return &worker{begun: make(chan server.Run, 64), finish: make(chan server.Outcome), causes: make(chan error, 64)}
}

func (w *worker) executeRun(ctx context.Context, r server.Run, c server.Control) server.Outcome {
	w.begun <- r
	if w.during != nil {
		w.during(r, c)
	}
	select {
	case out := <-w.finish:
		return out
	case <-ctx.Done():
		w.causes <- context.Cause(ctx)
		return server.Outcome{Status: server.StatusInterrupted, ErrorKind: "interrupted", Error: "stopped"}
	}
}

// finishRun lets one run complete with text.
func (w *worker) finishRun(ctx context.Context, text string) error {
	select {
	case w.finish <- server.Outcome{Status: server.StatusCompleted, Text: text}:
		return nil
	case <-ctx.Done():
		return errors.New("no run waits to be finished")
	}
}

// awaitBegun returns the next run that begins.
func (w *worker) awaitBegun(ctx context.Context) (server.Run, error) {
	select {
	case r := <-w.begun:
		return r, nil
	case <-ctx.Done():
		return server.Run{}, errors.New("no run begins")
	}
}

// numberedSession returns the id of the n-th session.
func numberedSession(n int) session.ID {
	return session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n))
}

// submitRun submits a run that must be accepted.
func submitRun(ctx context.Context, b server.Backend, id session.ID, prompt, key string) (server.Run, error) {
	r, _, err := b.Submit(ctx, server.Submission{Session: id, Key: key, Task: server.Task{Prompt: prompt}})
	if err != nil {
		return r, fmt.Errorf("Submit of %q: %w", prompt, err)
	}
	return r, nil
}

// submitBegun submits a run and waits until it is executed.
func submitBegun(ctx context.Context, b server.Backend, w *worker, id session.ID, prompt string) (server.Run, error) {
	r, err := submitRun(ctx, b, id, prompt, "")
	if err != nil {
		return r, err
	}
	begun, err := w.awaitBegun(ctx)
	if err == nil && begun.ID != r.ID {
		err = fmt.Errorf("run %s was accepted and %s begins", r.ID, begun.ID)
	}
	return r, err
}

// awaitEnd waits for a run, which must have the status then.
func awaitEnd(ctx context.Context, b server.Backend, id server.RunID, want server.Status) (server.Run, error) {
	r, err := b.Wait(ctx, id)
	if err == nil && r.Status != want {
		err = fmt.Errorf("run %s is %s after Wait; want %s", id, r.Status, want)
	}
	return r, err
}

// expectError returns an error unless have is an E.
func expectError[E error](what string, have error) error {
	var want E
	if !errors.As(have, &want) {
		return fmt.Errorf("%s: the error is %v; want a %T", what, have, want)
	}
	return nil
}

// wholeTask sets every field, with bytes that a careless queue would change.
func wholeTask() server.Task {
	return server.Task{
		Prompt: "count <&> \u2028 \x00", Model: "m", Effort: "low", System: "be brief",
		Limits:      session.Limits{MaxTokens: 1 << 60, MaxTurns: 2},
		Metadata:    map[string]string{"ticket": "7"},
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "a=b",
		Attached: []transcript.Part{{Type: "image", MediaType: "image/png", Data: []byte("\x89PNG\r\n")}},
	}
}

func checkExecuted(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	accepted, repeated, err := b.Submit(ctx, server.Submission{Task: wholeTask()})
	if err != nil || repeated {
		return fmt.Errorf("Submit: repeated %v, %v", repeated, err)
	}
	if _, err := session.ParseID(string(accepted.Session)); err != nil || !accepted.New || accepted.Created.IsZero() {
		return fmt.Errorf("Submit returned %+v; want a new session and a time, %v", accepted, err)
	}
	begun, err := w.awaitBegun(ctx)
	if err != nil {
		return err
	}
	if begun.Attempt != 1 || begun.Status != server.StatusRunning || begun.Started.IsZero() {
		return fmt.Errorf("executed as %s, attempt %d, begun at %s", begun.Status, begun.Attempt, begun.Started)
	}
	if diff := cmp.Diff(
		accepted, begun, cmpopts.IgnoreFields(server.Run{}, "Status", "Started", "Attempt"),
	); diff != "" {
		return fmt.Errorf("what is executed is not what was accepted (-accepted +executed):\n%s", diff)
	}
	want := server.Outcome{
		Status: server.StatusCompleted, Text: "three <&> \u2028", StopReason: transcript.StopEndTurn, Turns: 2,
		ToolCalls: 1,
		Usage:     transcript.Usage{InputTokens: 1 << 60, OutputTokens: 4},
	}
	select {
	case w.finish <- want:
	case <-ctx.Done():
		return ctx.Err()
	}
	ended, err := awaitEnd(ctx, b, accepted.ID, server.StatusCompleted)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(&want, ended.Outcome); diff != "" || ended.Ended.IsZero() {
		return fmt.Errorf("ended at %s, outcome differs (-want +got):\n%s", ended.Ended, diff)
	}
	if len(w.begun) > 0 {
		return errors.New("the run was executed twice")
	}
	return nil
}

func checkNotFound(ctx context.Context, open openBackend) error {
	b := open(newWorker().executeRun, server.BackendLimits{})
	id := server.RunID("0199a2b4-0000-7000-8000-000000000009")
	_, run := b.Run(ctx, id)
	_, wait := b.Wait(ctx, id)
	_, interrupt := b.Interrupt(ctx, numberedSession(9))
	_, steer := b.Steer(ctx, numberedSession(9), "hi")
	runs, err := b.Runs(ctx, numberedSession(9), "", 10)
	said, serr := b.Steerings(ctx, numberedSession(9))
	if err := errors.Join(err, serr); err != nil || len(runs) > 0 || len(said) > 0 {
		return fmt.Errorf("an unknown session has %d runs and %d messages, %v", len(runs), len(said), err)
	}
	return errors.Join(
		expectError[*server.RunNotFoundError]("Run", run), expectError[*server.RunNotFoundError]("Wait", wait),
		expectError[*server.NotRunningError]("Interrupt", interrupt),
		expectError[*server.NotRunningError]("Steer", steer),
		b.Forget(ctx, numberedSession(9)))
}

func checkWaitEnds(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, "", "hi")
	if err != nil {
		return err
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	var got server.Run
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		got, err = b.Wait(short, r.ID)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		return errors.New("Wait goes on although its context has ended")
	}
	if err != nil || got.ID != r.ID || got.Status != server.StatusRunning || got.Outcome != nil {
		return fmt.Errorf("Wait with an ended context returned %+v, %v; want the run under way", got, err)
	}
	return nil
}

func checkRunPages(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	var ids []server.RunID // the newest first
	for range 3 {
		r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
		if err != nil {
			return err
		}
		if err := w.finishRun(ctx, ""); err != nil {
			return err
		}
		if _, err := awaitEnd(ctx, b, r.ID, server.StatusCompleted); err != nil {
			return err
		}
		ids = append([]server.RunID{r.ID}, ids...)
	}
	if _, err := submitBegun(ctx, b, w, numberedSession(2), "other"); err != nil {
		return err
	}
	var listed []server.RunID
	before := server.RunID("")
	for range 2 {
		page, err := b.Runs(ctx, numberedSession(1), before, 2)
		if err != nil || len(page) == 0 {
			return fmt.Errorf("Runs before %q: %d runs, %v", before, len(page), err)
		}
		for _, r := range page {
			listed = append(listed, r.ID)
		}
		before = listed[len(listed)-1]
	}
	if diff := cmp.Diff(ids, listed); diff != "" {
		return fmt.Errorf("runs of the session (-want +got):\n%s", diff)
	}
	forgotten := ids[0] + "~" // later than all of them
	if page, err := b.Runs(
		ctx, numberedSession(1), forgotten, 2,
	); err != nil || len(page) != 2 || page[0].ID != ids[0] {
		return fmt.Errorf("Runs before a run that is forgotten: %d runs, %v", len(page), err)
	}
	return nil
}

func checkActive(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	var runs []server.Run
	for n := range 3 {
		r, err := submitBegun(ctx, b, w, numberedSession(n), "hi")
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if _, err := b.Interrupt(ctx, runs[1].Session); err != nil {
		return err
	}
	if _, err := awaitEnd(ctx, b, runs[1].ID, server.StatusInterrupted); err != nil {
		return err
	}
	active, err := b.Active(ctx)
	if err != nil || len(active) != 2 || active[0].ID != runs[0].ID || active[1].ID != runs[2].ID {
		return fmt.Errorf("Active returned %+v, %v; want the first and the last of three", active, err)
	}
	return nil
}

func checkInterrupt(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	other, err := submitBegun(ctx, b, w, numberedSession(2), "hi")
	if err != nil {
		return err
	}
	if got, err := b.Interrupt(ctx, r.Session); err != nil || got.ID != r.ID {
		return fmt.Errorf("Interrupt returned run %s, %v; want %s", got.ID, err, r.ID)
	}
	if _, err := awaitEnd(ctx, b, r.ID, server.StatusInterrupted); err != nil {
		return err
	}
	if cause := <-w.causes; !errors.Is(cause, server.ErrInterrupted) {
		return fmt.Errorf("the context ended because of %v; want ErrInterrupted", cause)
	}
	if still, err := b.Run(ctx, other.ID); err != nil || still.Status != server.StatusRunning {
		return fmt.Errorf("the run of another session is %s, %v", still.Status, err)
	}
	_, err = b.Interrupt(ctx, r.Session)
	return expectError[*server.NotRunningError]("Interrupt of a run that has ended", err)
}

func checkRepeatedKey(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	first, err := submitRun(ctx, b, numberedSession(1), "hi", "k")
	if err != nil {
		return err
	}
	again := server.Submission{
		Session: numberedSession(1), Key: "k", Task: server.Task{Prompt: "hi", TraceParent: "00-another"},
	}
	for _, ended := range []bool{false, true} {
		if ended {
			if err := w.finishRun(ctx, "done"); err != nil {
				return err
			}
			if _, err := awaitEnd(ctx, b, first.ID, server.StatusCompleted); err != nil {
				return err
			}
		}
		r, repeated, err := b.Submit(ctx, again)
		if err != nil || !repeated || r.ID != first.ID || r.Status.Ended() != ended {
			return fmt.Errorf(
				"the key again (ended %v): run %s %s, repeated %v, %v; want run %s", ended, r.ID, r.Status, repeated,
				err, first.ID,
			)
		}
	}
	return nil
}

func checkRepeatedWhenFull(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Runs: 1})
	first, err := submitRun(ctx, b, "", "hi", "k")
	if err != nil {
		return err
	}
	r, repeated, err := b.Submit(ctx, server.Submission{Key: "k", Task: server.Task{Prompt: "hi"}})
	if err != nil || !repeated || r.ID != first.ID {
		return fmt.Errorf(
			"the key again in a full server: run %s, repeated %v, %v; want run %s", r.ID, repeated, err, first.ID,
		)
	}
	return nil
}

func checkConcurrentKey(ctx context.Context, open openBackend) error {
	const clients = 50
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids, fresh, failures := map[server.RunID]bool{}, 0, []error{}
	for range clients {
		wg.Go(func() {
			r, repeated, err := b.Submit(ctx, server.Submission{Key: "k", Task: server.Task{Prompt: "hi"}})
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID] = true
			if !repeated {
				fresh++
			}
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 || fresh != 1 || len(failures) > 0 {
		return fmt.Errorf(
			"%d clients got %d runs, %d of them fresh, %v", clients, len(ids), fresh, errors.Join(failures...),
		)
	}
	return nil
}

func checkReusedKey(ctx context.Context, open openBackend) error {
	b := open(newWorker().executeRun, server.BackendLimits{})
	if _, err := submitRun(ctx, b, numberedSession(1), "hi", "k"); err != nil {
		return err
	}
	for _, s := range []server.Submission{
		{Session: numberedSession(1), Key: "k", Task: server.Task{Prompt: "ho"}},
		{Session: numberedSession(2), Key: "k", Task: server.Task{Prompt: "hi"}},
		{Session: numberedSession(1), Key: "k", Task: server.Task{Prompt: "hi", Limits: session.Limits{MaxTurns: 1}}},
	} {
		_, _, err := b.Submit(ctx, s)
		if err := expectError[*server.KeyReusedError](
			fmt.Sprintf("another request with the key, %+v", s.Task), err,
		); err != nil {
			return err
		}
	}
	return nil
}

func checkBusySession(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	first, err := submitBegun(ctx, b, w, numberedSession(1), "one")
	if err != nil {
		return err
	}
	_, _, err = b.Submit(ctx, server.Submission{Session: numberedSession(1), Task: server.Task{Prompt: "two"}})
	if busy := (*server.BusyError)(nil); !errors.As(err, &busy) || busy.Run != first.ID {
		return fmt.Errorf("a second run: %v; want a *BusyError of run %s", err, first.ID)
	}
	if _, err := submitBegun(ctx, b, w, numberedSession(2), "other"); err != nil {
		return fmt.Errorf("another session: %w", err)
	}
	for range 2 {
		if err := w.finishRun(ctx, ""); err != nil {
			return err
		}
	}
	if _, err := awaitEnd(ctx, b, first.ID, server.StatusCompleted); err != nil {
		return err
	}
	if _, err = submitBegun(ctx, b, w, numberedSession(1), "two"); err != nil {
		return fmt.Errorf("after the first has ended: %w", err)
	}
	return nil
}

func checkFull(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Runs: 2})
	var last server.Run
	var err error
	for n := range 2 {
		if last, err = submitBegun(ctx, b, w, numberedSession(n), "hi"); err != nil {
			return err
		}
	}
	_, _, err = b.Submit(ctx, server.Submission{Session: numberedSession(3)})
	if err := expectError[*server.FullError]("a third run where two are allowed", err); err != nil {
		return err
	}
	if _, err := b.Interrupt(ctx, last.Session); err != nil {
		return err
	}
	if _, err := awaitEnd(ctx, b, last.ID, server.StatusInterrupted); err != nil {
		return err
	}
	_, err = submitRun(ctx, b, numberedSession(3), "hi", "")
	return err
}

// runWithEvents completes a run of a session that appends n events: the kind is the
// prompt, the data is a number from 0.
func runWithEvents(ctx context.Context, b server.Backend, w *worker, id session.ID, prompt string, n int) error {
	w.during = func(r server.Run, c server.Control) {
		for i := range n {
			c.Append(r.Task.Prompt, []byte(strconv.Itoa(i)))
		}
	}
	r, err := submitBegun(ctx, b, w, id, prompt)
	if err != nil {
		return err
	}
	if err := w.finishRun(ctx, ""); err != nil {
		return err
	}
	_, err = awaitEnd(ctx, b, r.ID, server.StatusCompleted)
	return err
}

// readAll returns the next n events after a position as "kind data".
func readAll(ctx context.Context, b server.Backend, id session.ID, after server.Position, limit, n int) (read []string, next server.Position, err error) {
	for next = after; len(read) < n; {
		page, err := b.Events(ctx, id, next, limit)
		switch {
		case err != nil || len(page.Events) == 0:
			return read, next, fmt.Errorf("after %d of %d events: none, %v", len(read), n, errors.Join(err, ctx.Err()))
		case page.Gap:
			return read, next, fmt.Errorf("after %d of %d events: a gap, although all are kept", len(read), n)
		case len(page.Events) > limit:
			return read, next, fmt.Errorf("%d events in a page of %d", len(page.Events), limit)
		case page.Next != page.Events[len(page.Events)-1].Position:
			return read, next, fmt.Errorf(
				"the next position is %s after event %s", page.Next, page.Events[len(page.Events)-1].Position,
			)
		}
		for _, e := range page.Events {
			read = append(read, e.Kind+" "+string(e.Data))
		}
		next = page.Next
	}
	return read, next, nil
}

// expectSilence returns an error if there is an event after a position.
func expectSilence(ctx context.Context, b server.Backend, id session.ID, after server.Position) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	page, err := b.Events(ended, id, after, 10)
	if err != nil || len(page.Events) > 0 || page.Gap || page.Next != after {
		return fmt.Errorf("after the last event: %+v, %v; want nothing", page, err)
	}
	return nil
}

func checkEvents(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	var want []string
	for _, prompt := range []string{"a", "b"} { // the log goes on over runs
		if err := runWithEvents(ctx, b, w, numberedSession(1), prompt, 5); err != nil {
			return err
		}
		for i := range 5 {
			want = append(want, prompt+" "+strconv.Itoa(i))
		}
	}
	got, end, err := readAll(ctx, b, numberedSession(1), server.Position{}, 3, len(want))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("events (-want +got):\n%s", diff)
	}
	for from := range want {
		parsed, err := server.ParsePosition(server.Position{Log: end.Log, Number: uint64(from)}.String()) //nolint:gosec // a small number
		if err != nil {
			return err
		}
		got, _, err := readAll(ctx, b, numberedSession(1), parsed, 100, len(want)-from)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want[from:], got); diff != "" {
			return fmt.Errorf("events after %s (-want +got):\n%s", parsed, diff)
		}
	}
	return expectSilence(ctx, b, numberedSession(1), end)
}

// silence is how long a reader must wait for an event that does not come.
const silence = 50 * time.Millisecond

func checkFollow(ctx context.Context, open openBackend) error {
	w := newWorker()
	more := make(chan string)
	w.during = func(_ server.Run, c server.Control) {
		for kind := range more {
			c.Append(kind, []byte(`{}`))
		}
	}
	defer close(more)
	b := open(w.executeRun, server.BackendLimits{})
	if _, err := submitBegun(ctx, b, w, numberedSession(1), "hi"); err != nil {
		return err
	}
	type answer struct {
		read []string
		err  error
	}
	answers := make(chan answer, 2)
	next := make(chan server.Position, 1)
	next <- server.Position{}
	for n := range 3 {
		go func() {
			read, at, err := readAll(ctx, b, numberedSession(1), <-next, 10, 1)
			next <- at
			answers <- answer{read, err}
		}()
		select {
		case a := <-answers:
			return fmt.Errorf("a reader returned before there was an event: %v, %v", a.read, a.err)
		case <-time.After(silence):
		}
		more <- strconv.Itoa(n)
		if a := <-answers; a.err != nil || a.read[0] != strconv.Itoa(n)+" {}" {
			return fmt.Errorf("a reader that waits got %v, %v; want event %d", a.read, a.err, n)
		}
	}
	return nil
}

func checkLogsApart(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	for n, prompt := range []string{"a", "b"} {
		if err := runWithEvents(ctx, b, w, numberedSession(n), prompt, 1); err != nil {
			return err
		}
	}
	for n, want := range []string{"a 0", "b 0"} {
		got, end, err := readAll(ctx, b, numberedSession(n), server.Position{}, 10, 1)
		if err != nil || got[0] != want {
			return fmt.Errorf("session %d has the events %v, %v; want %s", n, got, err, want)
		}
		if err := expectSilence(ctx, b, numberedSession(n), end); err != nil {
			return err
		}
	}
	return nil
}

func checkGap(ctx context.Context, open openBackend) error {
	const kept, appended = 4, 10
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Events: kept})
	if err := runWithEvents(ctx, b, w, numberedSession(1), "a", appended); err != nil {
		return err
	}
	page, err := b.Events(ctx, numberedSession(1), server.Position{}, appended)
	if err != nil || !page.Gap || len(page.Events) == 0 {
		return fmt.Errorf("from the beginning of a log that lost events: %+v, %v; want a gap", page, err)
	}
	first, last := page.Events[0].Position, page.Events[len(page.Events)-1]
	if string(last.Data) != "9" || len(page.Events) < kept || page.Next != last.Position {
		return fmt.Errorf(
			"%d events are kept, the last is %s, next %s; want at least %d and 9", len(page.Events), last.Data,
			page.Next, kept,
		)
	}
	early := server.Position{Log: first.Log, Number: 1}
	if first.Number > 2 {
		if page, err = b.Events(
			ctx, numberedSession(1), early, 1,
		); err != nil || !page.Gap || page.Events[0].Position != first {
			return fmt.Errorf("after event 1: %+v, %v; want a gap up to %s", page, err, first)
		}
	}
	if page, err = b.Events(
		ctx, numberedSession(1), first, 1,
	); err != nil || page.Gap || page.Events[0].Position.Number != first.Number+1 {
		return fmt.Errorf("after the first event that is kept: %+v, %v; want the next and no gap", page, err)
	}
	return nil
}

func checkForeignPosition(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	if err := runWithEvents(ctx, b, w, numberedSession(1), "a", 2); err != nil {
		return err
	}
	_, end, err := readAll(ctx, b, numberedSession(1), server.Position{}, 10, 2)
	if err != nil {
		return err
	}
	for _, after := range []server.Position{
		{Log: "another", Number: 1}, {Log: end.Log, Number: 3}, {Log: "another", Number: 1 << 62},
	} {
		page, err := b.Events(ctx, numberedSession(1), after, 10)
		if err != nil || !page.Gap || len(page.Events) != 2 || page.Next != end {
			return fmt.Errorf("after %s: %+v, %v; want a gap and both events", after, page, err)
		}
	}
	// A session without events says the gap as well, and once.
	page, err := b.Events(ctx, numberedSession(2), server.Position{Log: "another", Number: 1}, 10)
	if err != nil || !page.Gap || len(page.Events) > 0 {
		return fmt.Errorf("a session without events: %+v, %v; want a gap", page, err)
	}
	return expectSilence(ctx, b, numberedSession(2), page.Next)
}

// steerRun queues messages that must be accepted.
func steerRun(ctx context.Context, b server.Backend, id session.ID, texts ...string) error {
	for _, text := range texts {
		m, err := b.Steer(ctx, id, text)
		if err != nil || m.ID == "" || m.Status != server.SteeringQueued || m.Text != text {
			return fmt.Errorf("Steer %q returned %+v, %v", text, m, err)
		}
	}
	return nil
}

// expectSteerings compares the messages of a session with "text status".
func expectSteerings(ctx context.Context, b server.Backend, id session.ID, want ...string) error {
	all, err := b.Steerings(ctx, id)
	if err != nil {
		return err
	}
	var got []string
	for _, m := range all {
		got = append(got, m.Text+" "+string(m.Status))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("messages (-want +got):\n%s", diff)
	}
	return nil
}

func checkSteering(ctx context.Context, open openBackend) error {
	w := newWorker()
	turn, taken := make(chan struct{}), make(chan []server.Steering)
	w.during = func(_ server.Run, c server.Control) {
		for range turn {
			taken <- c.TakeSteering() // the check reads it at once
		}
	}
	defer close(turn)
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	for _, want := range [][]string{{"one", "two"}, nil, {"three"}} {
		if err := steerRun(ctx, b, r.Session, want...); err != nil {
			return err
		}
		turn <- struct{}{}
		var got []string
		for _, m := range <-taken {
			got = append(got, m.Text)
			if m.Run != r.ID || m.Session != r.Session {
				return fmt.Errorf("the run takes %+v", m)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("messages of a turn (-want +got):\n%s", diff)
		}
	}
	return expectSteerings(ctx, b, r.Session, "one applied", "two applied", "three applied")
}

func checkSteeringFull(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Steering: 2})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	if err := steerRun(ctx, b, r.Session, "one", "two"); err != nil {
		return err
	}
	_, err = b.Steer(ctx, r.Session, "three")
	return expectError[*server.SteeringFullError]("a third message where two may wait", err)
}

func checkSteeringEnds(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	for _, interrupted := range []bool{false, true} {
		r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
		if err != nil {
			return err
		}
		if err := steerRun(ctx, b, r.Session, "one"); err != nil {
			return err
		}
		status, left := server.StatusCompleted, "one expired"
		if interrupted {
			status, left = server.StatusInterrupted, "one failed"
			_, err = b.Interrupt(ctx, r.Session)
		} else {
			err = w.finishRun(ctx, "")
		}
		if err != nil {
			return err
		}
		if _, err := awaitEnd(ctx, b, r.ID, status); err != nil {
			return err
		}
		if err := expectSteerings(ctx, b, r.Session, left); err != nil {
			return err
		}
		_, err = b.Steer(ctx, r.Session, "late")
		if err := expectError[*server.NotRunningError]("Steer after the run", err); err != nil {
			return err
		}
	}
	return nil
}

func checkCancel(ctx context.Context, open openBackend) error {
	w := newWorker()
	ask, asked := make(chan struct{}), make(chan session.ID, 64)
	w.during = func(_ server.Run, c server.Control) {
		<-ask
		c.OnCancel(func(operation session.ID) { asked <- operation })
	}
	letAsk := sync.OnceFunc(func() { close(ask) })
	defer letAsk()
	b := open(w.executeRun, server.BackendLimits{})
	_, err := b.CancelOperation(ctx, numberedSession(1), numberedSession(2))
	if err := expectError[*server.NotRunningError]("CancelOperation without a run", err); err != nil {
		return err
	}
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	before, after := numberedSession(2), numberedSession(3)
	if err := cancelOperation(ctx, b, r, before); err != nil {
		return err
	}
	letAsk()
	if err := awaitCancel(ctx, asked, before); err != nil {
		return err
	}
	if err := cancelOperation(ctx, b, r, after); err != nil {
		return err
	}
	return awaitCancel(ctx, asked, after)
}

// cancelOperation asks a run that is under way to cancel an operation.
func cancelOperation(ctx context.Context, b server.Backend, r server.Run, operation session.ID) error {
	got, err := b.CancelOperation(ctx, r.Session, operation)
	if err == nil && got.ID != r.ID {
		err = fmt.Errorf("CancelOperation returned run %s, want %s", got.ID, r.ID)
	}
	return err
}

// awaitCancel waits until a run learns of an operation. Earlier ones may come again.
func awaitCancel(ctx context.Context, asked <-chan session.ID, want session.ID) error {
	for {
		select {
		case got := <-asked:
			if got == want {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the run does not learn of operation %s", want)
		}
	}
}

func checkForget(ctx context.Context, open openBackend) error {
	w := newWorker()
	w.during = func(_ server.Run, c server.Control) { c.Append("x", []byte(`1`)) }
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	if err := expectError[*server.BusyError]("Forget of a session that runs", b.Forget(ctx, r.Session)); err != nil {
		return err
	}
	if err := w.finishRun(ctx, ""); err != nil {
		return err
	}
	if _, err := awaitEnd(ctx, b, r.ID, server.StatusCompleted); err != nil {
		return err
	}
	if err := b.Forget(ctx, r.Session); err != nil {
		return err
	}
	_, gone := b.Run(ctx, r.ID)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	page, err := b.Events(ended, r.Session, server.Position{}, 10)
	if err != nil || len(page.Events) > 0 {
		return fmt.Errorf("%d events are left of a forgotten session, %v", len(page.Events), err)
	}
	return expectError[*server.RunNotFoundError]("a run of a forgotten session", gone)
}

func checkDrain(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(ctx) }()
	if err := awaitDraining(ctx, b, w); err != nil {
		return err
	}
	select {
	case err := <-drained:
		return fmt.Errorf("Drain returned while a run is under way, %v", err)
	case cause := <-w.causes:
		return cutOffError(cause)
	default:
	}
	if err := w.finishRun(ctx, "whole"); err != nil {
		return err
	}
	if err := <-drained; err != nil {
		return err
	}
	got, err := b.Run(ctx, r.ID)
	if err != nil || got.Outcome == nil || got.Outcome.Text != "whole" {
		return fmt.Errorf("the run ended as %+v, %v", got, err)
	}
	return nil
}

// awaitDraining submits runs until none is accepted. Those that were accepted before the
// drain are interrupted; it is the only reason why they may end.
func awaitDraining(ctx context.Context, b server.Backend, w *worker) error {
	for {
		early, err := submitRun(ctx, b, "", "early", "")
		if errors.Is(err, server.ErrDraining) {
			return nil
		}
		if err == nil {
			_, err = b.Interrupt(ctx, early.Session)
		}
		if err == nil {
			_, err = awaitEnd(ctx, b, early.ID, server.StatusInterrupted)
		}
		if err != nil {
			return fmt.Errorf("while the backend begins to drain: %w", err)
		}
		for len(w.begun) > 0 {
			<-w.begun
		}
		for len(w.causes) > 0 {
			if cause := <-w.causes; !errors.Is(cause, server.ErrInterrupted) {
				return cutOffError(cause)
			}
		}
	}
}

func cutOffError(cause error) error {
	return fmt.Errorf("Drain cut a run off before its context ended: %v", cause)
}

func checkDrainCuts(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	for n := range 3 {
		if _, err := submitBegun(ctx, b, w, numberedSession(n), "hi"); err != nil {
			return err
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.Drain(over); err != nil {
		return err
	}
	if len(w.causes) != 3 {
		return fmt.Errorf("%d of 3 runs had ended when Drain returned", len(w.causes))
	}
	for range 3 {
		if cause := <-w.causes; !errors.Is(cause, server.ErrDraining) {
			return fmt.Errorf("a run was cut off because of %v; want ErrDraining", cause)
		}
	}
	return nil
}

func checkPanic(ctx context.Context, open openBackend) error {
	w := newWorker()
	w.during = func(r server.Run, _ server.Control) {
		if r.Task.Prompt == "panic" {
			panic("a fault of the check")
		}
	}
	b := open(w.executeRun, server.BackendLimits{})
	bad, err := submitBegun(ctx, b, w, numberedSession(1), "panic")
	if err != nil {
		return err
	}
	r, err := awaitEnd(ctx, b, bad.ID, server.StatusFailed)
	if err != nil || r.Outcome.Error == "" || r.Outcome.ErrorKind != "internal" {
		return fmt.Errorf("a run that panics ended as %+v, %v", r.Outcome, err)
	}
	_, err = submitBegun(ctx, b, w, numberedSession(1), "again")
	return err
}
