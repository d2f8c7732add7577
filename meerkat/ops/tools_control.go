package ops

import (
	"context"
	"errors"
	"time"
)

// isOpen reports whether an operation has not ended, or its result has not been read.
func isOpen(o *operationState) bool { return !o.status.IsFinal() || !o.delivered }

func isAny(*operationState) bool { return true }

type awaitArgs struct {
	IDs            []string  `json:"ids"`
	Mode           AwaitMode `json:"mode"`
	TimeoutSeconds int       `json:"timeout_seconds"`
}

// operationsAnswer is the answer about several operations.
type operationsAnswer struct {
	Operations []shownOperation `json:"operations"`
	Note       string           `json:"note,omitempty"`
}

func (s toolset) awaitOps(ctx context.Context, c Caller, in awaitArgs) (any, error) {
	ids, err := c.Node.resolveAll(in.IDs, isOpen)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return operationsAnswer{
			Operations: []shownOperation{},
			Note:       "there is nothing to wait for: every operation has ended and you have its result",
		}, nil
	}
	waiting := ctx
	if in.TimeoutSeconds > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, time.Duration(in.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	done := c.Node.awaitOperations(waiting, ids, in.Mode, c.Report)
	if ctx.Err() != nil {
		return nil, ctx.Err() //nolint:wrapcheck // the run has ended
	}
	answer := c.answerWithResults(ids)
	if !done {
		answer.Note = "the time is up; operations that have not ended go on, and their results come in a later message"
	}
	return answer, nil
}

// answerWithResults shows operations, and claims the results of those that have ended.
func (c Caller) answerWithResults(ids []OperationID) operationsAnswer {
	answer := operationsAnswer{Operations: []shownOperation{}}
	var claimed []OpResult
	for _, s := range c.Node.describeAll(ids) {
		answer.Operations = append(answer.Operations, s.showStatus(true))
		if s.OpResult.Status.IsFinal() && !s.Delivered {
			claimed = append(claimed, s.OpResult)
		}
	}
	if claimed != nil {
		c.Node.claims.Store(c.CallID, claimed)
	}
	return answer
}

// showStatus returns the status as the model reads it, with the result if that is asked for.
func (s *Status) showStatus(withResult bool) shownOperation {
	shown := showResult(s.OpResult)
	shown.Progress, shown.Percent = s.Progress, s.Percent
	if s.OpResult.Status.IsFinal() {
		shown.Progress, shown.Percent = "", nil
	}
	if !withResult {
		shown.Result = ""
	}
	if shown.Result == "" && s.OpResult.Status == Completed && s.Delivered && s.Artifact == "" && withResult {
		shown.Hint = "you have its result already"
	}
	return shown
}

type idsArgs struct {
	IDs []string `json:"ids"`
}

func (s toolset) opStatus(_ context.Context, c Caller, in idsArgs) (any, error) {
	ids, err := c.Node.resolveAll(in.IDs, isAny)
	if err != nil {
		return nil, err
	}
	answer := operationsAnswer{Operations: []shownOperation{}}
	for _, s := range c.Node.describeAll(ids) {
		answer.Operations = append(answer.Operations, s.showStatus(false))
	}
	return answer, nil
}

func (s toolset) cancelOps(ctx context.Context, c Caller, in idsArgs) (any, error) {
	if len(in.IDs) == 0 {
		return nil, errors.New("name the operations to cancel; op_status lists them")
	}
	ids, err := c.Node.resolveAll(in.IDs, isAny)
	if err != nil {
		return nil, err
	}
	t := c.Node.tree
	if err := t.applyInput(ctx, cancelInput{t.currentTime(), ids}, false); err != nil {
		return nil, err
	}
	if !c.Node.awaitOperations(ctx, ids, AwaitAll, c.Report) {
		return nil, ctx.Err() //nolint:wrapcheck // the run has ended
	}
	return c.answerWithResults(ids), nil
}

// fetchedBytes is how much of an artifact one call returns.
const fetchedBytes = 24 << 10

type fetchArgs struct {
	ArtifactID string `json:"artifact_id"`
	Offset     int    `json:"offset"`
}

type fetchedPart struct {
	Text       string `json:"text"`
	Size       int    `json:"size_bytes"`
	NextOffset int    `json:"next_offset,omitempty"` // 0: this was the last part
}

func (s toolset) fetchResult(ctx context.Context, c Caller, in fetchArgs) (any, error) {
	if s.options.Fetch == nil {
		return nil, errors.New("artifact " + in.ArtifactID + ": this agent keeps no artifacts")
	}
	part, total, err := s.options.Fetch(ctx, c.Node.id, in.ArtifactID, in.Offset, fetchedBytes)
	if err != nil {
		return nil, err
	}
	out := fetchedPart{Text: part, Size: total}
	if next := in.Offset + len(part); next < total {
		out.NextOffset = next
	}
	return out, nil
}

type steerArgs struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

func (s toolset) steerAgent(_ context.Context, c Caller, in steerArgs) (any, error) {
	o, err := c.Node.resolveName(in.ID)
	if err != nil {
		return nil, err
	}
	h, err := c.Node.tree.queueDirective(o.spec.ID, in.Message)
	if err != nil {
		return nil, err
	}
	return map[string]any{"steering_id": h.ID, "seq": h.Seq, "status": h.Status()}, nil
}
