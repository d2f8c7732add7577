package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
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
