package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The limits of a Config that names none.
const (
	DefaultMaxTurns    = 50
	DefaultMaxParallel = 10 // E17: never unbounded
)

// Config is what an agent is made of. Client, Store and Model must be set; Run
// and Resume do not change it, so several runs may share one.
type Config struct {
	Client provider.Client
	Store  session.Store
	Tools  tool.Dispatcher // nil: no tools

	Model           string
	System          string
	Effort          string
	MaxOutputTokens int // of one reply; 0: the catalogue's default
	Temperature     *float64
	Unary           bool   // one JSON reply instead of a stream
	Account         string // see provider.Request.Account

	MaxTurns    int // model calls of one run; 0: DefaultMaxTurns
	MaxParallel int // tools at once; 0: DefaultMaxParallel

	// Marks are written into a new session.
	Marks []session.Mark

	Now   func() time.Time           // nil: time.Now
	NewID func() (session.ID, error) // nil: session.NewID
	// OnEvent hears what happens, one event at a time; it must not block long.
	OnEvent func(Event)
}

// Result is what a run came to. With an error it says how far the run got.
type Result struct {
	SessionID  session.ID            `json:"session_id"`
	Text       string                `json:"text"`
	StopReason transcript.StopReason `json:"stop_reason"`
	// Usage, Turns and ToolCalls count this run; the session adds up all runs.
	Usage     transcript.Usage `json:"usage"`
	Turns     int              `json:"turns"`
	ToolCalls int              `json:"tool_calls"`
}

// Run starts a session with prompt and runs it to its end. Errors are
// *RunError once there is a session, plain before.
func Run(ctx context.Context, cfg Config, prompt string) (Result, error) {
	cfg = cfg.withDefaults()
	if strings.TrimSpace(prompt) == "" {
		return Result{}, ErrNothingToContinue
	}
	id, err := cfg.NewID()
	if err != nil {
		return Result{}, err
	}
	h := session.Header{Version: session.Version, ID: id, Created: cfg.now(), Provider: cfg.Client.Provider(), Model: cfg.Model}
	w, err := cfg.Store.Create(ctx, h)
	if err != nil {
		return Result{}, err
	}
	s, err := session.Load(h)
	if err != nil {
		return Result{}, err
	}
	return cfg.drive(ctx, s, w, prompt)
}

// Resume goes on with a stored session, with a new prompt or, if the last turn
// wants an answer, without one. Model, effort and system prompt may be left
// empty: they are those of the session, like its tools. Calls that a crash left open are closed
// with results that say so; they are not run again.
func Resume(ctx context.Context, cfg Config, id session.ID, prompt string) (Result, error) {
	cfg = cfg.withDefaults()
	s, w, err := cfg.Store.Open(ctx, id)
	if err != nil {
		return Result{SessionID: id}, err
	}
	if err := cfg.matches(&s); err != nil {
		_ = w.Close() // nothing was written
		return Result{SessionID: id}, &RunError{id, err}
	}
	return cfg.drive(ctx, s, w, prompt)
}

func (c Config) withDefaults() Config {
	if c.MaxTurns == 0 {
		c.MaxTurns = DefaultMaxTurns
	}
	if c.MaxParallel == 0 {
		c.MaxParallel = DefaultMaxParallel
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = session.NewID
	}
	c.System = strings.ToValidUTF8(c.System, "\uFFFD")
	return c
}

func (c *Config) now() time.Time { return c.Now().UTC().Round(0) }

// matches refuses to change what a session was started with.
func (c *Config) matches(s *session.Session) error {
	if s.Prefix == nil {
		return nil
	}
	for _, m := range []MismatchError{
		{"provider", s.Prefix.Provider, c.Client.Provider()},
		{"model", s.Prefix.Model, c.Model},
		{"system prompt", s.Prefix.System, c.System},
	} {
		if m.Asked != "" && m.Asked != m.Stored {
			return &m
		}
	}
	return nil
}

func (c *Config) settings() settings {
	prefix := session.Prefix{Provider: c.Client.Provider(), Model: c.Model, Effort: c.Effort, System: c.System}
	if c.Tools != nil {
		prefix.Tools = c.Tools.Defs()
	}
	return settings{
		prefix: prefix, maxOutputTokens: c.MaxOutputTokens, maxTurns: c.MaxTurns,
		temperature: c.Temperature, unary: c.Unary, account: c.Account,
	}
}

// driver performs the effects of one run.
type driver struct {
	cfg    Config
	writer session.Writer
	state  state
	seq    int
	turn   int                  // the call under way or the last one
	begun  map[string]time.Time // tools that are running
}

func (c Config) drive(ctx context.Context, s session.Session, w session.Writer, prompt string) (Result, error) {
	d := &driver{cfg: c, writer: w, state: state{settings: c.settings(), session: s}, begun: map[string]time.Time{}}
	if s.Prefix == nil {
		d.state.settings.marks = c.Marks
	}
	d.emit(Event{Type: RunStarted, Prompt: prompt})
	err := d.loop(ctx, begin{c.now(), prompt})
	if closing := w.Close(); err == nil {
		err = closing
	}
	result := d.state.result()
	if err != nil {
		d.emit(Event{Type: RunFailed, Error: err.Error()})
		return result, &RunError{s.ID, err}
	}
	d.emit(Event{Type: RunCompleted, Result: result.Text, StopReason: result.StopReason, Usage: &result.Usage})
	return result, nil
}

func (d *driver) loop(ctx context.Context, in input) error {
	for {
		var effects []effect
		d.state, effects = step(d.state, in)
		in = nil
		for _, e := range effects {
			switch e := e.(type) {
			case save:
				if err := d.save(ctx, e.records); err != nil {
					return err
				}
			case call:
				in = d.call(ctx, &e.request)
			case dispatch:
				in = d.dispatch(ctx, e.calls)
			case finish:
				return e.err
			}
		}
	}
}

// save makes records durable. A run that was cancelled still saves: what has
// happened has happened.
func (d *driver) save(ctx context.Context, records []session.Record) error {
	if err := d.writer.Append(context.WithoutCancel(ctx), records...); err != nil {
		return err
	}
	for _, r := range records {
		if c, ok := r.(session.Checkpoint); ok {
			d.emit(Event{Type: CheckpointSaved, Reason: c.Reason})
		}
	}
	return nil
}

// call asks the model. Tools start only after it has returned, that is after
// the provider's terminal event (DESIGN §3.11).
func (d *driver) call(ctx context.Context, req *provider.Request) input {
	if err := ctx.Err(); err != nil {
		return failed{fmt.Errorf("cancelled before turn %d: %w", d.state.turns, err)}
	}
	d.turn = d.state.turns
	d.emit(Event{Type: TurnStarted})
	reply, err := d.cfg.Client.Complete(ctx, req, func(e stream.Event) {
		if out, ok := fromStream(e); ok {
			d.emit(out)
		}
	})
	if err != nil {
		return failed{err}
	}
	d.report(&reply)
	return replied{d.cfg.now(), reply}
}

func (d *driver) report(r *stream.Reply) {
	if text := r.Message.String(); text != "" {
		d.emit(Event{Type: TextComplete, Content: text})
	}
	for c := range r.Message.ToolCalls() {
		d.emit(Event{Type: ToolCallRequested, ID: c.ID, Name: c.Name, Args: c.JSON()})
	}
	done := Event{Type: TurnCompleted, StopReason: r.Message.StopReason}
	if r.UsageKnown {
		done.Usage = &r.Usage
	}
	d.emit(done)
}

func (d *driver) dispatch(ctx context.Context, calls []transcript.ToolCall) input {
	results := tool.DispatchAll(ctx, d.cfg.tools(), calls, d.cfg.MaxParallel, tool.Observer{Started: d.started, Done: d.done})
	for i := range results {
		d.emit(Event{Type: ToolResultReceived, ID: calls[i].ID, Name: calls[i].Name, IsError: &results[i].IsError})
	}
	return answered{d.cfg.now(), results}
}

// tools returns the dispatcher, one without tools if there is none.
func (c *Config) tools() tool.Dispatcher {
	if c.Tools == nil {
		return &tool.Registry{}
	}
	return c.Tools
}

func (d *driver) started(c transcript.ToolCall) {
	d.begun[c.ID] = d.cfg.Now()
	d.emit(Event{Type: ToolExecutionStarted, ID: c.ID, Name: c.Name})
}

func (d *driver) done(c transcript.ToolCall, r transcript.ToolResult) {
	ms := d.cfg.Now().Sub(d.begun[c.ID]).Milliseconds()
	d.emit(Event{Type: ToolExecutionCompleted, ID: c.ID, Name: c.Name, Result: r.Content, IsError: &r.IsError, DurationMS: &ms})
}

func (d *driver) emit(e Event) {
	if d.cfg.OnEvent == nil {
		return
	}
	e.SessionID, e.Seq, e.Turn = d.state.session.ID, d.seq, d.turn
	d.seq++
	d.cfg.OnEvent(e)
}
