package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// model plays one reply after the other and keeps what it was asked.
type model struct {
	provider string // "": anthropic
	replies  []any  // stream.Reply, error, or func(*provider.Request) (stream.Reply, error)
	requests []provider.Request
	events   []stream.Event // sent with every reply
}

func (m *model) Provider() string                         { return cmp.Or(m.provider, "anthropic") }
func (m *model) Render(*provider.Request) ([]byte, error) { return nil, nil }

func (m *model) Complete(ctx context.Context, req *provider.Request, onEvent func(stream.Event)) (stream.Reply, error) {
	if len(m.replies) == 0 {
		return stream.Reply{}, fmt.Errorf("the model was asked once too often: %v", req.Messages)
	}
	m.requests = append(m.requests, *req)
	next := m.replies[0]
	m.replies = m.replies[1:]
	for _, e := range m.events {
		onEvent(e)
	}
	switch next := next.(type) {
	case error:
		return stream.Reply{}, next
	case func(*provider.Request) (stream.Reply, error):
		return next(req)
	}
	return next.(stream.Reply), nil
}

// says is a reply with a signed thought in front.
func says(stop transcript.StopReason, blocks ...transcript.Block) stream.Reply {
	thought := transcript.Reasoning("hm <&>", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "EqQB"})
	return bare(stop, append([]transcript.Block{thought}, blocks...)...)
}

func bare(stop transcript.StopReason, blocks ...transcript.Block) stream.Reply {
	return stream.Reply{
		Message: transcript.Assistant(stop, blocks...), Usage: transcript.Usage{InputTokens: 10, OutputTokens: 3},
		UsageKnown: true, ResponseID: "msg_1",
	}
}

func text(s string) stream.Reply { return says(transcript.StopEndTurn, transcript.Text(s)) }

// calls is a reply that calls the tool "run" once per id.
func calls(ids ...string) stream.Reply {
	r := says(transcript.StopToolUse)
	for _, id := range ids {
		r.Message.Blocks = append(r.Message.Blocks, transcript.ToolUse(id, "run", []byte(`{"id": "`+id+`"}`)))
	}
	return r
}

// counter is a dispatcher with one tool, "run", that counts its runs by id.
type counter struct {
	mu   sync.Mutex
	runs map[string]int
}

func (c *counter) Defs() []transcript.ToolDef {
	return []transcript.ToolDef{{Name: "run", InputSchema: transcript.RawJSON(`{ "type": "object" }`)}}
}

func (c *counter) Dispatch(_ context.Context, call transcript.ToolCall) transcript.ToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[string]int{}
	}
	c.runs[call.ID]++
	return transcript.ToolResult{ToolUseID: call.ID, Content: "ran " + string(call.Args)}
}

var _ tool.Dispatcher = (*counter)(nil)

const sessionID = session.ID("0199a2b4-0000-7000-8000-000000000001")

func config(m *model, store session.Store, tools tool.Dispatcher) Config {
	return Config{
		Client: m, Store: store, Tools: tools, Model: "claude-opus-4-5", System: "be brief",
		Now: func() time.Time { return epoch }, NewID: func() (session.ID, error) { return sessionID, nil },
		NewRunID: func() (string, error) { return "r1", nil }, Random: func() float64 { return 0 },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

// errPower is what the flaky store fails with.
var errPower = errors.New("power failed")

// flaky fails the n-th Append (from 0) of all its writers, before or after the
// records have reached the store under it.
type flaky struct {
	session.Store
	n     int
	after bool
}

func (f *flaky) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	w, err := f.Store.Create(ctx, h)
	return &flakyWriter{w, f}, err
}

func (f *flaky) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	s, w, err := f.Store.Open(ctx, id)
	return s, &flakyWriter{w, f}, err
}

type flakyWriter struct {
	session.Writer
	store *flaky
}

func (w *flakyWriter) Append(ctx context.Context, r ...session.Record) error {
	w.store.n--
	if w.store.n != -1 {
		return w.Writer.Append(ctx, r...)
	}
	if w.store.after {
		if err := w.Writer.Append(ctx, r...); err != nil {
			return err
		}
	}
	return errPower
}

// legal requires what every provider requires: each tool call answered once,
// in order, by the next message, and no result without a call.
func legal(tb interface {
	Helper()
	Fatalf(string, ...any)
}, messages []transcript.Message) {
	tb.Helper()
	for i, m := range messages {
		if m.Role == transcript.RoleAssistant && len(m.Blocks) == 0 && m.StopReason != transcript.StopAborted {
			tb.Fatalf("message %d is an empty reply", i)
		}
		var results []transcript.ToolResult
		if m.HasToolCalls() {
			if i+1 == len(messages) || messages[i+1].Role != transcript.RoleToolResults {
				tb.Fatalf("message %d has calls that the next does not answer: %v", i, messages)
			}
			results = messages[i+1].Results
		}
		n := 0
		for c := range m.ToolCalls() {
			if n >= len(results) || results[n].ToolUseID != c.ID {
				tb.Fatalf("message %d: call %s is not answered in order: %v", i, c.ID, results)
			}
			n++
		}
		if n != len(results) || m.Role == transcript.RoleToolResults && (i == 0 || !messages[i-1].HasToolCalls()) {
			tb.Fatalf("message %d: results without calls: %v", i, messages)
		}
	}
}

// agrees requires that ledger and messages say the same: no call is open, and
// each has ended as its result says.
func agrees(tb interface {
	Helper()
	Fatalf(string, ...any)
}, s *session.Session) {
	tb.Helper()
	if open := s.Ledger.Open(); len(open) > 0 {
		tb.Fatalf("calls are open in the ledger: %+v", open)
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if !m.HasToolCalls() {
			continue
		}
		answers := map[string]transcript.ToolResult{}
		for j := i + 1; j < len(s.Messages) && s.Messages[j].Role == transcript.RoleToolResults; j++ {
			for _, r := range s.Messages[j].Results {
				answers[r.ToolUseID] = r
			}
		}
		for c := range m.ToolCalls() {
			e, known := s.Ledger.Lookup(i, c.ID)
			if !known || !fits(e.Status, answers[c.ID]) {
				tb.Fatalf(
					"message %d, call %s: the ledger says %q, the result is %+v", i, c.ID, e.Status, answers[c.ID],
				)
			}
		}
	}
}

func fits(status transcript.CallStatus, r transcript.ToolResult) bool {
	switch status {
	case transcript.CallComplete:
		return !r.IsError
	case transcript.CallCancelled, transcript.CallInterrupted, transcript.CallError:
		return r.IsError
	default:
		return false
	}
}
