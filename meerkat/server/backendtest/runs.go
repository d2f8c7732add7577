package backendtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// wholeTask sets every field, with bytes that a careless queue would change.
func wholeTask() server.Task {
	return server.Task{
		Prompt: "count <&> \u2028 \x00", Model: "m", Effort: "low", System: "be brief", Limits: session.Limits{MaxTokens: 1 << 60, MaxTurns: 2},
		Metadata: map[string]string{"ticket": "7"}, TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "a=b",
		Attached: []transcript.Part{{Type: "image", MediaType: "image/png", Data: []byte("\x89PNG\r\n")}},
	}
}

func checkExecuted(ctx context.Context, open Open) error {
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
	if diff := cmp.Diff(accepted, begun, cmpopts.IgnoreFields(server.Run{}, "Status", "Started", "Attempt")); diff != "" {
		return fmt.Errorf("what is executed is not what was accepted (-accepted +executed):\n%s", diff)
	}
	want := server.Outcome{
		Status: server.StatusCompleted, Text: "three <&> \u2028", StopReason: transcript.StopEndTurn, Turns: 2, ToolCalls: 1,
		Usage: transcript.Usage{InputTokens: 1 << 60, OutputTokens: 4},
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

func checkNotFound(ctx context.Context, open Open) error {
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
		expectError[*server.NotRunningError]("Interrupt", interrupt), expectError[*server.NotRunningError]("Steer", steer),
		b.Forget(ctx, numberedSession(9)))
}

func checkWaitEnds(ctx context.Context, open Open) error {
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

func checkRunPages(ctx context.Context, open Open) error {
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
	if page, err := b.Runs(ctx, numberedSession(1), forgotten, 2); err != nil || len(page) != 2 || page[0].ID != ids[0] {
		return fmt.Errorf("Runs before a run that is forgotten: %d runs, %v", len(page), err)
	}
	return nil
}

func checkActive(ctx context.Context, open Open) error {
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

func checkInterrupt(ctx context.Context, open Open) error {
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
