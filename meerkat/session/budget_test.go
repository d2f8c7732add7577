package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/session"
)

var all = session.Limits{MaxTokens: 100, MaxDuration: 10 * time.Second, MaxToolCalls: 3, MaxTurns: 4}

func TestExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		spent session.Spent
		want  string
	}{
		"nothing":     {session.Spent{}, ""},
		"all but one": {session.Spent{99, 9999 * time.Millisecond, 3, 3}, ""},
		"tokens": {
			session.Spent{Tokens: 100}, "the budget of 100 tokens is spent (100 used); raise it and resume",
		},
		"time": {
			session.Spent{Elapsed: 12500 * time.Millisecond},
			"the budget of 10s is spent (12.5s used); raise it and resume",
		},
		"tool calls": {
			session.Spent{ToolCalls: 5}, "the budget of 3 tool calls is spent (5 asked for); raise it and resume",
		},
		"turns": {session.Spent{Turns: 4}, "the budget of 4 turns is spent (4 used); raise it and resume"},
		"several: order": {
			session.Spent{Tokens: 101, Turns: 9}, "the budget of 100 tokens is spent (101 used); raise it and resume",
		},
	} {
		got := ""
		if err := all.Exceeded(c.spent); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if err := (session.Limits{}).Exceeded(session.Spent{
		Tokens: 1 << 60, Elapsed: time.Hour, ToolCalls: 9, Turns: 9,
	}); err != nil {
		t.Errorf("no limits: %v", err)
	}
	for _, d := range []time.Duration{1, time.Microsecond, 1500 * time.Microsecond, time.Hour, 1<<63 - 1} {
		if err := (session.Limits{MaxDuration: d}).Exceeded(session.Spent{Elapsed: d}); err == nil {
			t.Errorf("a limit of %s is not reached after %s", d, d)
		}
	}
}

func TestLeft(t *testing.T) {
	for spent, want := range map[int]int{0: 2, 2: 1, 3: 0, 9: 0} {
		if got := all.ToolCallsLeft(session.Spent{ToolCalls: spent}, 2); got != want {
			t.Errorf("%d spent: %d of 2 left, want %d", spent, got, want)
		}
	}
	if got := (session.Limits{}).ToolCallsLeft(session.Spent{ToolCalls: 9}, 2); got != 2 {
		t.Errorf("%d left without a limit", got)
	}
	if left, ok := all.TimeLeft(session.Spent{Elapsed: 4 * time.Second}); left != 6*time.Second || !ok {
		t.Error(left, ok)
	}
	if left, ok := all.TimeLeft(session.Spent{Elapsed: time.Hour}); left != 0 || !ok {
		t.Error(left, ok)
	}
	if _, ok := (session.Limits{}).TimeLeft(session.Spent{}); ok {
		t.Error("a limit without one")
	}
}

// TestWarnings come once for each kind, from the threshold on.
func TestWarnings(t *testing.T) {
	spent := session.Spent{Tokens: 80, Elapsed: 7 * time.Second, ToolCalls: 3, Turns: 1}
	got := all.Warnings(spent, 0.8, nil)
	if len(got) != 2 || got[0] != (session.BudgetWarning{
		session.BudgetTokens, 80, 100, 0.8,
	}) || got[1] != (session.BudgetWarning{session.BudgetToolCalls, 3, 3, 1}) {
		t.Errorf("%+v", got)
	}
	if got := all.Warnings(spent, 0.8, []session.BudgetKind{
		session.BudgetTokens, session.BudgetToolCalls,
	}); got != nil {
		t.Errorf("again: %+v", got)
	}
	if got := all.Warnings(spent, 0, nil); got != nil {
		t.Errorf("threshold 0: %+v", got)
	}
}

func TestOver(t *testing.T) {
	if got := all.OverriddenBy(session.Limits{}); got != all {
		t.Errorf("%+v", got)
	}
	if got := (session.Limits{}).OverriddenBy(all); got != all {
		t.Errorf("%+v", got)
	}
	if got := all.OverriddenBy(session.Limits{MaxTurns: 9}); got.MaxTurns != 9 || got.MaxTokens != 100 {
		t.Errorf("%+v", got)
	}
}

// TestStoredForm is part of the session format.
func TestStoredForm(t *testing.T) {
	const want = `{"max_tokens":100,"max_duration_ns":10000000000,"max_tool_calls":3,"max_turns":4}`
	if got, err := json.Marshal(all); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	var back session.Limits
	if err := json.Unmarshal([]byte(want), &back); err != nil || back != all {
		t.Errorf("%+v, %v", back, err)
	}
}

// TestMonotonic: what is spent stays spent, and no limit is passed unwarned.
func TestMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20)
		l := session.Limits{
			MaxTokens: uint64(n.Draw(t, "tokens")), MaxDuration: time.Duration(n.Draw(t, "seconds")) * time.Second,
			MaxToolCalls: n.Draw(t, "calls"), MaxTurns: n.Draw(t, "turns"),
		}
		s := session.Spent{
			Tokens: uint64(n.Draw(t, "t")), Elapsed: time.Duration(n.Draw(t, "e")) * time.Second,
			ToolCalls: n.Draw(t, "c"), Turns: n.Draw(t, "u"),
		}
		more := s
		more.Tokens, more.ToolCalls = s.Tokens+1, s.ToolCalls+1
		if l.Exceeded(s) != nil && l.Exceeded(more) == nil {
			t.Fatalf("%+v: %+v is too much and %+v is not", l, s, more)
		}
		if e := l.Exceeded(s); e != nil && len(l.Warnings(s, 1, nil)) == 0 {
			t.Fatalf("%v without a warning", e)
		}
		if left := l.ToolCallsLeft(s, 5); l.MaxToolCalls > 0 && left > 0 && s.ToolCalls+left > l.MaxToolCalls {
			t.Fatalf("%d more of %d after %d", left, l.MaxToolCalls, s.ToolCalls)
		}
	})
}
