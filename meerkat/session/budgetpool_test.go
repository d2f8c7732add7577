package session_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/session"
)

var poolTotal = session.Limits{MaxTokens: 1000, MaxDuration: time.Minute, MaxToolCalls: 10, MaxTurns: 8}

func reserve(t *testing.T, p session.BudgetPool, operation string, l session.Limits) session.BudgetPool {
	t.Helper()
	p, err := p.Reserve(operation, l)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBudgetPool: what was reserved is not available, what was not used returns at once,
// and time never does.
func TestBudgetPool(t *testing.T) {
	start := session.NewBudgetPool(poolTotal, session.Spent{Tokens: 100, Turns: 1})
	p := reserve(t, start, "a", session.Limits{MaxTokens: 600, MaxDuration: time.Minute, MaxToolCalls: 4, MaxTurns: 3})
	p = reserve(t, p, "b", session.Limits{MaxTokens: 200, MaxDuration: time.Minute, MaxToolCalls: 4, MaxTurns: 3})
	if left, err := p.Remaining(); err != nil || left != (session.Limits{
		MaxTokens: 100, MaxDuration: time.Minute, MaxToolCalls: 2, MaxTurns: 1,
	}) {
		t.Errorf("%+v, %v", left, err)
	}
	p = p.Spend(session.Spent{Elapsed: 20 * time.Second})
	p, err := p.Release("a", session.Spent{Tokens: 50, Elapsed: 19 * time.Second, ToolCalls: 1, Turns: 2})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := p.Remaining(); err != nil || left != (session.Limits{
		MaxTokens: 650, MaxDuration: 40 * time.Second, MaxToolCalls: 5, MaxTurns: 2,
	}) {
		t.Errorf("%+v, %v", left, err)
	}
	if used := p.Used(); used != (session.Spent{Tokens: 150, Elapsed: 20 * time.Second, ToolCalls: 1, Turns: 3}) {
		t.Errorf("%+v", used)
	}
	if left, err := start.Remaining(); err != nil || left.MaxTokens != 900 {
		t.Errorf("an older value changed: %+v, %v", left, err)
	}
}

func TestBudgetPoolRefuses(t *testing.T) {
	p := reserve(
		t, session.NewBudgetPool(poolTotal, session.Spent{Elapsed: 50 * time.Second}), "a",
		session.Limits{MaxTokens: 900, MaxDuration: time.Second, MaxToolCalls: 1, MaxTurns: 1},
	)
	whole := session.Limits{MaxTokens: 100, MaxDuration: 10 * time.Second, MaxToolCalls: 9, MaxTurns: 7}
	for want, change := range map[string]func(*session.Limits){
		"operation b: it asks for 101 of tokens and the budget has 100 left of 1000":     func(l *session.Limits) { l.MaxTokens = 101 },
		"operation b: it asks for 11s of time and the budget has 10s left of 1m0s":       func(l *session.Limits) { l.MaxDuration = 11 * time.Second },
		"operation b: it has no limit of tool_calls, but the session has one; give it 9": func(l *session.Limits) { l.MaxToolCalls = 0 },
		"operation b: it has no limit of turns, but the session has one; give it 7":      func(l *session.Limits) { l.MaxTurns = -1 },
	} {
		l := whole
		change(&l)
		_, err := p.Reserve("b", l)
		if full := (*session.ReservationError)(nil); !errors.As(err, &full) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := p.Reserve("a", whole); !errors.Is(err, session.ErrReserved) {
		t.Errorf("reserved twice: %v", err)
	}
	full := reserve(t, p, "b", whole)
	if _, err := full.Remaining(); err == nil || !strings.HasPrefix(
		err.Error(), "the budget has no tokens left of 1000; wait for an operation",
	) {
		t.Errorf("%v", err)
	}
	released, err := full.Release("b", session.Spent{})
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range []string{"b", "c"} {
		if _, err := released.Release(operation, session.Spent{}); !errors.Is(err, session.ErrNotReserved) {
			t.Errorf("release of %s: %v", operation, err)
		}
	}
}

// anyLimits has small numbers, none, and the largest.
func anyLimits() *rapid.Generator[session.Limits] {
	n := rapid.SampledFrom([]int{0, 1, 2, 5, 10, math.MaxInt})
	return rapid.Custom(func(t *rapid.T) session.Limits {
		return session.Limits{MaxTokens: rapid.SampledFrom([]uint64{0, 1, 10, 50, math.MaxUint64}).Draw(t, "tokens"),
			MaxDuration: time.Duration(n.Draw(t, "time")), MaxToolCalls: n.Draw(t, "calls"),
			MaxTurns: n.Draw(t, "turns")}
	})
}

func anySpent() *rapid.Generator[session.Spent] {
	n := rapid.SampledFrom([]int{-1, 0, 1, 3, math.MaxInt})
	return rapid.Custom(func(t *rapid.T) session.Spent {
		return session.Spent{Tokens: rapid.SampledFrom([]uint64{0, 1, 7, math.MaxUint64}).Draw(t, "tokens"),
			Elapsed: time.Duration(n.Draw(t, "time")), ToolCalls: n.Draw(t, "calls"), Turns: n.Draw(t, "turns")}
	})
}

// TestBudgetPoolInvariants: after any operations, used and reserved together are within
// the total, unless operations used more than they had reserved; what is left only grows
// by a release, time never; nothing overflows.
func TestBudgetPoolInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := anyLimits().Draw(t, "total")
		p, running, overrun := session.NewBudgetPool(total, session.Spent{}), map[string]session.Limits{}, false
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			before, _ := p.Remaining()
			operation := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "operation"))
			limits, isRunning := running[operation]
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				asked := anyLimits().Draw(t, "asked")
				next, err := p.Reserve(operation, asked)
				if isRunning != errors.Is(err, session.ErrReserved) {
					t.Fatalf("step %d: reserved twice: %v", i, err)
				}
				if err == nil {
					p, running[operation] = next, asked
				}
			case 1:
				actual := anySpent().Draw(t, "actual")
				next, err := p.Release(operation, actual)
				if (err == nil) != isRunning {
					t.Fatalf("step %d: released %v: %v", i, isRunning, err)
				}
				if err == nil {
					overrun = overrun || exceeds(actual, limits)
					p = next
					delete(running, operation)
				}
				if after, err := p.Remaining(); err == nil && after.MaxDuration > before.MaxDuration &&
					before != (session.Limits{}) {
					t.Fatalf("step %d: time came back: %v, before %v", i, after.MaxDuration, before.MaxDuration)
				}
			default:
				own := anySpent().Draw(t, "own")
				fits, err := p.Remaining()
				overrun = overrun || err != nil || exceeds(own, fits)
				p = p.Spend(own)
			}
			checkPool(t, p, total, running, overrun)
		}
	})
}

func exceeds(s session.Spent, l session.Limits) bool {
	return l.MaxTokens > 0 && s.Tokens > l.MaxTokens || l.MaxDuration > 0 && s.Elapsed > l.MaxDuration ||
		l.MaxToolCalls > 0 && s.ToolCalls > l.MaxToolCalls || l.MaxTurns > 0 && s.Turns > l.MaxTurns
}

// checkPool recounts the pool with floating-point numbers, which do not overflow.
func checkPool(t *rapid.T, p session.BudgetPool, total session.Limits, running map[string]session.Limits,
	overrun bool) {
	used := p.Used()
	tokens, calls, turns := float64(used.Tokens), float64(used.ToolCalls), float64(used.Turns)
	for operation, l := range running {
		if have, ok := p.Reserved(operation); !ok || have != l {
			t.Fatalf("operation %s reserved %+v, not %+v", operation, have, l)
		}
		tokens, calls, turns = tokens+float64(l.MaxTokens), calls+float64(max(0, l.MaxToolCalls)), turns+
			float64(max(0, l.MaxTurns))
	}
	if used.ToolCalls < 0 || used.Turns < 0 || used.Elapsed < 0 {
		t.Fatalf("overflow: %+v", used)
	}
	if overrun {
		return
	}
	if total.MaxTokens > 0 && tokens > float64(total.MaxTokens) || total.MaxToolCalls > 0 &&
		calls > float64(total.MaxToolCalls) || total.MaxTurns > 0 && turns > float64(total.MaxTurns) {
		t.Fatalf("used %+v and reserved %+v exceed %+v", used, running, total)
	}
	if left, err := p.Remaining(); err == nil && total.MaxTokens > 0 && total.MaxTokens < 1<<50 &&
		float64(left.MaxTokens)+tokens != float64(total.MaxTokens) {
		t.Fatalf("%d left, %v taken of %d", left.MaxTokens, tokens, total.MaxTokens)
	}
}
