package session

import (
	"fmt"
	"maps"
	"math"
	"time"
)

// BudgetPool divides the [Limits] of a session between its own calls and the
// operations that it starts. Tokens, tool calls and turns are set aside for an
// operation before it starts and what it did not use returns when it ends. Time is not
// divided: operations run at the same time, on the clock of their session, and time that
// has passed never returns.
//
// A BudgetPool is a value: its methods return a new one and leave the old one as it was.
// The zero value has no limits.
type BudgetPool struct {
	total    Limits
	used     Spent
	reserved map[string]Limits // by operation; never changed in place
}

// NewBudgetPool returns a pool over the limits of a session that has used used so far.
func NewBudgetPool(total Limits, used Spent) BudgetPool {
	return BudgetPool{total: total, used: used}
}

// Used returns what the session and its ended operations have used.
func (p BudgetPool) Used() Spent { return p.used }

// Reserved returns what is set aside for an operation; ok is false when nothing is.
func (p BudgetPool) Reserved(operation string) (l Limits, ok bool) {
	l, ok = p.reserved[operation]
	return l, ok
}

// Reserve sets limits aside for an operation. In each kind that the session limits, the
// operation must have a limit that fits into what is left. Errors are
// *ReservationError and, for an operation that has a reservation, ErrReserved.
func (p BudgetPool) Reserve(operation string, limits Limits) (BudgetPool, error) {
	if _, twice := p.reserved[operation]; twice {
		return p, fmt.Errorf("operation %s: %w", operation, ErrReserved)
	}
	if err := p.CanReserve(limits); err != nil {
		return p, fmt.Errorf("operation %s: %w", operation, err)
	}
	reserved := maps.Clone(p.reserved)
	if reserved == nil {
		reserved = map[string]Limits{}
	}
	reserved[operation] = limits
	p.reserved = reserved
	return p, nil
}

// CanReserve returns nil when limits fit into what is left, else a *ReservationError.
func (p BudgetPool) CanReserve(limits Limits) error {
	asked, left := limits.asAmounts(), p.leftAmounts()
	for i, total := range p.total.asAmounts() {
		if total == 0 || 0 < asked[i] && asked[i] <= left[i] {
			continue
		}
		return &ReservationError{Kind: budgetKinds[i], Asked: asked[i], Left: left[i], Total: total}
	}
	return nil
}

// Release ends the reservation of an operation. What the operation used counts; the
// rest of its reservation returns to the pool at once. The time in actual does not
// count: it has passed on the clock of the session, see [BudgetPool.Spend]. An operation
// without a reservation, or whose reservation was released before, is ErrNotReserved.
func (p BudgetPool) Release(operation string, actual Spent) (BudgetPool, error) {
	if _, ok := p.reserved[operation]; !ok {
		return p, fmt.Errorf("operation %s: %w", operation, ErrNotReserved)
	}
	p.reserved = maps.Clone(p.reserved)
	delete(p.reserved, operation)
	actual.Elapsed = 0
	return p.Spend(actual), nil
}

// Spend counts what the session itself used, and time that has passed. Negative amounts
// count as none. It never fails: what is used is used, and the limits are checked before.
func (p BudgetPool) Spend(s Spent) BudgetPool {
	used, more := p.used.asAmounts(), s.asAmounts()
	for i := range used {
		used[i] = addSaturated(used[i], more[i])
	}
	p.used = Spent{Tokens: used[0], Elapsed: toDuration(used[1]), ToolCalls: toInt(used[2]), Turns: toInt(used[3])}
	return p
}

// Remaining returns what is neither used nor reserved, as limits for one more operation.
// A kind without a limit stays without one. When a kind has nothing left, nothing more
// can be started and the error is a *ReservationError.
func (p BudgetPool) Remaining() (Limits, error) {
	total, left := p.total.asAmounts(), p.leftAmounts()
	for i := range total {
		if total[i] > 0 && left[i] == 0 {
			return Limits{}, &ReservationError{Kind: budgetKinds[i], Total: total[i]}
		}
	}
	return left.asLimits(), nil
}

// leftAmounts returns what is left of each kind that has a limit.
func (p BudgetPool) leftAmounts() (left amounts) {
	taken := p.used.asAmounts()
	for _, r := range p.reserved {
		for i, n := range r.asAmounts() {
			if budgetKinds[i] != BudgetTime {
				taken[i] = addSaturated(taken[i], n)
			}
		}
	}
	for i, total := range p.total.asAmounts() {
		left[i] = total - min(total, taken[i])
	}
	return left
}

// amounts holds one number for each of budgetKinds. In limits, 0 is not a limit.
type amounts [4]uint64

var budgetKinds = [...]BudgetKind{BudgetTokens, BudgetTime, BudgetToolCalls, BudgetTurns}

func (l Limits) asAmounts() amounts {
	return amounts{
		l.MaxTokens, atLeastZero(int64(l.MaxDuration)), atLeastZero(int64(l.MaxToolCalls)),
		atLeastZero(int64(l.MaxTurns)),
	}
}

func (s Spent) asAmounts() amounts {
	return amounts{
		s.Tokens, atLeastZero(int64(s.Elapsed)), atLeastZero(int64(s.ToolCalls)), atLeastZero(int64(s.Turns)),
	}
}

func (a amounts) asLimits() Limits {
	return Limits{MaxTokens: a[0], MaxDuration: toDuration(a[1]), MaxToolCalls: toInt(a[2]), MaxTurns: toInt(a[3])}
}

// addSaturated returns a+b, or the largest number if that is too small for it.
func addSaturated(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }

func toInt(n uint64) int { return int(min(n, math.MaxInt)) } //nolint:gosec // bounded

func toDuration(n uint64) time.Duration { return time.Duration(min(n, math.MaxInt64)) } //nolint:gosec // bounded
