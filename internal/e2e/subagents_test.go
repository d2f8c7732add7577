package e2e_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// threeAgents is a prompt that makes the simulated model start three sub-agents, wait for
// two of them, and hear of the third in a message.
const threeAgents = `spawn_agent {"name":"a","prompt":"echo {\"text\":\"heron\"}\nthen say heron done"}
spawn_agent {"name":"b","prompt":"echo {\"text\":\"crane\"}\nthen say crane done"}
spawn_agent {"name":"c","prompt":"echo {\"text\":\"stork\"}\nthen say stork done","depends_on":["a","b"]}
then await_ops {"ids":["a","b"]}
then say I wait for the third.`

// TestThreeSubAgents holds that sub-agents work at the same time on sessions of their
// own, that their results reach the model by await_ops and in a message, and that a
// strict provider takes every request.
func TestThreeSubAgents(t *testing.T) {
	for _, model := range killed {
		t.Run(model, func(t *testing.T) {
			strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "tree",
				Level: rule.Strict}))}
			dir, runs := t.TempDir(), 0
			var open atomic.Int32
			var events []agent.Event
			a := build(t, builderOver(dir, model, strict,
				&runs).WithSubAgents(meerkat.SubAgents{}).WithEvents(func(e meerkat.Event) {
				if open.Add(1) != 1 {
					t.Error("two events at the same time")
				}
				events = append(events, e)
				open.Add(-1)
			}))
			r, err := a.Run(t.Context(), threeAgents)
			if err != nil || runs != 3 || len(strict.refused) > 0 {
				t.Fatalf("%v; %d tools ran, refused %v", err, runs, strict.refused)
			}
			s, err := jsonl.New(dir, nil).Load(t.Context(), r.SessionID)
			if err != nil {
				t.Fatal(err)
			}
			told := strings.Join(results(s), "\n")
			for i := range s.Messages {
				if m := &s.Messages[i]; m.Role == "user" && strings.HasPrefix(m.Content, ops.ResultsPrefix) {
					told += m.Content
				}
			}
			for _, result := range []string{"heron done", "crane done", "stork done"} {
				// In a message once at most, and again when await_ops asks for it by name.
				if n := strings.Count(told, result); n < 1 || n > 2 {
					t.Errorf("the model was told %q %d times:\n%s", result, strings.Count(told, result), told)
				}
			}
			for _, o := range s.Operations() {
				child, err := jsonl.New(dir, nil).Load(t.Context(), o.ID)
				if err != nil || child.Parent == nil || child.Parent.ID != s.ID || !o.Delivered ||
					o.End.Status != string(ops.Completed) {
					t.Errorf("%v: operation %+v, session %+v", err, o, child.Header)
				}
				of := func(kind agent.EventType) func(agent.Event) bool {
					return func(e agent.Event) bool { return e.Type == kind && e.OperationID == o.ID }
				}
				for _, kind := range []agent.EventType{agent.OperationStarted, agent.RunStarted, agent.TextComplete,
					agent.RunCompleted, agent.OperationEnded} {
					if !slices.ContainsFunc(events, of(kind)) {
						t.Errorf("no event %s of %s", kind, o.Label)
					}
				}
			}
			checkToolsUnchanged(t, dir, s.ID)
		})
	}
}

// checkToolsUnchanged holds that parent and sub-agents are shown the same tools.
func checkToolsUnchanged(t *testing.T, dir string, parent session.ID) {
	t.Helper()
	store := jsonl.New(dir, nil)
	infos, err := store.List(t.Context(), session.Filter{})
	if err != nil || len(infos) < 2 {
		t.Fatal(err, infos)
	}
	top, err := store.Load(t.Context(), parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		s, err := store.Load(t.Context(), info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Prefix.Tools) != len(top.Prefix.Tools) {
			t.Errorf("session %s is shown %d tools, its parent %d", s.ID, len(s.Prefix.Tools), len(top.Prefix.Tools))
		}
	}
}
