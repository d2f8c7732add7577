package provider

import (
	"math"
	"time"
)

// RetryPolicy says whether a failed model call is made again, and when. The
// zero value never does.
type RetryPolicy struct {
	// MaxRetries is how many further attempts one call gets.
	MaxRetries int
	// InitialDelay is the wait before the first of them; each later one is
	// Multiplier times as long, at most MaxDelay. Zero: those of DefaultRetry.
	InitialDelay time.Duration
	MaxDelay     time.Duration
	Multiplier   float64
	// Jitter, from 0 to 1, is the share of a wait that randomness may take off,
	// so that clients that failed together do not come back together.
	Jitter float64
}

// DefaultRetry is what the official SDKs do.
// MaxDelay is a minute because Gemini's limits last that long.
var DefaultRetry = RetryPolicy{
	MaxRetries: 3, InitialDelay: 500 * time.Millisecond, MaxDelay: time.Minute, Multiplier: 2, Jitter: 0.25,
}

// Next says what follows when attempt (from 1) failed with err: another one
// after delay, or none. random is in [0, 1).
//
// A wait that the provider asked for, in whatever form, is neither shortened
// nor varied; one above MaxDelay ends the call instead, so that no run waits
// for hours in silence. x-should-retry decides over everything but
// MaxRetries; see Error.Retryable.
func (p RetryPolicy) Next(attempt int, err *Error, random float64) (delay time.Duration, retry bool) {
	if err == nil || attempt < 1 || attempt > p.MaxRetries || !err.Retryable() {
		return 0, false
	}
	p = p.withDefaults()
	if asked := err.RetryAfter; asked != nil && *asked > p.MaxDelay {
		return 0, false
	} else if asked != nil && *asked > 0 {
		return *asked, true
	}
	wait := float64(p.InitialDelay) * math.Pow(p.Multiplier, float64(attempt-1))
	wait = min(wait, float64(p.MaxDelay))
	return time.Duration(wait * (1 - p.Jitter*random)), true
}

// withDefaults returns p with defaults for what it leaves open or gets wrong.
func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.InitialDelay <= 0 {
		p.InitialDelay = DefaultRetry.InitialDelay
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = DefaultRetry.MaxDelay
	}
	if !(p.Multiplier >= 1) { // NaN too
		p.Multiplier = DefaultRetry.Multiplier
	}
	if !(p.Jitter >= 0) {
		p.Jitter = 0
	}
	p.Jitter = min(p.Jitter, 1)
	return p
}
