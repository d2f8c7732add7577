package session

import (
	"fmt"
	"slices"
	"time"
)

// BudgetKind is what a limit counts: the budget_type of events.
type BudgetKind string

// The kinds, in the order in which limits are checked.
const (
	BudgetTokens    BudgetKind = "tokens"
	BudgetTime      BudgetKind = "time" // in milliseconds where it is a number
	BudgetToolCalls BudgetKind = "tool_calls"
	BudgetTurns     BudgetKind = "turns"
)

// Limits bound what a session may spend over all its runs. A zero field is no
// limit. The JSON form is stored with sessions.
type Limits struct {
	// MaxTokens counts all kinds: input, output, cache reads and writes.
	MaxTokens    uint64        `json:"max_tokens,omitempty"`
	MaxDuration  time.Duration `json:"max_duration_ns,omitempty"` // of the runs, added up
	MaxToolCalls int           `json:"max_tool_calls,omitempty"`
	MaxTurns     int           `json:"max_turns,omitempty"` // model calls that got a reply
}

// Spent is what a session has used so far. The caller counts it.
type Spent struct {
	Tokens    uint64        `json:"tokens"`
	Elapsed   time.Duration `json:"elapsed_ns"`
	ToolCalls int           `json:"tool_calls"`
	Turns     int           `json:"turns"`
}

// BudgetExceededError ends a run whose session has reached one of its Limits.
// The partial result is kept, and the session can be resumed with higher limits.
type BudgetExceededError struct {
	Kind  BudgetKind
	Used  uint64
	Limit uint64
}

// Error names the limit and how to go on.
func (e *BudgetExceededError) Error() string {
	const format = "the budget of %s is spent (%s); raise it and resume"
	switch e.Kind {
	case BudgetTime:
		return fmt.Sprintf(format, formatMilliseconds(e.Limit), formatMilliseconds(e.Used)+" used")
	case BudgetToolCalls:
		return fmt.Sprintf(format, fmt.Sprintf("%d tool calls", e.Limit), fmt.Sprintf("%d asked for", e.Used))
	default:
		return fmt.Sprintf(format, fmt.Sprintf("%d %s", e.Limit, e.Kind), fmt.Sprintf("%d used", e.Used))
	}
}

func formatMilliseconds(n uint64) string {
	return (time.Duration(n) * time.Millisecond).String() //nolint:gosec // made from a Duration
}

// Exceeded returns the first limit that leaves no room for another model call,
// nil if there is none. Tokens, time and turns are spent when the limit is
// reached. Tool calls are spent when the model asked for more than the limit,
// so that it can still answer with the results of the last ones.
func (l Limits) Exceeded(s Spent) *BudgetExceededError {
	for _, c := range l.counts(s) {
		if c.used > c.limit || c.used == c.limit && c.kind != BudgetToolCalls {
			return &BudgetExceededError{Kind: c.kind, Used: c.used, Limit: c.limit}
		}
	}
	return nil
}

// ToolCallsLeft returns how many of n further tool calls may run.
func (l Limits) ToolCallsLeft(s Spent, n int) int {
	if l.MaxToolCalls == 0 {
		return n
	}
	return max(0, min(n, l.MaxToolCalls-s.ToolCalls))
}

// TimeLeft returns how long the session may still run; ok is false without a
// limit on time.
func (l Limits) TimeLeft(s Spent) (left time.Duration, ok bool) {
	return max(0, l.MaxDuration-s.Elapsed), l.MaxDuration > 0
}

// BudgetWarning says that a limit is nearly reached.
type BudgetWarning struct {
	Kind  BudgetKind
	Used  uint64
	Limit uint64
	Share float64 // Used divided by Limit
}

// Warnings returns a warning for each kind of which at least the share
// threshold is used, except for the kinds in already. A threshold of 0 never
// warns.
func (l Limits) Warnings(s Spent, threshold float64, already []BudgetKind) []BudgetWarning {
	var warnings []BudgetWarning
	for _, c := range l.counts(s) {
		share := float64(c.used) / float64(c.limit)
		if threshold > 0 && share >= threshold && !slices.Contains(already, c.kind) {
			warnings = append(warnings, BudgetWarning{c.kind, c.used, c.limit, share})
		}
	}
	return warnings
}

// OverriddenBy returns l with the limits that other sets in place of its own.
func (l Limits) OverriddenBy(other Limits) Limits {
	if other.MaxTokens != 0 {
		l.MaxTokens = other.MaxTokens
	}
	if other.MaxDuration != 0 {
		l.MaxDuration = other.MaxDuration
	}
	if other.MaxToolCalls != 0 {
		l.MaxToolCalls = other.MaxToolCalls
	}
	if other.MaxTurns != 0 {
		l.MaxTurns = other.MaxTurns
	}
	return l
}

type budgetCount struct {
	kind        BudgetKind
	used, limit uint64
}

// counts lists the kinds that have a limit.
func (l Limits) counts(s Spent) []budgetCount {
	all := []budgetCount{
		{BudgetTokens, s.Tokens, l.MaxTokens},
		{BudgetTime, wholeMilliseconds(s.Elapsed), wholeMilliseconds(l.MaxDuration)},
		{BudgetToolCalls, atLeastZero(int64(s.ToolCalls)), atLeastZero(int64(l.MaxToolCalls))},
		{BudgetTurns, atLeastZero(int64(s.Turns)), atLeastZero(int64(l.MaxTurns))},
	}
	return slices.DeleteFunc(all, func(c budgetCount) bool { return c.limit == 0 })
}

// wholeMilliseconds rounds up: a limit below a millisecond is a limit, and is reached when so
// much time is spent.
func wholeMilliseconds(d time.Duration) uint64 {
	n := d.Milliseconds()
	if d%time.Millisecond > 0 {
		n++
	}
	return atLeastZero(n)
}

func atLeastZero(n int64) uint64 {
	return uint64(max(0, n))
}
