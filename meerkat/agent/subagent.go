package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// DefaultArtifactThreshold is Config.ArtifactThreshold where it is not set, in bytes.
const DefaultArtifactThreshold = 16 << 10

// artifactSummary is how much of a large result the model sees at once, in bytes.
const artifactSummary = 1 << 10

// RunOperation runs a sub-agent, or a tool in the background: it is what the Manager of
// Config.Operations runs, with a ctx that comes from the run of the parent. A sub-agent
// whose session exists goes on with it. It never fails: what goes wrong is the outcome.
func RunOperation(ctx context.Context, task ops.Task) ops.Outcome {
	parent, ok := ctx.Value(parentKey{}).(Config)
	if !ok {
		return ops.Outcome{Status: ops.Failed, Error: "there is no agent that it belongs to"}
	}
	if task.Spec.Kind == ops.ToolCall {
		return runBackgroundTool(ctx, task, &parent)
	}
	r := subAgentRun{task: task, parent: parent}
	err := r.runSession(ctx)
	return r.describeOutcome(ctx, err)
}

// subAgentRun is one run of a sub-agent.
type subAgentRun struct {
	task   ops.Task
	parent Config
	cfg    Config
	ended  bool // its session had ended before
}

// runSession begins the session of the sub-agent, or goes on with it.
func (r *subAgentRun) runSession(ctx context.Context) (err error) {
	if r.cfg, err = r.childConfig(); err != nil {
		return err
	}
	s, err := r.cfg.Store.Load(ctx, r.task.Spec.ID)
	switch {
	case errors.Is(err, session.ErrNotFound), err == nil && errors.Is(s.Whole(), session.ErrTornFork):
		return r.beginSession(ctx, err == nil)
	case err != nil:
		return session.WrapStorage(err)
	case hasEnded(&s):
		r.ended = true
		return nil
	}
	prompt := ""
	if !r.hasPrompt(&s) {
		prompt = r.task.Spec.Prompt
	}
	_, err = Resume(ctx, r.cfg, s.ID, prompt)
	return err
}

// hasEnded reports whether the model has answered and nothing is left to do.
func hasEnded(s *session.Session) bool {
	last := s.Last()
	return s.Checkpoint == session.ReasonCompleted && last != nil && last.Role == transcript.RoleAssistant
}

// hasPrompt reports whether the session holds the prompt already, behind what it began
// with.
func (r *subAgentRun) hasPrompt(s *session.Session) bool {
	from := 0
	if s.Forked != nil {
		from = s.Forked.Messages
	}
	for i := from; i < len(s.Messages); i++ {
		if s.Messages[i].Role == transcript.RoleUser && s.Messages[i].Content == r.task.Spec.Prompt {
			return true
		}
	}
	return false
}

// beginSession creates the session. A torn one is removed before: nothing has been done in it.
func (r *subAgentRun) beginSession(ctx context.Context, torn bool) error {
	spec := &r.task.Spec
	if torn {
		if err := r.cfg.Store.Delete(ctx, spec.ID); err != nil {
			return session.WrapStorage(err)
		}
	}
	if strings.TrimSpace(spec.Prompt) == "" {
		return ErrNothingToContinue
	}
	if spec.Context != nil {
		return r.beginWithContext(ctx, *spec.Context)
	}
	if !spec.Fork {
		_, err := Run(ctx, r.cfg, spec.Prompt)
		return err
	}
	child := session.Child{ID: spec.ID, Parent: r.cfg.Parent}
	if _, err := session.BranchTo(
		ctx, r.cfg.Store, r.task.Parent, spec.ForkAt, child, r.cfg.currentTime(),
	); err != nil {
		return session.WrapStorage(err)
	}
	_, err := Resume(ctx, r.cfg, spec.ID, spec.Prompt)
	return err
}

// beginWithContext begins with a part of the conversation of the parent.
func (r *subAgentRun) beginWithContext(ctx context.Context, c session.ContextStrategy) error {
	parent, err := r.cfg.Store.Load(ctx, r.task.Parent)
	if err != nil {
		return session.WrapStorage(err)
	}
	h, records, err := parent.Begin(c, r.task.Spec.ID, r.cfg.currentTime())
	if err != nil {
		return err
	}
	h.Parent = r.cfg.Parent
	if err := session.WriteNew(ctx, r.cfg.Store, h, records); err != nil {
		return session.WrapStorage(err)
	}
	if tokens, ok := c.SummaryTokens(); ok {
		summary := r.cfg
		summary.Compaction.Keep, summary.MaxOutputTokens = 1, tokens
		// a provider's window has no limit
		summary.Compaction.Prompt = cmp.Or(summary.Compaction.Prompt, DefaultCompactionPrompt)
		if _, err := Compact(ctx, summary, h.ID); err != nil && !errors.As(err, new(*NotSmallerError)) {
			return err
		}
	}
	_, err = Resume(ctx, r.cfg, h.ID, r.task.Spec.Prompt)
	return err
}

// childConfig returns what the sub-agent is made of: what its parent is, except for what belongs
// to the task.
func (r *subAgentRun) childConfig() (Config, error) {
	spec, c := &r.task.Spec, r.parent
	if spec.Model != "" && spec.Model != c.Model {
		if c.SubAgent == nil {
			return c, fmt.Errorf("model %s: sub-agents have the model of their parent here", spec.Model)
		}
		if err := c.SubAgent(&c, spec.Model); err != nil {
			return c, err
		}
	}
	access, err := json.Marshal(spec.ToolAccess)
	if err != nil {
		return c, err
	}
	c.Parent = &session.Parent{
		ID: r.task.Parent, Depth: spec.Depth, Label: spec.Label, ToolAccess: access, NoSpawn: spec.NoSpawn,
	}
	c.NewID = func() (session.ID, error) { return spec.ID, nil }
	c.System = strings.TrimSpace(strings.TrimSuffix(c.System, ops.SystemNote)) + "\n\n" + ops.SystemNote
	c.System = strings.TrimSpace(c.System)
	c.Limits = spec.BudgetReservation
	c.Attached, c.OutputSchema, c.StopSequences, c.Metadata, c.ToolChoice = nil, nil, nil, nil, ""
	c.OnEvent, c.Steering = r.passEventsOn(c.OnEvent), nil
	return c, nil
}

// passEventsOn passes events on to that of the parent, and reports progress.
func (r *subAgentRun) passEventsOn(listen func(Event)) func(Event) {
	return func(e Event) {
		if listen != nil {
			listen(e)
		}
		if e.SessionID != r.task.Spec.ID {
			return // of a sub-agent of this one
		}
		switch e.Type { //nolint:exhaustive // the others are no progress
		case TurnStarted:
			r.task.Report(fmt.Sprintf("turn %d", e.Turn), nil)
		case ToolExecutionStarted:
			r.task.Report("runs the tool "+e.Name, nil)
		}
	}
}

// describeOutcome says what the run came to. What the sub-agent used is in its session.
func (r *subAgentRun) describeOutcome(ctx context.Context, err error) ops.Outcome {
	out := ops.Outcome{Status: ops.Completed}
	if r.cfg.Store != nil {
		s, loadErr := r.cfg.Store.Load(context.WithoutCancel(ctx), r.task.Spec.ID)
		if loadErr == nil {
			out.Text, out.Spent, out.Attempt = visibleText(s.Messages), totalSpent(&s), len(s.Runs)
		} else if err == nil {
			err = session.WrapStorage(loadErr)
		}
	}
	if err != nil {
		out.Status, out.Error = statusOfError(ctx, err), err.Error()
	}
	return keepLarge(ctx, &r.cfg, r.task.Parent, out)
}

// statusOfError tells what was stopped, and what cannot go on without a person, from a
// failure.
func statusOfError(ctx context.Context, err error) ops.OpStatus {
	var (
		locked  *session.LockedError
		running *InterruptedError
	)
	if ctx.Err() != nil || errors.As(err, &locked) || errors.As(err, &running) {
		return ops.Interrupted
	}
	return ops.Failed
}

// totalSpent is what a session has used, with all that it started.
func totalSpent(s *session.Session) session.Spent {
	spent := spentBefore(s)
	spent.Elapsed = s.Elapsed
	return s.Pool(session.Limits{}, spent).Used()
}

// keepLarge stores a large result as an artifact of its owner. If that fails, the model gets
// the result as it is.
func keepLarge(ctx context.Context, c *Config, owner session.ID, out ops.Outcome) ops.Outcome {
	threshold := c.ArtifactThreshold
	if threshold == 0 {
		threshold = DefaultArtifactThreshold
	}
	if c.Artifacts == nil || len(out.Text) <= threshold {
		return out
	}
	ref, err := c.Artifacts.Put(context.WithoutCancel(ctx), owner, []byte(out.Text), 0)
	if err != nil {
		return out
	}
	out.Artifact, out.Size = string(ref.ID), len(out.Text)
	out.Summary, out.Text = strings.ToValidUTF8(out.Text[:min(artifactSummary, len(out.Text))], ""), ""
	return out
}

// restrictTools keeps a sub-agent from calling tools that it may not call. It is shown
// the tools of its parent all the same: providers bind a conversation to them. A parent
// that runs it has restricted the tools already; here is what its own session says, and,
// when a user resumes it, the sessions above.
func (c *Config) restrictTools(ctx context.Context, p *session.Parent) error {
	_, isRun := ctx.Value(parentKey{}).(Config)
	for p != nil && c.Tools != nil {
		if len(p.ToolAccess) > 0 {
			var access tool.AccessPolicy
			if err := json.Unmarshal(p.ToolAccess, &access); err != nil {
				return fmt.Errorf("the tool access of a sub-agent of session %s cannot be read: %w", p.ID, err)
			}
			c.Tools = tool.WithAccess(c.Tools, access)
		}
		if isRun {
			return nil
		}
		above, err := c.Store.Load(ctx, p.ID)
		if err != nil {
			return nil //nolint:nilerr // it was deleted, and cannot restrict anything any more
		}
		p = above.Parent
	}
	return nil
}
