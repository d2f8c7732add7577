package proxy_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// BenchmarkMemory reports how much memory large recordings take at most, as multiples of
// their size: opening a cassette, sealed and not, reading all of it, checking it, and each
// step of saving one body. It is the peak that the system saw.
func BenchmarkMemory(b *testing.B) {
	const bodies, size = 64, 4 << 20
	folder := b.TempDir()
	sealed, foreign := filepath.Join(folder, "sealed.yaml"), filepath.Join(folder, "plain.yaml")
	writeLarge(b, sealed, bodies, size)
	exportPlain(b, sealed, foreign)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, path := range []string{sealed, foreign} {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		b.Run("open/"+name, func(b *testing.B) {
			var c *cassette.Cassette
			reportPeak(b, bodies*size, func() { var err error; c, err = cassette.Open(path); must(err) })
			b.Log(c.Len())
		})
	}
	b.Run("verify/sealed", func(b *testing.B) {
		reportPeak(b, bodies*size, func() { must(cassette.Verify(sealed)) })
	})
	const huge = 128 << 20
	in := largeInteraction(huge)
	redactor, guard := redact.New([]byte("key")), gate.New()
	b.Run("save/redact", func(b *testing.B) {
		reportPeak(b, huge, func() { in = redactor.Interaction(in) })
	})
	b.Run("save/gate", func(b *testing.B) {
		reportPeak(b, huge, func() { must(guard.Check(in)) })
	})
	b.Run("save/append", func(b *testing.B) {
		w := createCassette(b, filepath.Join(b.TempDir(), "x.yaml"))
		reportPeak(b, huge, func() { must(w.Append(in)) })
		must(w.Close())
	})
}

// reportPeak runs f and reports by how much it raised the peak of resident memory.
func reportPeak(b *testing.B, size int64, f func()) {
	b.Helper()
	var most int64
	for b.Loop() {
		most = max(most, peakOf(b, f))
	}
	b.ReportMetric(float64(most)/float64(size), "×size")
}

// peakOf runs f and returns by how much it raised the peak of resident memory, in bytes.
func peakOf(b *testing.B, f func()) int64 {
	b.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		b.Skipf("the peak of memory cannot be reset here: %v", err)
	}
	before := peakMemory(b)
	f()
	return peakMemory(b) - before
}

// peakMemory is the highest resident memory of this process, in bytes.
func peakMemory(b testing.TB) (kilobytes int64) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(line, &kilobytes); err != nil {
		b.Fatal(err)
	}
	return kilobytes << 10
}

// largeInteraction is a stream of events of size bytes.
func largeInteraction(size int) cassette.Interaction {
	event := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + strings.Repeat("word ", 60) + "\"}}\n\n")
	body := bytes.Repeat(event, size/len(event))
	return cassette.Interaction{
		Request: cassette.Request{Method: http.MethodPost, URL: "https://api.anthropic.com/v1/messages",
			Proto: "HTTP/1.1", Header: http.Header{}, Body: []byte(`{"stream":true}`)},
		Response: cassette.Response{Status: 200, Proto: "HTTP/1.1",
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body},
		Timeline: []cassette.Chunk{{Length: len(body)}}, End: cassette.EndEOF,
	}
}

func createCassette(b *testing.B, path string) *cassette.Writer {
	b.Helper()
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

func writeLarge(b *testing.B, path string, bodies, size int) {
	b.Helper()
	w := createCassette(b, path)
	for range bodies {
		if err := w.Append(largeInteraction(size)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// exportPlain writes a copy of a cassette without seals.
func exportPlain(b *testing.B, from, to string) {
	b.Helper()
	c, err := cassette.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	if err := cassette.WriteGoVCR(f, c.Meta(), c.All()); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLateSecret is what the end of a recording of 200 MB costs when a secret became
// known after so many of its 2,000 interactions, which are looked at again. One of them
// holds it.
func BenchmarkLateSecret(b *testing.B) {
	for _, after := range []int{10, 2000} {
		b.Run(fmt.Sprint("after/", after), func(b *testing.B) { benchLateSecret(b, after) })
	}
}

func benchLateSecret(b *testing.B, after int) {
	b.Helper()
	const interactions, size, secret = 2000, 100 << 10, "late-Ab3dEf9hIj2kLmN4pQr6"
	for b.Loop() {
		b.StopTimer()
		redactor, guard := redact.New([]byte("key")), gate.New()
		path := filepath.Join(b.TempDir(), "x.yaml")
		w, in := createCassette(b, path), largeInteraction(size)
		for i := range interactions {
			if in.Request.Body = []byte(`{"stream":true}`); i == after/2 {
				in.Request.Body = []byte(`{"stream":true,"text":"` + secret + `"}`)
			}
			in = redactor.Interaction(in)
			if err := errors.Join(guard.Check(in), w.Append(in)); err != nil {
				b.Fatal(err)
			}
			if i+1 == after {
				redactor.Learn(secret)
				guard.Learn(secret)
			}
		}
		w.Revise(func() (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
			return record.LastLook(redactor, guard)
		})
		b.StartTimer()
		most := peakOf(b, func() {
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
		b.StopTimer()
		b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
		if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(secret)) {
			b.Fatalf("%v, or the secret is left", err)
		}
		b.StartTimer()
	}
}
