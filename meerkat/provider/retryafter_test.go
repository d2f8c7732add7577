package provider

import (
	"net/http"
	"testing"
	"time"
)

// TestRetryAfter reads every form in which a provider says how long to wait
// (reference §4).
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"none":              {http.Header{}, ""},
		"seconds":           {http.Header{"Retry-After": {"17"}}, "17s"},
		"part of a second":  {http.Header{"Retry-After": {" 1.5 "}}, "1.5s"},
		"date":              {http.Header{"Retry-After": {"Sat, 21 Nov 2026 10:00:30 GMT"}}, "30s"},
		"date gone by":      {http.Header{"Retry-After": {"Sat, 21 Nov 2026 09:00:30 GMT"}}, "0s"},
		"milliseconds":      {http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}, "250ms"},
		"bad milliseconds":  {http.Header{"Retry-After-Ms": {"soon"}, "Retry-After": {"9"}}, "9s"},
		"negative":          {http.Header{"Retry-After": {"-3"}}, ""},
		"longer than a day": {http.Header{"Retry-After": {"100000"}}, "24h0m0s"},
		"absurd":            {http.Header{"Retry-After": {"1e300"}}, "24h0m0s"},
		"without end":       {http.Header{"Retry-After": {"inf"}}, "24h0m0s"},
		"no number":         {http.Header{"Retry-After": {"nan"}}, ""},
		"not for years":     {http.Header{"Retry-After": {"Sat, 21 Nov 2099 10:00:30 GMT"}}, "24h0m0s"},
		"our clock is slow": {
			http.Header{"Date": {"Sat, 21 Nov 2026 11:00:00 GMT"}, "Retry-After": {"Sat, 21 Nov 2026 11:00:07 GMT"}},
			"7s",
		},
		"our clock is fast": {
			http.Header{"Date": {"Sat, 21 Nov 2026 09:00:00 GMT"}, "Retry-After": {"Sat, 21 Nov 2026 09:00:07 GMT"}},
			"7s",
		},
	} {
		if got := text(retryAfter(c.header, now)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWindowReset takes the windows that are used up, and no others.
func TestWindowReset(t *testing.T) {
	header := func(requests, requestsReset, tokens, tokensReset string) http.Header {
		h := http.Header{}
		h.Set("x-ratelimit-remaining-requests", requests)
		h.Set("x-ratelimit-reset-requests", requestsReset)
		h.Set("x-ratelimit-remaining-tokens", tokens)
		h.Set("x-ratelimit-reset-tokens", tokensReset)
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"none":       {http.Header{}, ""},
		"open":       {header("5", "12ms", "100", "6m0s"), ""},
		"tokens":     {header("5", "12ms", "0", "6m0s"), "6m0s"},
		"both":       {header("0", "7m0s", "0", "6m0s"), "7m0s"},
		"other way":  {header("0", "12ms", "0", "6m0s"), "6m0s"},
		"nonsense":   {header("0", "soon", "0", "-3s"), ""},
		"open again": {header("0", "0s", "1", "3s"), ""},
	} {
		if got := text(windowReset(c.header)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	anthropic := http.Header{}
	anthropic.Set("anthropic-ratelimit-requests-remaining", "0")
	anthropic.Set("anthropic-ratelimit-requests-reset", "2026-11-21T10:00:30Z")
	if d := windowReset(anthropic); d != nil {
		t.Errorf("%s: a spent tier must not loop", *d)
	}
}

func text(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return d.String()
}
