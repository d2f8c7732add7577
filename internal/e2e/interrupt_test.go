package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// looping has a model of each way of thinking; each takes over from the one
// before it.
var looping = []someone{{"claude-opus-4-5", "", ""}, {"claude-opus-4-6", "", ""}, {"claude-fable-5-1", "", ""},
	{"gpt-5.2", "", ""}, {"gemini-3.5-flash", "", ""}}

// loops makes a model think and call two tools, then one, then answer, over and
// over; asked for a summary, it writes one. Whatever the provider refuses fails
// the run.
type loops struct {
	provider.Completer
	w     *world
	who   someone
	turns int // replies so far, except for summaries
	room  int // messages that the model has room for; 0: for all
}

// asked counts requests, for no two replies have the same ids and tokens.
var asked atomic.Int64

func (l *loops) Complete(ctx context.Context, req *provider.Request, onEvent func(stream.Event)) (stream.Reply, error) {
	echo := specs.Block{Kind: specs.KindCall, Role: "echo", Args: []byte(`{"text": "1.0"}`)}
	thought := specs.Block{Kind: specs.KindThinking, Parts: []string{"I think."}}
	says := func(s string) specs.Block { return specs.Block{Kind: specs.KindText, Text: s} }
	script := [][]specs.Block{{thought, says("Look."), echo, echo}, {thought, echo}, {thought, says("Done.")}}
	if l.room > 0 && len(req.Messages) > l.room {
		return stream.Reply{}, &provider.Error{Kind: provider.ContextTooLong, Provider: l.Provider(),
			Status: http.StatusBadRequest}
	}
	emit := []specs.Block{says("A summary.")}
	if req.ToolChoice != "none" {
		emit = script[l.turns%len(script)]
		l.turns++
	}
	turns := slices.Repeat([]specs.Turn{{Emit: emit}}, 60)
	l.w.handler = simulator.New(simulator.Config{Seed: "loops", Level: rule.Strict, Scenario: &specs.Scenario{
		Name:    fmt.Sprint("loops ", asked.Add(1)),
		Targets: []specs.Target{{Provider: catalog.ProviderOf(l.who.model), Model: l.who.model}}, Turns: turns,
	}})
	return l.Completer.Complete(ctx, req, onEvent)
}

// loop is an agent of who, with a tool that repeats what it is given.
func (w *world) loop(t *testing.T, who someone, store session.Store) agent.Config {
	t.Helper()
	tools, err := tool.New(tool.Tool{
		Def: transcript.ToolDef{Name: "conform_echo",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
		Func: func(_ context.Context, args []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{Content: string(args)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return agent.Config{Client: &loops{Completer: w.client(t, who), w: w, who: who}, Store: store, Tools: tools,
		Model: who.model, System: "Be brief.", Effort: who.effort, Account: "account"}
}

// TestInterruptedAnywhere cancels a run at each of its events and resumes it,
// with the same model and with another: the strict simulator takes every
// request.
func TestInterruptedAnywhere(t *testing.T) {
	for i, who := range looping {
		t.Run(who.model, func(t *testing.T) {
			w := newWorld(t)
			for n := 0; ; n++ {
				next := who
				if n%2 == 1 {
					next = looping[(i+1)%len(looping)]
				}
				if !w.interrupted(t, who, next, n) {
					return
				}
			}
		})
	}
}

// interrupted reports whether the run was still going on at event n.
func (w *world) interrupted(t *testing.T, who, next someone, n int) bool {
	t.Helper()
	store := session.NewMemoryStore()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := w.loop(t, who, store)
	var mu sync.Mutex
	last := 0
	cfg.OnEvent = func(e agent.Event) {
		mu.Lock()
		defer mu.Unlock()
		if last = e.Seq; last == n {
			cancel()
		}
	}
	result, err := agent.Run(ctx, cfg, "Begin.")
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("event %d: %v", n, err)
	}
	for round := range 2 {
		cfg = w.loop(t, next, store)
		if _, err := agent.Resume(t.Context(), cfg, result.SessionID, fmt.Sprint("On, ", round)); err != nil {
			t.Fatalf("cancelled at event %d, resumed with %s: %v", n, next.model, err)
		}
	}
	return last > n
}

// TestCompactedLoops: runs that summarise after every few turns, in the middle
// of tool loops too, and models that take over from there, are taken by the
// strict simulator.
func TestCompactedLoops(t *testing.T) {
	for i, who := range looping {
		for _, keep := range []int{1, 30, 10_000} {
			t.Run(fmt.Sprint(who.model, " ", keep), func(t *testing.T) {
				w, store := newWorld(t), session.NewMemoryStore()
				cfg := w.loop(t, who, store)
				cfg.Compaction = agent.Compaction{Threshold: 0.01, Window: 100, Keep: keep}
				result, err := agent.Run(t.Context(), cfg, "Begin.")
				if err != nil {
					t.Fatal(err)
				}
				for round := range 4 {
					next := looping[(i+round/2)%len(looping)]
					again := w.loop(t, next, store)
					again.Compaction = cfg.Compaction
					if round == 3 {
						if _, err := agent.Compact(t.Context(), again, result.SessionID); err != nil {
							t.Fatal(err)
						}
					}
					if _, err := agent.Resume(t.Context(), again, result.SessionID, fmt.Sprint("On, ", round)); err != nil {
						t.Fatalf("round %d, %s: %v", round, next.model, err)
					}
				}
				s, err := store.Load(t.Context(), result.SessionID)
				if err != nil || len(s.Compactions) < 3 {
					t.Errorf("%d compactions, %v", len(s.Compactions), err)
				}
			})
		}
	}
}

// TestNoRoom: where a provider says that a conversation is too long, a summary of
// part of it is asked for and the run goes on from there; the strict simulator
// takes both, whichever model goes on.
func TestNoRoom(t *testing.T) {
	for i, who := range looping {
		t.Run(who.model, func(t *testing.T) {
			w, store := newWorld(t), session.NewMemoryStore()
			short := func(who someone) agent.Config {
				cfg := w.loop(t, who, store)
				cfg.Client.(*loops).room = 8
				cfg.Compaction = agent.Compaction{Threshold: 1, Window: 1 << 30, Keep: 1}
				return cfg
			}
			result, err := agent.Run(t.Context(), short(who), "Begin.")
			if err != nil {
				t.Fatal(err)
			}
			for round := range 4 {
				next := looping[(i+round/2)%len(looping)]
				if _, err := agent.Resume(t.Context(), short(next), result.SessionID, fmt.Sprint("On, ", round)); err != nil {
					t.Fatalf("round %d, %s: %v", round, next.model, err)
				}
			}
			s, err := store.Load(t.Context(), result.SessionID)
			if err != nil || len(s.Compactions) < 2 {
				t.Errorf("%d compactions, %v", len(s.Compactions), err)
			}
		})
	}
}
