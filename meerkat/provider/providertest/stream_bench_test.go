package providertest_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// BenchmarkSSE frames real streams, turn by turn with a bare scan for line
// feeds over the same bytes: x-scan is how many times as long it takes.
func BenchmarkSSE(b *testing.B) {
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		body := providertest.LongStream(provider, 2000, false)
		b.Run(provider, func(b *testing.B) {
			b.ReportAllocs()
			var ours, bare time.Duration
			events := 0
			s := stream.NewSSE(0, func(*stream.Frame) error { events++; return nil })
			for b.Loop() {
				start := time.Now()
				pieces(body, func(p []byte) { _, _ = s.Write(p) })
				ours += time.Since(start)
				start = time.Now()
				pieces(body, scan)
				bare += time.Since(start)
			}
			n := float64(events)
			b.ReportMetric(float64(len(body))*float64(b.N)/1e6/ours.Seconds(), "MB/s")
			b.ReportMetric(float64(ours.Nanoseconds())/n, "ns/event")
			b.ReportMetric(float64(bare.Nanoseconds())/n, "scan-ns/event")
			b.ReportMetric(ours.Seconds()/bare.Seconds(), "x-scan")
		})
	}
}

// pieces delivers body as net/http would.
func pieces(body []byte, f func([]byte)) {
	for len(body) > 0 {
		n := min(32<<10, len(body))
		f(body[:n])
		body = body[n:]
	}
}

var lines int

func scan(p []byte) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return
		}
		lines++
		p = p[i+1:]
	}
}
