package harness

import (
	"fmt"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/specs"
)

// Budget bounds what a live run may cost. A field that is 0 bounds nothing.
type Budget struct {
	// Requests counts every request that is sent to a provider, whatever it asks for.
	Requests int
	// Tokens counts input, cached input and output, as the replies report them.
	Tokens int
	// Cost is in the currency of the prices, which it needs.
	Cost float64
}

// Spent is what a live run has cost. It is plain data.
type Spent struct {
	Requests int
	Usage    Usage
	// Estimated is how many tokens of Usage no reply has reported.
	Estimated int
	// Cost is 0 without prices.
	Cost     float64
	Currency string
}

// String says it in a few words, for people.
func (s Spent) String() string {
	text := fmt.Sprintf("%d requests, %d tokens", s.Requests, s.Usage.Total())
	if s.Estimated > 0 {
		text += fmt.Sprintf(" (%d of them estimated)", s.Estimated)
	}
	if s.Currency != "" {
		text += fmt.Sprintf(", %.4f %s", s.Cost, s.Currency)
	}
	return text
}

// exhaustedReason says which bound has been reached, "" for none: what the next request must
// not be sent for.
func (b Budget) exhaustedReason(s Spent) string {
	switch {
	case b.Requests > 0 && s.Requests >= b.Requests:
		return fmt.Sprintf("the budget of %d requests is spent (--max-requests)", b.Requests)
	case b.Tokens > 0 && s.Usage.Total() >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens is spent (--max-tokens)", b.Tokens)
	case b.Cost > 0 && s.Cost >= b.Cost:
		return strings.TrimSpace(fmt.Sprintf("the budget of %v %s is spent (--max-cost)", b.Cost, s.Currency))
	}
	return ""
}

// account adds up what a run costs. It is safe for concurrent use.
type account struct {
	budget Budget
	prices *specs.Prices

	mu    sync.Mutex
	spent Spent
}

func newAccount(b Budget, p *specs.Prices) *account {
	a := &account{budget: b, prices: p}
	if p != nil {
		a.spent.Currency = p.Currency
		if p.Currency == "" {
			a.spent.Currency = "in the unit of the prices"
		}
	}
	return a
}

// admitRequest counts a request that is about to be sent, or says why it must not be.
func (a *account) admitRequest() (reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason = a.budget.exhaustedReason(a.spent); reason == "" {
		a.spent.Requests++
	}
	return reason
}

// chargeReply adds what a reply of model cost.
func (a *account) chargeReply(model string, u Usage, isReported bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent.Usage = a.spent.Usage.plusUsage(u)
	if !isReported {
		a.spent.Estimated += u.Total()
	}
	if a.prices != nil {
		if price, ok := a.prices.PriceOf(model); ok {
			a.spent.Cost += costOf(price, u)
		}
	}
}

// totalSpent is what was spent so far.
func (a *account) totalSpent() Spent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// costOf is what u costs, in the currency of the prices.
func costOf(p specs.Price, u Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output) / 1e6
}
