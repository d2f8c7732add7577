package agent

import (
	"errors"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// TestStorageFails takes the store away at each append of a run with a tool. The run
// ends with a *session.StorageError, nothing that depends on what is missing was sent
// or started, the answer that was paid for is in the result, and the session goes on.
func TestStorageFails(t *testing.T) {
	for n := 0; ; n++ {
		store := &flaky{Store: session.NewMemoryStore(), n: n}
		m := &model{replies: []any{calls("a"), text("done")}}
		tools := &counter{}
		cfg := config(m, store, tools)
		events := heard(&cfg)
		got, err := Run(ctx, cfg, "go")
		if err == nil {
			if n < 5 {
				t.Fatalf("only %d appends", n)
			}
			return
		}
		var failed *session.StorageError
		if !errors.As(err, &failed) || !errors.Is(err, errPower) {
			t.Fatalf("append %d: %v", n, err)
		}
		if last := (*events)[len(*events)-1]; last.Type != RunFailed || last.ErrorKind != "storage" {
			t.Errorf("append %d: %s %s", n, last.Type, last.ErrorKind)
		}
		s := load(t, store.Store)
		if sent := len(m.requests); sent > len(s.Messages) {
			t.Errorf("append %d: %d requests, and %d messages are stored", n, sent, len(s.Messages))
		}
		if ran := tools.runs["a"]; ran > 0 {
			if e, _ := s.Ledger.Lookup(1, "a"); e.Status == "" || e.Status == "proposed" {
				t.Errorf("append %d: the tool ran, and its start is not stored", n)
			}
		}
		if len(m.replies) == 0 && got.Text != "done" {
			t.Errorf("append %d: the answer is lost: %+v", n, got)
		}
		m.replies = []any{text("on")}
		again := config(m, store.Store, tools)
		if _, err := Resume(ctx, again, sessionID, "on"); err != nil {
			t.Errorf("append %d: it cannot be resumed: %v", n, err)
		}
	}
}
