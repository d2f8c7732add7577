package recorder

import (
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	_ "github.com/meerkat-go/conformance/wires/all"
)

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * day, "2w": 14 * day, "36h": 36 * time.Hour,
		"90m": 90 * time.Minute} {
		var g Age
		if err := g.Set(text); err != nil || time.Duration(g) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(g), err)
		}
		var again Age
		if err := again.Set(g.String()); err != nil || again != g {
			t.Errorf("%s is written %s, which reads as %v, %v", text, g.String(), again, err)
		}
	}
	for _, text := range []string{"", "soon", "30", "-1d", "0d", "0w", "0h", "d", "99999999d", "1.5d"} {
		var g Age
		if err := g.Set(text); err == nil {
			t.Errorf("%q is %v", text, time.Duration(g))
		}
	}
}

func TestStale(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for created, want := range map[string]string{
		"2026-03-02T12:00:00Z": "",
		"2026-03-01T12:00:00Z": "",
		"2026-03-01T11:59:59Z": "is stale: recorded 30 days ago and --max-age is 30d",
		"2025-03-31T12:00:00Z": "is stale: recorded 365 days ago",
		"":                     "does not say when",
		"yesterday":            "does not say when",
	} {
		if got := StaleReason(cassette.Meta{Created: created}, Age(30*day), now); !strings.HasPrefix(got, want) ||
			(want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", created, got, want)
		}
		if got := StaleReason(cassette.Meta{Created: created}, 0, now); got != "" {
			t.Errorf("%s without a limit: %q", created, got)
		}
	}
}
