package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// shown is a model that renders what it is asked and is never called.
type shown struct{ model }

func (s *shown) Render(r *provider.Request) ([]byte, error) {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s %s%d|", m.Role, m.Content, len(m.Parts))
		for _, r := range m.Results {
			b.WriteString(r.Content)
		}
	}
	return []byte(b.String()), nil
}

// TestPreview shows what a run would send, and changes nothing.
func TestPreview(t *testing.T) {
	store := session.NewMemoryStore()
	cfg := Config{Client: &shown{}, Store: store, Model: "claude-opus-4-5", System: "s",
		Attached: []transcript.Part{{Type: "image", MediaType: "image/png", Data: []byte{1}}}}
	r, err := Preview(cfg, "hi")
	if err != nil || string(r.Body) != "user hi1|" || r.SessionID != "" || r.Model != "claude-opus-4-5" {
		t.Errorf("%+v %s, %v", r, r.Body, err)
	}
	if all, _ := store.List(t.Context(), session.Filter{}); len(all) != 0 {
		t.Error("a preview made a session")
	}
	if _, err := Preview(cfg, " "); !errors.Is(err, ErrNothingToContinue) {
		t.Error(err)
	}
}

// TestPreviewResume says of a tool that was running when the process was killed
// that nobody knows, without writing so; and refuses to run it again.
func TestPreviewResume(t *testing.T) {
	store := session.NewMemoryStore()
	c := &counter{}
	cfg := Config{Client: &shown{}, Store: store, Model: "claude-opus-4-5", Tools: c}
	id := session.ID("0199a2b4-0000-7000-8000-000000000001")
	h := session.Header{
		Version: session.Version, ID: id, Created: epoch, Provider: "anthropic", Model: "claude-opus-4-5",
	}
	w, err := store.Create(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	hash, _ := session.Digest("", c.Defs(), nil)
	reply := calls("a").Message
	err = w.Append(t.Context(), session.Run{At: epoch, ID: "r"},
		session.Prefix{At: epoch, Provider: "anthropic", Model: "claude-opus-4-5", Tools: c.Defs(), Hash: hash},
		session.MessageRecord{At: epoch, Message: transcript.User("go")},
		session.MessageRecord{At: epoch, Message: reply},
		session.Tool{
			At:         epoch,
			CallRecord: transcript.CallRecord{Message: 1, CallID: "a", Name: "run", Status: transcript.CallRunning},
		})
	if err != nil {
		t.Fatal(err)
	}
	r, err := PreviewResume(t.Context(), cfg, id, "") // the writer still holds the lock
	if err != nil || !strings.Contains(string(r.Body), "interrupted") || r.SessionID != id {
		t.Errorf("%s, %v", r.Body, err)
	}
	if s, err := store.Load(t.Context(), id); err != nil || len(s.Messages) != 2 || len(s.Runs) != 1 {
		t.Errorf("the preview wrote: %v, %v", s.Messages, err)
	}
	cfg.OnInterrupted = RetryIdempotent
	cfg.Tools, err = tool.New(tool.Tool{
		Def: transcript.ToolDef{Name: "run", InputSchema: transcript.RawJSON(`{"type":"object"}`)}, Idempotent: true,
		Func: func(context.Context, []byte) (transcript.ToolResult, error) { panic("a preview ran a tool") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PreviewResume(t.Context(), cfg, id, ""); !errors.Is(err, ErrToolsFirst) {
		t.Error(err)
	}
}
