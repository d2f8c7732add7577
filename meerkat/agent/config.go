package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The defaults of Config.
const (
	DefaultMaxTurns    = 50
	DefaultMaxParallel = 10
	DefaultWarnAt      = 0.8
	// DefaultMaxPromptBytes is the most that a provider takes in a request.
	DefaultMaxPromptBytes = 32 << 20
)

// Policy says what a resumed run does with tools that were running when the
// session was interrupted. Nobody knows whether they had effects (open-call).
type Policy string

// The policies. None of them runs a tool twice unless the tool allows it. All of
// them answer calls that had not started with "not executed".
const (
	// AskModel answers "interrupted: the tool may have run" and lets the model
	// decide. It is the default.
	AskModel Policy = "ask-model"
	// RetryIdempotent runs the tools again that allow it (tool.Traits), and asks
	// the model about the others.
	RetryIdempotent Policy = "retry-idempotent"
	// Fail ends the resume with an *InterruptedError and changes nothing.
	Fail Policy = "fail"
)

// Config is what an agent is made of. Client, Store and Model must be set; Run,
// Resume and Compact do not change it, so several runs may share one.
type Config struct {
	Client provider.Completer
	Store  session.Store
	// Tools may differ from those a resumed session began with. The definitions
	// are still sent as they were; the model learns about the change, and calls of
	// tools that no longer exist are refused. Nil: no tools.
	Tools tool.Dispatcher
	// ToolsNow returns the tools that exist after each round of tools, because a
	// server may change its list while a session runs. The model learns of
	// changes as above. It may be nil.
	ToolsNow func(context.Context) []transcript.ToolDef

	// DeniedHosted are tools that no provider may run for this agent. A session that began
	// with one of them is not continued.
	DeniedHosted []string

	Model string
	// System is the system prompt of a new session. A resumed session keeps its
	// own: a different one is appended as a message to the model, and an empty
	// one changes nothing.
	System          string
	Effort          string
	MaxOutputTokens int // of one reply; 0: the catalogue's default
	Temperature     *float64
	// StopSequences end a reply where the model writes one of them; see
	// provider.Request.
	StopSequences []string
	Unary         bool // one JSON reply instead of a stream
	// ToolChoice is that of provider.Request. A tool, or any of them, is forced until the
	// model has called one for the prompt of the run, and never in a run without a prompt.
	ToolChoice string
	// OutputSchema and CacheTTL are those of provider.Request.
	OutputSchema transcript.RawJSON
	CacheTTL     string
	// Account is that of provider.Request. A reply that names an organization adds it.
	Account string
	// Attached goes with the prompt: images and files. It needs a prompt.
	Attached []transcript.Part
	// MaxPromptBytes bounds the text of the prompt; 0: DefaultMaxPromptBytes.
	MaxPromptBytes int

	MaxTurns    int // model calls of one run; 0: DefaultMaxTurns
	MaxParallel int // tools at once; 0: DefaultMaxParallel

	// Limits bound the session over all its runs. They are stored with it and
	// hold when it is resumed; a later run may change those it names.
	Limits session.Limits
	// WarnAt is the share of a limit at which a budget_warning is sent, once; 0:
	// DefaultWarnAt, negative: never.
	WarnAt float64
	// Retry says when a failed call is made again. The zero value never does.
	Retry provider.RetryPolicy
	// OnInterrupted is AskModel when it is empty.
	OnInterrupted Policy
	// Compaction says when the conversation is summarised. The zero value never
	// does by itself.
	Compaction Compaction

	// Operations starts and controls sub-agents, and takes directives for this agent and
	// for them; nil: there are none. Its Run is RunOperation. The tools for the model are
	// those of ops.Tools; they must be among Tools.
	Operations *ops.Manager
	// SubAgent changes what a sub-agent of that model is made of, which is a copy of this
	// Config, for instance the client. Nil: it has the model of its parent.
	SubAgent func(c *Config, model string) error
	// Artifacts keeps results of operations that are larger than ArtifactThreshold bytes
	// (0: DefaultArtifactThreshold). Nil: the model gets every result whole.
	Artifacts         artifact.Store
	ArtifactThreshold int
	// Steering returns directives for this agent that came since it was asked last, the
	// oldest first; sub-agents have none of their own. It is asked before each call of the
	// model, within the run, and what it returns goes into the conversation. The ids come
	// back in steering_applied. Nil: none.
	Steering func() []ops.Directive
	// Parent makes a new session that of a sub-agent; nil: a user starts it.
	Parent *session.Parent

	// Metadata changes what is noted about the session; see session.Metadata.
	Metadata map[string]string
	// Annotations are written into the session unless it has them.
	Annotations []session.Annotation

	// TraceParent and TraceState are the W3C trace context that the run belongs to; ""
	// for none. They go to run_started, and nowhere else.
	TraceParent, TraceState string

	Now      func() time.Time                                 // nil: time.Now
	NewID    func() (session.ID, error)                       // nil: session.NewID
	NewRunID func() (string, error)                           // nil: a UUID version 7
	Random   func() float64                                   // in [0, 1); nil: math/rand
	Sleep    func(ctx context.Context, d time.Duration) error // nil: a timer
	// OnEvent receives the events of the run, one at a time. With EventBuffer 0
	// it is called within the run and must not block long. Otherwise it runs in
	// its own goroutine behind a buffer of that many events. When it falls
	// behind, deltas are dropped (see EventType.Droppable); the run waits to
	// deliver all other events. OnEvent has received all events when Run
	// returns.
	OnEvent     func(Event)
	EventBuffer int
}

// Result describes what a run did. When there is an error as well, it says how
// far the run got.
type Result struct {
	SessionID  session.ID            `json:"session_id"`
	RunID      string                `json:"run_id,omitempty"`
	Text       string                `json:"text"`
	StopReason transcript.StopReason `json:"stop_reason"`
	// Usage, Turns and ToolCalls count this run; the session adds up all runs.
	Usage     transcript.Usage `json:"usage"`
	Turns     int              `json:"turns"`
	ToolCalls int              `json:"tool_calls"`
	// Degraded lists what of the conversation the provider could not be given, each
	// loss once.
	Degraded []handoff.Degradation `json:"degraded,omitempty"`
}

// Run starts a session with prompt and runs it to its end. Errors are
// *RunError once there is a session, plain before.
func Run(ctx context.Context, cfg Config, prompt string) (Result, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Result{}, err
	}
	if strings.TrimSpace(prompt) == "" {
		return Result{}, ErrNothingToContinue
	}
	id, err := cfg.NewID()
	if err != nil {
		return Result{}, err
	}
	if err := checkPromptSize(prompt, cfg.MaxPromptBytes); err != nil {
		return Result{}, err // before there is a session
	}
	if err := errors.Join(checkText("prompt", prompt), cfg.checkOptions(nil)); err != nil {
		return Result{}, err
	}
	h := session.Header{
		Version: session.Version, ID: id, Created: cfg.currentTime(), Provider: cfg.Client.Provider(),
		Model: cfg.Model, Parent: cfg.Parent,
	}
	w, err := cfg.Store.Create(context.WithoutCancel(ctx), h) // what is called off at once is a session too
	if err != nil {
		return Result{}, session.WrapStorage(err)
	}
	s, err := session.Load(h)
	if err != nil {
		return Result{}, err
	}
	return cfg.driveRun(ctx, s, w, prompt, cfg.runSettings())
}

// Resume continues a stored session, with a new prompt or, if the last turn
// needs an answer, without one. Model, effort and system prompt may be empty:
// the session's are used. Another model, also of another provider, may take
// over. Degraded events report what it cannot be given. The model is told what
// became of calls that a crash left open; see Config.OnInterrupted.
func Resume(ctx context.Context, cfg Config, id session.ID, prompt string) (Result, error) {
	return cfg.resumeSession(ctx, id, prompt, func(*settings) {})
}

// Compact summarises a stored session now, whatever its size. The provider then
// gets the summary and what Compaction keeps. The store keeps the whole history.
// If that would not make the next request smaller, the session stays as it is and
// the error is a *NotSmallerError.
func Compact(ctx context.Context, cfg Config, id session.ID) (Result, error) {
	return cfg.resumeSession(ctx, id, "", func(s *settings) { s.compactOnly = true })
}

func (c Config) resumeSession(ctx context.Context, id session.ID, prompt string,
	change func(*settings)) (Result, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return Result{SessionID: id}, err
	}
	s, w, err := cfg.Store.Open(ctx, id)
	if err != nil {
		return Result{SessionID: id}, session.WrapStorage(err)
	}
	if err := errors.Join(s.Whole(), checkText("prompt", prompt)); err != nil {
		return Result{SessionID: id}, errors.Join(err, w.Close())
	}
	if err := cfg.checkOptions(s.Prefix); err != nil {
		return Result{SessionID: id}, errors.Join(&RunError{id, err}, w.Close())
	}
	set := cfg.runSettings()
	change(&set)
	return cfg.driveRun(ctx, s, w, prompt, set)
}

// checkNumbers rejects numbers without a meaning, such as negative limits.
func (c *Config) checkNumbers() error {
	for _, n := range []struct {
		name string
		n    int64
	}{
		{"MaxPromptBytes", int64(c.MaxPromptBytes)}, {"EventBuffer", int64(c.EventBuffer)},
		{"MaxTurns", int64(c.MaxTurns)}, {"MaxParallel", int64(c.MaxParallel)},
		{"MaxOutputTokens", int64(c.MaxOutputTokens)},
		{"Limits.MaxDuration", int64(c.Limits.MaxDuration)}, {"Limits.MaxToolCalls", int64(c.Limits.MaxToolCalls)},
		{"Limits.MaxTurns", int64(c.Limits.MaxTurns)},
	} {
		if n.n < 0 {
			return fmt.Errorf("%s is %d; want 0 for the default, or more", n.name, n.n)
		}
	}
	return nil
}

func (c Config) withDefaults() (Config, error) {
	if err := c.checkNumbers(); err != nil {
		return c, err
	}
	if err := session.CheckMetadata(c.Metadata); err != nil {
		return c, err
	}
	if c.MaxPromptBytes == 0 {
		c.MaxPromptBytes = DefaultMaxPromptBytes
	}
	if c.MaxTurns == 0 {
		c.MaxTurns = DefaultMaxTurns
	}
	if c.MaxParallel == 0 {
		c.MaxParallel = DefaultMaxParallel
	}
	if c.WarnAt == 0 {
		c.WarnAt = DefaultWarnAt
	}
	if c.OnInterrupted == "" {
		c.OnInterrupted = AskModel
	}
	switch c.OnInterrupted {
	case AskModel, RetryIdempotent, Fail:
	default:
		return c, fmt.Errorf(
			"policy %q for interrupted tools: want %s, %s or %s", c.OnInterrupted, AskModel, RetryIdempotent, Fail,
		)
	}
	c.defaultSources()
	err := checkText("system prompt", c.System)
	for i, text := range c.StopSequences {
		err = errors.Join(err, checkText(fmt.Sprintf("stop sequence %d", i+1), text))
	}
	return c, err
}

// defaultSources fills in where time, ids and randomness come from.
func (c *Config) defaultSources() {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = session.NewID
	}
	if c.NewRunID == nil {
		c.NewRunID = newRunID
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Sleep == nil {
		c.Sleep = sleepContext
	}
}

func newRunID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("agent: no randomness for a run id: %w", err)
	}
	return id.String(), nil
}

func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Config) currentTime() time.Time { return c.Now().UTC().Round(0) }

func (c *Config) runSettings() settings {
	prefix := session.Prefix{Provider: c.Client.Provider(), Model: c.Model, Effort: c.Effort, System: c.System}
	if c.Tools != nil {
		prefix.Tools = c.Tools.Defs()
	}
	s := settings{
		prefix: prefix, maxOutputTokens: c.MaxOutputTokens, maxTurns: c.MaxTurns,
		temperature: c.Temperature, stopSequences: c.StopSequences, maxPromptBytes: c.MaxPromptBytes,
		metadata: c.Metadata, unary: c.Unary, account: c.Account,
		outputSchema: c.OutputSchema, toolChoice: c.ToolChoice, cacheTTL: c.CacheTTL, attachments: c.Attached,
		annotations: c.Annotations, limits: c.Limits, warnAt: c.WarnAt, retry: c.Retry,
		interruptedPolicy: c.OnInterrupted, compaction: c.Compaction, render: c.Client.Render,
		operations: c.Operations != nil, steered: c.Steering != nil,
	}
	if tools := c.Tools; tools != nil {
		s.idempotent = func(name string) bool { return tool.TraitsOf(tools, name).Idempotent }
	}
	if client, ok := c.Client.(provider.Cataloguer); ok {
		s.lookup = client.Entry
	}
	return s
}

// toolDispatcher returns the dispatcher, one without tools if there is none.
func (c *Config) toolDispatcher() tool.Dispatcher {
	if c.Tools == nil {
		return &tool.Registry{}
	}
	return c.Tools
}
