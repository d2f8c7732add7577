package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// family answers "lead" by starting sub-agents and waiting for them, and everything else
// by repeating the prompt. It keeps nothing, so that many agents may ask it at once.
type family struct{ children int }

func (family) Provider() string                         { return "anthropic" }
func (family) Render(*provider.Request) ([]byte, error) { return nil, nil }

func (f family) Complete(_ context.Context, req *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	if req.Messages[0].Content != "lead" {
		return text("done: " + req.Messages[0].Content), nil
	}
	if len(req.Messages) > 1 {
		return text("all done"), nil
	}
	r := says(transcript.StopToolUse)
	for i := range f.children {
		r.Message.Blocks = append(
			r.Message.Blocks,
			transcript.ToolUse(
				fmt.Sprintf("c%d", i), "spawn_agent", fmt.Appendf(nil, `{"name":"n%d","prompt":"p%d"}`, i, i),
			),
		)
	}
	r.Message.Blocks = append(r.Message.Blocks, transcript.ToolUse("await", "await_ops", []byte(`{}`)))
	return r, nil
}

// TestSubAgentsAtOnce: sub-agents that are started and awaited in one turn work at the
// same time, events come one at a time, and a directive from outside reaches nobody who
// has ended.
func TestSubAgentsAtOnce(t *testing.T) {
	registry, err := tool.New(ops.Tools(ops.ToolOptions{})...)
	if err != nil {
		t.Fatal(err)
	}
	manager := ops.NewManager(ops.Config{Run: RunOperation, Now: time.Now, NewID: session.NewID})
	ended := map[session.ID]string{}
	cfg := Config{
		Client: family{5}, Store: session.NewMemoryStore(), Model: "claude-opus-4-5", Tools: registry,
		Operations: manager, EventBuffer: 4,
		OnEvent: func(e Event) {
			if e.Type == OperationEnded {
				ended[e.OperationID] = e.Status
			}
		},
	}
	r, err := Run(t.Context(), cfg, "lead")
	if err != nil || r.Text != "all done" {
		t.Fatalf("%+v, %v", r, err)
	}
	s, err := cfg.Store.Load(t.Context(), r.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	awaited := s.Messages[2].Results[5].Content
	for i, o := range s.Operations() {
		if o.Label != fmt.Sprintf("n%d", i) || !o.Delivered || ended[o.ID] != "completed" ||
			!strings.Contains(awaited, fmt.Sprintf("done: p%d", i)) {
			t.Errorf("operation %d: %+v, %s", i, o, awaited)
		}
		if _, err := manager.Steer(o.ID, "late"); err == nil {
			t.Error("a sub-agent that has ended takes a directive")
		}
	}
	if len(ended) != 5 {
		t.Errorf("%d operations have ended", len(ended))
	}
}

// listener is a model that repeats the last prompt, summarises, and keeps what it is sent.
type listener struct {
	family
	requests []*provider.Request
}

func (l *listener) Complete(_ context.Context, req *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	l.requests = append(l.requests, req)
	if req.MaxOutputTokens == 50 {
		return text("They spoke of herons."), nil
	}
	return text("done: " + req.Messages[len(req.Messages)-1].Content), nil
}

// TestSummaryForSubAgent: a sub-agent that begins with a summary has the model write one of
// that length, and is sent the summary and its prompt, and not the conversation.
func TestSummaryForSubAgent(t *testing.T) {
	model := &listener{}
	cfg := Config{
		Client: model, Store: session.NewMemoryStore(), Model: "claude-opus-4-5",
		Operations: ops.NewManager(ops.Config{Run: RunOperation, Now: time.Now, NewID: session.NewID}),
	}
	r, err := Run(t.Context(), cfg, strings.Repeat("A long talk of herons. ", 200))
	if err == nil {
		_, err = Resume(t.Context(), cfg, r.SessionID, "And of cranes.")
	}
	if err != nil {
		t.Fatal(err)
	}
	model.requests = nil
	whole, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	summary := session.SummaryContext(50)
	spec := ops.OperationSpec{
		ID: "0199a2b4-0000-7000-8000-000000000009", Kind: ops.SubAgent, Prompt: "Count them.", Context: &summary,
		ToolAccess: tool.InheritAccess(),
	}
	out := RunOperation(context.WithValue(
		t.Context(), parentKey{}, whole,
	), ops.Task{Spec: spec, Parent: r.SessionID, Report: func(string, *float64) {}})
	if out.Status != ops.Completed || len(model.requests) != 2 {
		t.Fatalf("%+v after %d requests", out, len(model.requests))
	}
	var sent strings.Builder
	for _, m := range model.requests[1].Messages {
		sent.WriteString(m.Content)
	}
	if text := sent.String(); !strings.Contains(text, "They spoke of herons.") ||
		!strings.Contains(text, "Count them.") || strings.Contains(text, "A long talk") {
		t.Errorf("sent: %.300s", text)
	}
	child, err := cfg.Store.Load(t.Context(), spec.ID)
	if err != nil || len(child.Compactions) != 1 || child.Parent == nil || child.Parent.ID != r.SessionID {
		t.Errorf("%v: %+v", err, child.Header)
	}
}
