package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// BenchmarkTimedReplay plays 64 streams of a second at once at the recorded
// pace, through the proxy and TLS, and reports how far from its recorded time a
// client has each chunk and each header, early or late (performance goal R2:
// chunks within 1 ms, p95), and by how much the whole streams were too long.
func BenchmarkTimedReplay(b *testing.B) {
	const streams, chunks = 64, 40
	var header, chunk, total []time.Duration
	for b.Loop() {
		var ins []cassette.Interaction
		for i := range streams {
			ins = append(ins, uneven(i, chunks))
		}
		house := open(b, replay.Config{Timing: replay.Recorded}, slices.Repeat(ins, 2)...)
		client := house.client(b, false)
		client.Transport.(*http.Transport).MaxIdleConnsPerHost = streams
		play := func() { // first to have the connections, then for the times
			var mu sync.Mutex
			var all sync.WaitGroup
			header, chunk, total = nil, nil, nil
			for _, in := range ins {
				all.Go(func() {
					h, c, whole := deviations(b, client, in)
					mu.Lock()
					defer mu.Unlock()
					header, chunk, total = append(header, h), append(chunk, c...), append(total, whole)
				})
			}
			all.Wait()
		}
		play()
		play()
	}
	b.ReportMetric(percentile(chunk, 50), "chunk-p50-ms")
	b.ReportMetric(percentile(chunk, 95), "chunk-p95-ms")
	b.ReportMetric(percentile(chunk, 99), "chunk-p99-ms")
	b.ReportMetric(percentile(header, 95), "header-p95-ms")
	b.ReportMetric(percentile(total, 95), "total-p95-ms")
	b.ReportMetric(0, "ns/op")
}

// uneven is a stream of a second whose chunks come when they like, the answer
// to a request of its own.
func uneven(n, chunks int) cassette.Interaction {
	in := recorded(slices.Repeat([]string{"data: " + strings.Repeat("e", 150) + "\n\n"}, chunks)...)
	in.Request.Body = fmt.Appendf(nil, `{"stream":true,"n":%d}`, n)
	dice := rand.New(rand.NewPCG(1, uint64(n)))
	at := time.Duration(0)
	for i := range in.Timeline {
		in.Timeline[i].At = at
		at += time.Duration(dice.IntN(50_000)) * time.Microsecond
	}
	in.Duration = in.Timeline[chunks-1].At + 30*time.Millisecond // the header's
	return in
}

// deviations asks once: how far the header was from its time, and each chunk
// from its own, counted from the header; and the end from the end.
func deviations(b *testing.B, c *http.Client, in cassette.Interaction) (header time.Duration, chunks []time.Duration, total time.Duration) {
	begin := time.Now()
	resp, err := c.Post("https://"+api+path, "application/json", bytes.NewReader(in.Request.Body))
	if err != nil {
		b.Error(err)
		return 0, nil, 0
	}
	defer func() { _ = resp.Body.Close() }()
	answered := time.Now()
	header = (answered.Sub(begin) - 30*time.Millisecond).Abs()
	buf := make([]byte, in.Timeline[0].Length)
	for _, chunk := range in.Timeline {
		if _, err := io.ReadFull(resp.Body, buf); err != nil {
			b.Error(err)
			return
		}
		chunks = append(chunks, (time.Since(answered) - chunk.At).Abs())
	}
	if _, err := resp.Body.Read(buf); !errors.Is(err, io.EOF) {
		b.Error(err)
	}
	return header, chunks, (time.Since(begin) - in.Duration).Abs()
}

// percentile is in milliseconds.
func percentile(values []time.Duration, p int) float64 {
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return float64(values[len(values)*p/100].Microseconds()) / 1000
}
