package agent

import (
	"context"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/ledger"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/memory"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestTornClosure: a power failure may leave the ledger's word on a call without
// the results that were to follow it. What the ledger has closed stays closed,
// under every policy.
func TestTornClosure(t *testing.T) {
	for status, want := range map[ledger.Status]string{
		ledger.Cancelled:   "not executed: " + notStarted,
		ledger.Error:       "the tool failed, and what it said was lost",
		ledger.Complete:    "the tool ran and returned, but its result was lost",
		ledger.Interrupted: "interrupted: the tool may have run; check its effects before calling it again",
	} {
		for _, policy := range []Policy{AskModel, RetryIdempotent} {
			store, tools := memory.New(), fourTools()
			w, err := store.Create(ctx, session.Header{Version: 1, ID: sessionID, Created: epoch, Provider: "anthropic", Model: "claude-opus-4-5"})
			if err != nil {
				t.Fatal(err)
			}
			hash, _ := session.Digest("be brief", tools.Defs(), nil)
			reply := transcript.Assistant("tool_use", transcript.ToolUse("a", "safe", []byte(`{}`)))
			if err := w.Append(ctx,
				session.Run{At: epoch, ID: "r0"},
				session.Prefix{At: epoch, Provider: "anthropic", Model: "claude-opus-4-5", System: "be brief", Tools: tools.Defs(), Hash: hash},
				session.Entry{At: epoch, Message: transcript.User("go")}, session.Entry{At: epoch, Message: reply},
				session.Tool{At: epoch, Entry: ledger.Entry{Message: 1, CallID: "a", Name: "safe", Status: status}},
			); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			cfg := config(&model{replies: []any{text("done")}}, store, tools)
			cfg.OnInterrupted = policy
			if _, err := Resume(context.Background(), cfg, sessionID, ""); err != nil {
				t.Errorf("%s, %s: %v", status, policy, err)
				continue
			}
			s := load(t, store)
			if status != ledger.Complete { // its lost result goes out as an error
				agrees(t, &s)
			}
			if r := s.Messages[2].Results[0]; r.Content != want || len(tools.runs) > 0 {
				t.Errorf("%s, %s: %+v, ran %v", status, policy, r, tools.runs)
			}
		}
	}
}
