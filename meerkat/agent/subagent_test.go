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
		r.Message.Blocks = append(r.Message.Blocks, transcript.ToolUse(fmt.Sprintf("c%d", i), "spawn_agent", fmt.Appendf(nil, `{"name":"n%d","prompt":"p%d"}`, i, i)))
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
		Client: family{5}, Store: session.NewMemoryStore(), Model: "claude-opus-4-5", Tools: registry, Operations: manager, EventBuffer: 4,
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
		if o.Label != fmt.Sprintf("n%d", i) || !o.Delivered || ended[o.ID] != "completed" || !strings.Contains(awaited, fmt.Sprintf("done: p%d", i)) {
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
