package provider

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzParseError(f *testing.F) {
	for _, body := range []string{
		"", "{", "[", `{}`, `[]`,
		`[{"error":{"code":400,"status":"X","details":[{"retryDelay":"48s"},{"reason":"R"}]}}]`,
		`{"error":"text"}`, `{"error":{"type":1}}`, `{"error":{"code":"c","message":"Please try again in 6m0s."}}`,
		"event: error\ndata: {\"error\":{}}\n\n", "data:", "<html><TITLE>x", "<title>\xff</title>", "\xcd<TITLE>",
		`{"detail":[1]}`, "null",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e := parseError(body)
		if e.RetryAfter != nil && *e.RetryAfter < 0 {
			t.Errorf("%q: negative delay %s", body, *e.RetryAfter)
		}
		if strings.ContainsAny(e.Error(), "\n\r") {
			t.Errorf("%q: more than one line: %q", body, e.Error())
		}
		if x := excerptOf(body); !utf8.ValidString(x) || utf8.RuneCountInString(x) > 201 {
			t.Errorf("%q: excerpt %q", body, x)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"", "3", "1.5", "-1", "1e300", "NaN", "Inf", "Sat, 21 Nov 2026 10:00:30 GMT", "0x10"} {
		f.Add(v, v)
	}
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, ms, s string) {
		h := http.Header{"Retry-After-Ms": {ms}, "Retry-After": {s}}
		if d := retryAfter(h, now); d != nil && *d < 0 {
			t.Errorf("%q %q: %s", ms, s, *d)
		}
	})
}

func TestSpokenDelay(t *testing.T) {
	for message, want := range map[string]string{
		"Please retry in 48.939935699s.":       "48.939935699s",
		"Limit 1. Please try again in 20ms. V": "20ms",
		"please try again in 6m0s":             "6m0s",
		"Please retry in a while":              "", "": "", "Please try again in 999h": "24h0m0s",
	} {
		got := ""
		if d := delayInMessage(message); d != nil {
			got = d.String()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", message, got, want)
		}
	}
}

// Short values are words, not secrets: scrubbing them would eat the texts.
func TestScrubberLeavesWords(t *testing.T) {
	s := newScrubber("test", "")
	if got := s.replacer.Replace("a test key"); got != "a test key" {
		t.Errorf("got %q", got)
	}
}

// TestScrubberTakesTheLongest: one secret may begin as another does.
func TestScrubberTakesTheLongest(t *testing.T) {
	for _, secrets := range [][]string{{"canary-key", "canary-key-and-more"}, {"canary-key-and-more", "canary-key"}} {
		if got := newScrubber(secrets...).replacer.Replace("canary-key-and-more canary-key"); got != "[redacted] [redacted]" {
			t.Error(got)
		}
	}
}
