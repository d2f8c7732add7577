package session

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/internal/tagged"
)

// ForkBudgetPolicy says how the branches of a fork share what is left of a budget. The
// zero value is [EqualShares].
//
// Its JSON form is {"type":"equal"}, {"type":"proportional","value":[2,1]},
// {"type":"fixed","value":5000} or {"type":"remaining"}.
type ForkBudgetPolicy struct {
	kind    string
	weights []uint32
	tokens  uint64
}

const (
	shareEqual        = "equal" // the zero value means the same
	shareProportional = "proportional"
	shareFixed        = "fixed"
	shareRemaining    = "remaining"
)

// EqualShares gives each branch the same share.
func EqualShares() ForkBudgetPolicy { return ForkBudgetPolicy{kind: shareEqual} }

// ProportionalShares gives each branch a share by its weight, in the order of the
// branches.
func ProportionalShares(weights ...uint32) ForkBudgetPolicy {
	return ForkBudgetPolicy{kind: shareProportional, weights: slices.Clone(weights)}
}

// FixedShares gives each branch that many tokens, and an equal share of the other kinds.
func FixedShares(tokens uint64) ForkBudgetPolicy {
	return ForkBudgetPolicy{kind: shareFixed, tokens: tokens}
}

// WholeRemainder gives each branch all that is left, for branches that run one after
// the other: the second can only reserve it when the first has ended.
func WholeRemainder() ForkBudgetPolicy { return ForkBudgetPolicy{kind: shareRemaining} }

// Divide returns the limits of each branch out of left, see [BudgetPool.Remaining]. No
// share is empty, and the shares of a kind add up to all of it, except for fixed shares,
// which may leave some, and [WholeRemainder]. Kinds without a limit stay without one.
// Time is not divided, because the branches run at the same time: each gets all of it.
func (p ForkBudgetPolicy) Divide(left Limits, branches int) ([]Limits, error) {
	weights, err := p.branchWeights(branches)
	if err != nil {
		return nil, err
	}
	shares := make([]amounts, branches)
	for i, amount := range left.asAmounts() {
		parts, err := p.divideKind(budgetKinds[i], amount, weights)
		if err != nil {
			return nil, err
		}
		for b := range shares {
			shares[b][i] = parts[b]
		}
	}
	limits := make([]Limits, branches)
	for b := range shares {
		limits[b] = shares[b].asLimits()
	}
	return limits, nil
}

// divideKind returns what each branch gets of one kind, of which amount is left; 0 is no
// limit.
func (p ForkBudgetPolicy) divideKind(kind BudgetKind, amount uint64, weights []uint32) ([]uint64, error) {
	branches := len(weights)
	switch {
	case kind == BudgetTokens && p.kind == shareFixed:
		if amount > 0 && amount/uint64(branches) < p.tokens {
			return nil, fmt.Errorf(
				"fork budget: %d branches of %d tokens do not fit into the %d that are left; give each less", branches,
				p.tokens, amount,
			)
		}
		return slices.Repeat([]uint64{p.tokens}, branches), nil
	case amount == 0, kind == BudgetTime, p.kind == shareRemaining:
		return slices.Repeat([]uint64{amount}, branches), nil
	}
	parts := divideAmount(amount, weights)
	if slices.Contains(parts, 0) {
		return nil, fmt.Errorf(
			"fork budget: the %d %s that are left are too few for %d branches; fork into fewer or raise the budget",
			amount, kind, branches,
		)
	}
	return parts, nil
}

// maxBranches bounds the branches of one fork.
const maxBranches = 1 << 16

// branchWeights returns one weight for each branch, none of them 0.
func (p ForkBudgetPolicy) branchWeights(branches int) ([]uint32, error) {
	switch {
	case branches < 1 || branches > maxBranches:
		return nil, fmt.Errorf("fork budget: %d branches; want 1 to %d", branches, maxBranches)
	case p.kind == shareFixed && p.tokens == 0:
		return nil, errors.New("fork budget: a fixed share of 0 tokens is not a limit; give each branch at least 1")
	case p.kind != shareProportional:
		return slices.Repeat([]uint32{1}, branches), nil
	case len(p.weights) != branches || slices.Contains(p.weights, 0):
		return nil, fmt.Errorf(
			"fork budget: the weights are %v; want one above 0 for each of %d branches", p.weights, branches,
		)
	}
	return p.weights, nil
}

// divideAmount divides an amount by weights. The parts add up to it; what does not
// divide goes to the first ones.
func divideAmount(amount uint64, weights []uint32) []uint64 {
	var sum uint64 // at most maxBranches * 2^32
	for _, w := range weights {
		sum += uint64(w)
	}
	parts, rest := make([]uint64, len(weights)), amount
	for i, w := range weights {
		high, low := bits.Mul64(amount, uint64(w))
		parts[i], _ = bits.Div64(high, low, sum) // w <= sum, so that the quotient fits
		rest -= parts[i]
	}
	for i := range rest { // less than one for each part
		parts[i]++
	}
	return parts
}

// MarshalJSON writes the form above.
func (p ForkBudgetPolicy) MarshalJSON() ([]byte, error) {
	switch p.kind {
	case shareProportional:
		return tagged.Encode(p.kind, p.weights)
	case shareFixed:
		return tagged.Encode(p.kind, p.tokens)
	case shareRemaining:
		return tagged.Encode(p.kind, nil)
	default:
		return tagged.Encode(shareEqual, nil)
	}
}

// UnmarshalJSON reads the form above; anything else is an error.
func (p *ForkBudgetPolicy) UnmarshalJSON(data []byte) error {
	var out ForkBudgetPolicy
	var err error
	out.kind, err = tagged.Decode(data, map[string]any{
		shareEqual: nil, shareProportional: &out.weights, shareFixed: &out.tokens, shareRemaining: nil,
	})
	if err != nil {
		return fmt.Errorf("fork budget: %w", err)
	}
	*p = out
	return nil
}
