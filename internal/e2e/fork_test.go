package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// TestForkedAtEveryBorder forks a session of three prompts with tools and a
// summary after each of its messages, in the middle of a tool loop too, and goes
// on with each fork:
// with a prompt and without, with its own model and with another provider's. A
// strict provider must take all of it (E13, E20, R39), the parent must stay as
// it was, and no tool may run for a call of the parent.
func TestForkedAtEveryBorder(t *testing.T) {
	for i, model := range killed {
		t.Run(model, func(t *testing.T) {
			dir, runs := t.TempDir(), 0
			strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "killed",
				Level: rule.Strict}))}
			subject := agentOver(t, dir, model, strict, &runs)
			first, err := subject.Run(t.Context(), "Echo the word heron.")
			for _, then := range []func() (meerkat.RunResult, error){
				func() (meerkat.RunResult, error) {
					return subject.Resume(t.Context(), first.SessionID, "And the word crane.")
				},
				func() (meerkat.RunResult, error) { return subject.Compact(t.Context(), first.SessionID) },
				func() (meerkat.RunResult, error) {
					return subject.Resume(t.Context(), first.SessionID, "And the word stork.")
				},
			} {
				if err == nil {
					_, err = then()
				}
			}
			store := jsonl.New(dir, nil)
			parent, lerr := store.Load(t.Context(), first.SessionID)
			if err := errors.Join(err, lerr); err != nil || len(parent.Messages) < 9 || len(parent.Compactions) != 1 {
				t.Fatalf("%d messages, %v", len(parent.Messages), err)
			}
			other := killed[(i+2)%len(killed)]
			for n := 1; n <= len(parent.Messages); n++ {
				for p, prompt := range []string{"", "Go on."} {
					for m, with := range []string{model, other} {
						forked(t, dir, &parent, n,
							session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%09d%d%d%d", n, p, m, i)), with, prompt)
					}
				}
			}
			after, err := store.Load(t.Context(), first.SessionID)
			if err != nil || len(after.Timeline) != len(parent.Timeline) {
				t.Errorf("the parent has changed: %d records, %v", len(after.Timeline), err)
			}
		})
	}
}

func forked(t *testing.T, dir string, parent *session.Session, n int, id session.ID, model, prompt string) {
	t.Helper()
	store := jsonl.New(dir, nil)
	if _, err := session.Branch(t.Context(), store, parent.ID, n, id, time.Unix(1_800_000_000, 0)); err != nil {
		t.Fatal(n, err)
	}
	strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "killed",
		Level: rule.Strict}))}
	runs := 0
	_, err := agentOver(t, dir, model, strict, &runs).Resume(t.Context(), id, prompt)
	if prompt == "" && errors.Is(err, agent.ErrNothingToContinue) {
		err = nil
	}
	if len(strict.refused) > 0 || err != nil {
		t.Errorf("forked after message %d, %s, %q: refused %v, %v", n, model, prompt, strict.refused, err)
	}
	fork, err := store.Load(t.Context(), id)
	if err != nil || len(fork.Ledger.Open()) != 0 {
		t.Fatalf("forked after message %d: open calls %v, %v", n, fork.Ledger.Open(), err)
	}
	for _, e := range fork.Ledger.Entries() {
		if e.Message < n && e.Status == "running" {
			t.Errorf("forked after message %d: the tool of call %s of the parent ran again", n, e.CallID)
		}
	}
}
