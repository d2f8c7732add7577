package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// anyScript is replies and failures in any order. Ids of calls differ.
func anyScript(t *rapid.T) []any {
	var replies []any
	for i := range rapid.IntRange(1, 8).Draw(t, "replies") {
		switch rapid.SampledFrom([]string{
			"text", "calls", "calls", "failure", "refused", "cut", "pause",
		}).Draw(t, "reply") {
		case "text":
			replies = append(replies, text("t"))
		case "calls":
			var ids []string
			for j := range rapid.IntRange(1, 4).Draw(t, "calls") {
				ids = append(ids, fmt.Sprintf("%d_%d", i, j))
			}
			replies = append(replies, calls(ids...))
		case "failure":
			replies = append(replies, overloaded())
		case "refused":
			replies = append(replies, says("refusal", transcript.Text("no")))
		case "cut":
			replies = append(replies, says(
				"max_tokens", transcript.ToolUse(fmt.Sprintf("cut_%d", i), "run", []byte(`{"x`)),
			))
		case "pause":
			replies = append(replies, says("pause_turn", transcript.Text("p")))
		}
	}
	return replies
}

// TestAnyRun plays any script, with any budget, power failing at any write or
// the user cancelling at any event, and resumes until nothing is left to do:
// the session is always legal, ledger and messages agree, nothing runs twice,
// and events are in order.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, tools := session.NewMemoryStore(), &counter{}
		script := anyScript(t)
		for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			cfg, stop := anyConfig(t, store, tools)
			m := &streaming{model{replies: script}}
			cfg.Client = m
			cctx, cancel := context.WithCancel(ctx)
			var events []Event
			cfg.OnEvent = func(e Event) {
				events = append(events, e)
				if e.Seq == stop {
					cancel()
				}
			}
			var err error
			if round == 0 {
				_, err = Run(cctx, cfg, "go")
			} else {
				_, err = Resume(cctx, cfg, sessionID, rapid.SampledFrom([]string{"", "on"}).Draw(t, "prompt"))
			}
			cancel()
			script = m.replies
			ordered(t, events, err)
			settledDown(t, store, tools, err)
			for _, r := range m.requests {
				legal(t, r.Messages)
			}
		}
	})
}

func anyConfig(t *rapid.T, store session.Store, tools *counter) (cfg Config, stop int) {
	cfg = config(nil, store, tools)
	cfg.Retry = provider.RetryPolicy{MaxRetries: rapid.IntRange(0, 2).Draw(t, "retries"), InitialDelay: time.Second}
	cfg.MaxParallel = rapid.IntRange(1, 3).Draw(t, "parallel")
	cfg.OnInterrupted = rapid.SampledFrom([]Policy{AskModel, RetryIdempotent}).Draw(t, "policy")
	cfg.Limits = session.Limits{
		MaxToolCalls: rapid.IntRange(0, 6).Draw(t, "tool calls"), MaxTurns: rapid.IntRange(0, 6).Draw(t, "turns"),
		MaxTokens: uint64(rapid.IntRange(0, 60).Draw(t, "tokens")),
	}
	if rapid.Bool().Draw(t, "compacts") {
		cfg.Compaction = Compaction{Threshold: 0.5, Window: 40, Keep: 20}
	}
	if rapid.IntRange(0, 3).Draw(t, "power fails") == 0 {
		cfg.Store = &flaky{
			Store: store, n: rapid.IntRange(0, 20).Draw(t, "append"), after: rapid.Bool().Draw(t, "written"),
		}
	}
	return cfg, rapid.IntRange(-20, 60).Draw(t, "cancel at")
}

// settledDown requires a session that can go on, unless power failed.
func settledDown(t *rapid.T, store session.Store, tools *counter, err error) {
	tools.mu.Lock() // a tool that was left behind may still be ending
	for id, n := range tools.runs {
		if n != 1 {
			t.Fatalf("call %s ran %d times", id, n)
		}
	}
	tools.mu.Unlock()
	s, loading := store.Load(ctx, sessionID)
	if loading != nil {
		t.Fatal(loading)
	}
	if errors.Is(err, errPower) {
		return
	}
	legal(t, s.Messages)
	agrees(t, &s)
}

// BenchmarkTurn is one turn with a tool in a session of n messages. Its cost
// without that of BenchmarkBuild, which every request has, must not grow with n.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := grown(b, n)
			b.ReportAllocs()
			for i := 1; b.Loop(); i++ {
				if s = oneTurn(s, fmt.Sprintf("b%d", i)); i%50 == 0 { // the length is the point
					b.StopTimer()
					s = grown(b, n)
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkBuild is the part of BenchmarkTurn that looks at every message.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := grown(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handoff.Build(s.session.History(), s.target); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func oneTurn(s state, id string) state {
	s, _ = step(s, replyInput{epoch, calls(id)})
	s, _ = step(s, toolStartInput{epoch, id})
	s, _ = step(s, toolResultInput{at: epoch, id: id, result: transcript.ToolResult{ToolUseID: id, Content: "r"}})
	s, _ = step(s, toolsDoneInput{at: epoch})
	return s
}

// grown is a run that waits for the reply to a conversation of n messages.
func grown(tb testing.TB, n int) state {
	tb.Helper()
	s := fresh(tb)
	records := []session.Record{session.Run{At: epoch, ID: "r0"}}
	for i := range n / 2 {
		id := fmt.Sprint(i)
		records = append(records, session.MessageRecord{At: epoch, Message: calls(id).Message},
			session.MessageRecord{
				At: epoch, Message: transcript.ToolResults(transcript.ToolResult{ToolUseID: id, Content: "r"}),
			})
	}
	var err error
	if s.session, err = s.session.With(records...); err != nil {
		tb.Fatal(err)
	}
	s.settings.maxTurns = 1 << 30
	s, _ = step(s, beginInput{epoch, "r1", "go"})
	return s
}
