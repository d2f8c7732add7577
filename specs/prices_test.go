package specs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePrices(t *testing.T) {
	got, err := ParsePrices("p.yaml",
		[]byte("currency: USD\nmodels:\n  m-2: {input: 1, output: 2, cache_read: 0, cache_write: 1.25}\n  n: {input: 3, output: 4}\n"))
	want := &Prices{Currency: "USD", Models: map[string]Price{"m-2": {1, 2, 0, 1.25}, "n": {3, 4, 3, 3}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestPriceOfSnapshot: of several snapshots of one model the same one answers each time.
func TestPriceOfSnapshot(t *testing.T) {
	p := &Prices{Models: map[string]Price{"gpt-5.2-2026-01-01": {Input: 1}, "gpt-5.2-2026-02-02": {Input: 2},
		"gpt-5.2-2026-03-03": {Input: 3}}}
	for range 50 {
		if got, ok := p.PriceOf("gpt-5.2"); !ok || got.Input != 1 {
			t.Fatal(got, ok)
		}
	}
}

func TestBadPrices(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "p.yaml:1: is empty; it must be a mapping with the keys currency, models",
		"models: {}":                            "p.yaml:1:9: models: names no model",
		"modles: {}":                            `p.yaml:1:1: key "modles" is not known; did you mean models?`,
		"models: {m: {input: 1}}":               `p.yaml:1:13: key "models.m.output" is missing`,
		"models:\n  m: {input: -1, output: 1}":  `p.yaml:2:14: models.m.input: -1 is not a number from 0`,
		"models: {m: {input: .inf, output: 1}}": ".inf is not a number from 0",
		"models:\n m: {input: 1, cached_read: 1}":   `p.yaml:2:16: key "models.m.cached_read" is not known; did you mean cache_read?`,
		"currency: {}\nmodels: {}":                  "p.yaml:1:11: currency: is a mapping; it must be a text",
		"models: {m: &m {input: 1, output: 1, *m}}": "p.yaml",
	} {
		_, err := ParsePrices("p.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// FuzzPrices holds that any bytes are prices or an error.
func FuzzPrices(f *testing.F) {
	f.Add([]byte("currency: USD\nmodels: {m: {input: 1, output: 2}}"))
	f.Add([]byte("models: {m: &m {input: 1, output: 1, *m}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePrices("p.yaml", data)
		if (p == nil) != (err != nil) {
			t.Errorf("%v, %v", p, err)
		}
	})
}
