package provider

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

// windowNames are the rate limits that providers tell of, in the order in which
// they are reported.
var windowNames = []string{"requests", "tokens", "input-tokens", "output-tokens"}

// rateLimits reads Anthropic's and OpenAI's headers; Gemini has none. A window
// without a limit and a rest is not reported.
func rateLimits(h http.Header, now time.Time) []stream.RateLimit {
	var all []stream.RateLimit
	for _, name := range windowNames {
		for _, read := range []func(http.Header, string, time.Time) (stream.RateLimit, bool){
			anthropicWindow, openaiWindow,
		} {
			if limit, ok := read(h, name, now); ok {
				all = append(all, limit)
			}
		}
	}
	return all
}

// anthropicWindow: the reset is a date.
func anthropicWindow(h http.Header, name string, now time.Time) (stream.RateLimit, bool) {
	prefix := "Anthropic-Ratelimit-" + name
	limit, ok := readWindow(name, h.Get(prefix+"-Limit"), h.Get(prefix+"-Remaining"))
	if at, err := time.Parse(time.RFC3339, h.Get(prefix+"-Reset")); ok && err == nil {
		limit.Reset = max(0, at.Sub(now))
	}
	return limit, ok
}

// openaiWindow: the reset is a duration.
func openaiWindow(h http.Header, name string, _ time.Time) (stream.RateLimit, bool) {
	limit, ok := readWindow(name, h.Get("X-Ratelimit-Limit-"+name), h.Get("X-Ratelimit-Remaining-"+name))
	if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + name)); ok && err == nil {
		limit.Reset = max(0, d)
	}
	return limit, ok
}

func readWindow(name, limit, remaining string) (stream.RateLimit, bool) {
	most, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	left, lerr := strconv.ParseInt(strings.TrimSpace(remaining), 10, 64)
	return stream.RateLimit{
		Name: name, Limit: most, Remaining: left,
	}, err == nil && lerr == nil && most >= 0 && left >= 0
}
