package provider

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads the delay headers in the order the SDKs do: milliseconds,
// then seconds or a date. Delays that are no number or negative
// are nil. A date is held against the provider's own clock, if it says what
// time it is there: ours may be wrong.
func retryAfter(h http.Header, now time.Time) *time.Duration {
	if d := parseDelay(h.Get("Retry-After-Ms"), time.Millisecond); d != nil {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d := parseDelay(value, time.Second); d != nil {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return nil
	}
	if there, err := http.ParseTime(h.Get("Date")); err == nil {
		now = there
	}
	d := min(max(0, at.Sub(now)), maxDelay)
	return &d
}

// maxDelay is what every longer delay is taken for: it is none to wait for, but
// not to be passed over either.
const maxDelay = 24 * time.Hour

// parseDelay reads a decimal number of units.
func parseDelay(s string, unit time.Duration) *time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return nil
	}
	d := maxDelay
	if f < float64(maxDelay/unit) {
		d = time.Duration(f * float64(unit))
	}
	return &d
}

// windowHeaders are the windows of OpenAI's x-ratelimit headers.
var windowHeaders = []string{"Requests", "Tokens"}

// windowReset reads when the windows that are used up open again: durations
// such as "6m0s", the longest counts. It is the last resort, for
// a bucket may let a call through before it is full. Anthropic's windows are
// left alone: its limits come with retry-after.
func windowReset(h http.Header) *time.Duration {
	var longestReset *time.Duration
	for _, name := range windowHeaders {
		if strings.TrimSpace(h.Get("X-Ratelimit-Remaining-"+name)) != "0" {
			continue
		}
		d, err := time.ParseDuration(strings.TrimSpace(h.Get("X-Ratelimit-Reset-" + name)))
		if err != nil || d <= 0 || d > maxDelay || longestReset != nil && d < *longestReset {
			continue
		}
		longestReset = &d
	}
	return longestReset
}

// delayPhrase matches "Please retry in 48.9s." and "Please try again in 6m0s.": the
// only place where some limits say how long they last.
var delayPhrase = regexp.MustCompile(`[Pp]lease (?:re)?try (?:again )?in ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

func delayInMessage(message string) *time.Duration {
	m := delayPhrase.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		return nil
	}
	d = min(d, maxDelay)
	return &d
}
