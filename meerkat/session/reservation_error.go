package session

import (
	"errors"
	"fmt"
)

// The plain failures of a [BudgetPool]; test for them with errors.Is.
var (
	ErrReserved    = errors.New("it has a reservation already")
	ErrNotReserved = errors.New("it has no reservation, or it was released before")
)

// ReservationError says that a budget has no room for an operation.
type ReservationError struct {
	Kind BudgetKind
	// Asked is what the operation wants, 0 if it set no limit. Left is what is neither
	// used nor reserved of Total. Time is in nanoseconds.
	Asked, Left, Total uint64
}

// Error names the kind and says what to do.
func (e *ReservationError) Error() string {
	left, total, unit := fmt.Sprint(e.Left), fmt.Sprint(e.Total), string(e.Kind)
	asked := fmt.Sprint(e.Asked)
	if e.Kind == BudgetTime {
		left, total, asked = formatNanoseconds(e.Left), formatNanoseconds(e.Total), formatNanoseconds(e.Asked)
	}
	switch {
	case e.Left == 0:
		return fmt.Sprintf(
			"the budget has no %s left of %s; wait for an operation that ends with some over, or raise the budget",
			unit, total,
		)
	case e.Asked == 0:
		return fmt.Sprintf("it has no limit of %s, but the session has one; give it %s at most", unit, left)
	}
	return fmt.Sprintf(
		"it asks for %s of %s and the budget has %s left of %s; ask for less, or wait for an operation that ends with some over",
		asked, unit, left, total,
	)
}

func formatNanoseconds(n uint64) string { return toDuration(n).String() }
