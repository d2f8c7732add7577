package provider_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/provider"
)

var policy = provider.RetryPolicy{MaxRetries: 4, InitialDelay: time.Second, MaxDelay: 5 * time.Second, Multiplier: 2}

func overloaded() *provider.Error {
	return &provider.Error{Kind: provider.Overloaded, Provider: "anthropic", Status: 529}
}

func asked(d time.Duration) *provider.Error {
	e := overloaded()
	e.RetryAfter = &d
	return e
}

// TestNext holds the waits one by one.
func TestNext(t *testing.T) {
	yes, no := true, false
	varied := policy
	varied.Jitter = 0.5
	for name, c := range map[string]struct {
		policy  provider.RetryPolicy
		attempt int
		err     *provider.Error
		random  float64
		delay   time.Duration
		retry   bool
	}{
		"first":              {policy, 1, overloaded(), 0.9, time.Second, true},
		"second":             {policy, 2, overloaded(), 0.9, 2 * time.Second, true},
		"third":              {policy, 3, overloaded(), 0.9, 4 * time.Second, true},
		"capped":             {policy, 4, overloaded(), 0.9, 5 * time.Second, true},
		"no more":            {policy, 5, overloaded(), 0, 0, false},
		"never":              {provider.RetryPolicy{}, 1, overloaded(), 0, 0, false},
		"jitter":             {varied, 1, overloaded(), 0.5, 750 * time.Millisecond, true},
		"asked for":          {varied, 1, asked(1500 * time.Millisecond), 0.9, 1500 * time.Millisecond, true},
		"asked for nothing":  {policy, 2, asked(0), 0, 2 * time.Second, true},
		"asked for the most": {policy, 1, asked(5 * time.Second), 0, 5 * time.Second, true},
		"asked for too much": {policy, 1, asked(time.Hour), 0, 0, false},
		"bad request": {
			policy, 1, &provider.Error{Kind: provider.InvalidRequest, Status: 400}, 0, 0, false,
		},
		"header says yes": {
			policy, 1, &provider.Error{Kind: provider.InvalidRequest, Status: 400, ShouldRetry: &yes}, 0, time.Second,
			true,
		},
		"header says no": {
			policy, 1, &provider.Error{Kind: provider.Overloaded, Status: 529, ShouldRetry: &no}, 0, 0, false,
		},
		"spent account": {
			policy, 1, &provider.Error{Kind: provider.RateLimited, Status: 429, Code: "insufficient_quota"}, 0, 0,
			false,
		},
		"spent tier": {
			policy, 1,
			&provider.Error{Kind: provider.RateLimited, Status: 429, Code: "enforced_spend_limit_reached"},
			0, 0, false,
		},
		"in the stream": {
			policy, 1, &provider.Error{Kind: provider.Overloaded, Status: 200}, 0, time.Second, true,
		},
		"cut stream": {policy, 1, &provider.Error{Kind: provider.Incomplete}, 0, time.Second, true},
		"cancelled":  {policy, 1, &provider.Error{Kind: provider.Cancelled}, 0, 0, false},
		"no error":   {policy, 1, nil, 0, 0, false},
		"defaults for what is open": {
			provider.RetryPolicy{MaxRetries: 1}, 1, overloaded(), 0, 500 * time.Millisecond, true,
		},
		"nonsense": {
			provider.RetryPolicy{MaxRetries: 2, Multiplier: math.NaN(), Jitter: math.NaN()}, 2, overloaded(), 0,
			time.Second, true,
		},
	} {
		delay, retry := c.policy.Next(c.attempt, c.err, c.random)
		if retry != c.retry || delay != c.delay {
			t.Errorf("%s: %v, %v; want %v, %v", name, delay, retry, c.delay, c.retry)
		}
	}
}

// TestNextIsBounded: whatever the policy, a wait is neither negative nor above
// its cap, and retrying ends.
func TestNextIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := provider.RetryPolicy{
			MaxRetries:   rapid.IntRange(-1, 2000).Draw(t, "retries"),
			InitialDelay: time.Duration(rapid.Int64Range(-1, int64(time.Hour)).Draw(t, "initial")),
			MaxDelay:     time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "max")),
			Multiplier:   rapid.Float64().Draw(t, "multiplier"), Jitter: rapid.Float64().Draw(t, "jitter"),
		}
		attempt := rapid.IntRange(-1, 2100).Draw(t, "attempt")
		delay, retry := p.Next(attempt, overloaded(), rapid.Float64Range(0, 0.999).Draw(t, "random"))
		if delay < 0 || delay > p.MaxDelay || retry && attempt > p.MaxRetries {
			t.Fatalf("%v, %v", delay, retry)
		}
	})
}
