package redact

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/redact/internal/freetext"
)

// BenchmarkWords sets the search for credentials in texts beside bytes.Count of a line's end.
func BenchmarkWords(b *testing.B) {
	code, err := os.ReadFile("matcher.go")
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
				took = fastest(20, func() { freetext.Search(text) })
			}
			b.ReportMetric(float64(len(text))/took[0].Seconds()/1e6, "MB/s")
		})
	}
}

// A text that repeats what begins a name, a URL or a value takes time in proportion to its
// length, and not much more than prose: nothing long is looked at twice. Sixteen times the text
// takes 14 to 22 times the time, and 5 to 120 times that of prose. It took 2,800 times as much
// when each value was read to its end, and would take 256 times the time when to the end of the text.
func TestRepeatedBeginnings(t *testing.T) {
	const size, times, longest, slowest = 32 << 10, 16, 5 * 16, 1000
	prose := []byte(strings.Repeat("Name three capitals of Europe and a river each. ", size/48))
	for _, part := range []string{"://", "a://", "password=", "http://a?key=", "cookie: a=b1c2d3e4f5;", `"token" `,
		"-p ", "key "} {
		short := []byte(strings.Repeat(part, size/len(part)))
		long := bytes.Repeat(short, times)
		took := fastest(3, func() { freetext.Search(prose) }, func() { freetext.Search(short) },
			func() { freetext.Search(long) })
		if took[1] > slowest*took[0] || took[2] > longest*took[1] {
			t.Errorf("%q: %v, prose %v, %d times the text %v", part, took[1], took[0], times, took[2])
		}
	}
}
