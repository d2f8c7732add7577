//go:build unix

package redact

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkWords sets the search for credentials in texts beside bytes.Count of a line's end.
func BenchmarkWords(b *testing.B) {
	code, err := os.ReadFile("names.go")
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"prose":  bytes.Repeat([]byte("Name three capitals of Europe and a river each. "), 20000),
		"code":   bytes.Repeat(code, 100),
		"stream": bytes.Repeat([]byte(event), 7000),
		"base64": bytes.Repeat([]byte("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"), 16000),
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = fastest(20, func() { searchWords(text) })
			}
			b.ReportMetric(float64(len(text))/took[0].Seconds()/1e6, "MB/s")
		})
	}
}

// A text that repeats what begins a name, a URL or a value takes time in proportion to its
// length: nothing long is looked at twice. Sixteen times the text took 14 to 22 times the time,
// and would take 256 times where each beginning were looked at to the end of the text.
func TestRepeatedBeginnings(t *testing.T) {
	const size, times, spread = 32 << 10, 16, 5
	for _, part := range []string{"://", "a://", "password=", "http://a?key=", "cookie: a=b1c2d3e4f5;", `"token" `, "-p ", "key "} {
		short := []byte(strings.Repeat(part, size/len(part)))
		long := bytes.Repeat(short, times)
		took := fastest(3, func() { searchWords(short) }, func() { searchWords(long) })
		if took[1] > times*spread*took[0] {
			t.Errorf("%q: %v, %d times the text %v", part, took[0], times, took[1])
		}
	}
}
