package stream

import "time"

// RateLimit is one limit of a provider over a window of time, as its headers
// report it: how much is allowed, and how much is left.
type RateLimit struct {
	Name      string `json:"name"` // "requests", "tokens", "input-tokens" or "output-tokens"
	Limit     int64  `json:"limit"`
	Remaining int64  `json:"remaining"`
	// Reset is how long until the window is whole again; 0 when the provider did
	// not say.
	Reset time.Duration `json:"reset_ns,omitempty"`
}
