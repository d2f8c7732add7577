// Package budget says how much a session may spend and when it has (seed 001
// §10). It is pure: who spends does the counting, and time is given.
package budget

import (
	"fmt"
	"slices"
	"time"
)

// Kind is what a limit counts, the budget_type of seed 001 §5.
type Kind string

// The kinds, in the order in which they are judged.
const (
	Tokens    Kind = "tokens"
	Time      Kind = "time" // in milliseconds where it is a number
	ToolCalls Kind = "tool_calls"
	Turns     Kind = "turns"
)

// Limits bound what a session may spend over all its runs. A zero field is no
// limit. The JSON form is stored with sessions.
type Limits struct {
	// MaxTokens counts all kinds: input, output, cache reads and writes.
	MaxTokens    uint64        `json:"max_tokens,omitempty"`
	MaxDuration  time.Duration `json:"max_duration_ns,omitempty"` // while a run is going on
	MaxToolCalls int           `json:"max_tool_calls,omitempty"`
	MaxTurns     int           `json:"max_turns,omitempty"` // model calls that were answered
}

// Spent is what a session has used so far.
type Spent struct {
	Tokens    uint64        `json:"tokens"`
	Elapsed   time.Duration `json:"elapsed_ns"`
	ToolCalls int           `json:"tool_calls"`
	Turns     int           `json:"turns"`
}

// ExceededError says that a budget is spent. What was reached is kept: the run
// ends with its partial result, and its session can be resumed.
type ExceededError struct {
	Kind  Kind
	Used  uint64
	Limit uint64
}

// Error says how to go on.
func (e *ExceededError) Error() string {
	const format = "the budget of %s is spent (%s); raise it and resume"
	switch e.Kind {
	case Time:
		return fmt.Sprintf(format, milliseconds(e.Limit), milliseconds(e.Used)+" used")
	case ToolCalls:
		return fmt.Sprintf(format, fmt.Sprintf("%d tool calls", e.Limit), fmt.Sprintf("%d asked for", e.Used))
	default:
		return fmt.Sprintf(format, fmt.Sprintf("%d %s", e.Limit, e.Kind), fmt.Sprintf("%d used", e.Used))
	}
}

func milliseconds(n uint64) string {
	return (time.Duration(n) * time.Millisecond).String() //nolint:gosec // made from a Duration
}

// Exceeded returns the first limit that leaves no room for another model call,
// nil if there is none. Tokens, time and turns are spent when the limit is
// reached; tool calls when more were asked for than the limit, so that the
// model may still answer with what the last of them found.
func (l Limits) Exceeded(s Spent) *ExceededError {
	for _, c := range l.counts(s) {
		if c.used > c.limit || c.used == c.limit && c.kind != ToolCalls {
			return &ExceededError{Kind: c.kind, Used: c.used, Limit: c.limit}
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

// TimeLeft returns how long a run may still go on; ok is false without a limit.
func (l Limits) TimeLeft(s Spent) (left time.Duration, ok bool) {
	return max(0, l.MaxDuration-s.Elapsed), l.MaxDuration > 0
}

// Warning says that a budget is nearly spent (budget_warning, seed 001 §5).
type Warning struct {
	Kind  Kind    `json:"budget_type"`
	Used  uint64  `json:"used"`
	Limit uint64  `json:"limit"`
	Share float64 `json:"share"` // Used of Limit, from 0
}

// Warnings returns a warning for each kind of which at least the share
// threshold is used and that is not among already. A threshold of 0 never
// warns.
func (l Limits) Warnings(s Spent, threshold float64, already []Kind) []Warning {
	var found []Warning
	for _, c := range l.counts(s) {
		share := float64(c.used) / float64(c.limit)
		if threshold > 0 && share >= threshold && !slices.Contains(already, c.kind) {
			found = append(found, Warning{c.kind, c.used, c.limit, share})
		}
	}
	return found
}

// Over returns l with the limits that o names.
func (l Limits) Over(o Limits) Limits {
	if o.MaxTokens != 0 {
		l.MaxTokens = o.MaxTokens
	}
	if o.MaxDuration != 0 {
		l.MaxDuration = o.MaxDuration
	}
	if o.MaxToolCalls != 0 {
		l.MaxToolCalls = o.MaxToolCalls
	}
	if o.MaxTurns != 0 {
		l.MaxTurns = o.MaxTurns
	}
	return l
}

type count struct {
	kind        Kind
	used, limit uint64
}

// counts lists the kinds that have a limit.
func (l Limits) counts(s Spent) []count {
	all := []count{
		{Tokens, s.Tokens, l.MaxTokens},
		{Time, positive(s.Elapsed.Milliseconds()), positive(l.MaxDuration.Milliseconds())},
		{ToolCalls, positive(int64(s.ToolCalls)), positive(int64(l.MaxToolCalls))},
		{Turns, positive(int64(s.Turns)), positive(int64(l.MaxTurns))},
	}
	if l.MaxDuration > 0 && l.MaxDuration < time.Millisecond {
		all[1].limit = 1
	}
	return slices.DeleteFunc(all, func(c count) bool { return c.limit == 0 })
}

func positive(n int64) uint64 {
	return uint64(max(0, n))
}
