package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

func TestRateLimits(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		want   []stream.RateLimit
	}{
		"none": {},
		"Anthropic": {map[string]string{
			"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49",
			"anthropic-ratelimit-requests-reset":      "2026-01-02T03:04:30Z",
			"anthropic-ratelimit-output-tokens-limit": "8000", "anthropic-ratelimit-output-tokens-remaining": "0",
			"anthropic-ratelimit-output-tokens-reset": "2020-01-02T03:04:30Z",
		}, []stream.RateLimit{
			{Name: "requests", Limit: 50, Remaining: 49, Reset: 30 * time.Second},
			{Name: "output-tokens", Limit: 8000},
		}},
		"OpenAI": {map[string]string{
			"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984",
			"x-ratelimit-reset-tokens": "6m0s",
		}, []stream.RateLimit{{Name: "tokens", Limit: 150000, Remaining: 149984, Reset: 6 * time.Minute}}},
		"half a window": {map[string]string{"x-ratelimit-limit-tokens": "150000"}, nil},
		"no numbers": {
			map[string]string{"x-ratelimit-limit-tokens": "many", "x-ratelimit-remaining-tokens": "few"}, nil,
		},
		"a broken reset": {
			map[string]string{
				"x-ratelimit-limit-requests": "1", "x-ratelimit-remaining-requests": "1",
				"x-ratelimit-reset-requests": "soon",
			},
			[]stream.RateLimit{{Name: "requests", Limit: 1, Remaining: 1}},
		},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if diff := cmp.Diff(c.want, rateLimits(h, now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
