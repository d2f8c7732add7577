package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// processorTime is what this process has used: on a shared machine it varies less than
// the clock.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fastest runs each of several functions in turns and returns the least processor time of
// each.
func fastest(rounds int, runs ...func()) []time.Duration {
	best := make([]time.Duration, len(runs))
	for round := range rounds {
		for i, run := range runs {
			began := processorTime()
			run()
			if took := processorTime() - began; round == 0 || took < best[i] {
				best[i] = max(took, time.Microsecond)
			}
		}
	}
	return best
}

// BenchmarkBody sets redacting a stream of 16 MiB beside strings.Replacer, which replaces
// the same secrets in their plain form only.
func BenchmarkBody(b *testing.B) {
	text := strings.Repeat(event, (16<<20)/len(event))
	for _, count := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			r, pairs := New([]byte("k")), []string(nil)
			for n := range count {
				secret := fmt.Sprintf("sk-ant-api03-%04dAb3dEf9hIjKlMnOp%04d", n, n*7)
				r.Learn(secret)
				pairs = append(pairs, secret, r.pseudonymFor(secret))
			}
			replacer := strings.NewReplacer(pairs...)
			in := simple()
			in.Request.Header = nil
			in.Response.Body = []byte(text)
			var took []time.Duration
			for b.Loop() {
				took = fastest(3, func() { r.Interaction(in) }, func() { _ = replacer.Replace(text) })
			}
			b.ReportMetric(float64(len(text))/took[0].Seconds()/1e6, "MB/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x-replacer")
		})
	}
}

// BenchmarkHeader sets a header of a megabyte beside its SHA-256, and one of 64 KiB beside
// the pseudonym as it was: a hash of the whole secret for each 32 bytes of it.
func BenchmarkHeader(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			secret := strings.Repeat("Ab3dEf9h", size/8)
			in := simple()
			in.Request.Header = http.Header{"Authorization": {"Bearer " + secret}}
			var took []time.Duration
			for b.Loop() {
				took = fastest(5, func() { New([]byte("k")).Interaction(in) }, func() { sha256.Sum256([]byte(secret)) })
			}
			b.ReportMetric(took[0].Seconds()*1e3, "ms")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "x-sha256")
			if size == 64<<10 {
				was := fastest(1, func() { formerPseudonym([]byte("k"), secret) })
				b.ReportMetric(was[0].Seconds()/took[0].Seconds(), "x-before")
			}
		})
	}
}

func formerPseudonym(key []byte, secret string) string {
	out := []byte(values.Mark)
	for block := uint64(0); len(out) < len(secret); block++ {
		h := hmac.New(sha256.New, key)
		h.Write(binary.BigEndian.AppendUint64(nil, block))
		h.Write([]byte(secret))
		for _, c := range h.Sum(nil) {
			out = append(out, lex.Alphabet[int(c)%len(lex.Alphabet)])
		}
	}
	return string(out[:len(secret)])
}

// What was recorded by the build before has the pseudonyms of this one, up to 40 bytes:
// committed cassettes stay as they are.
func TestPseudonymsAreAsBefore(t *testing.T) {
	r := New([]byte("k"))
	for _, length := range []int{16, 29, 36, 40} {
		secret := strings.Repeat("Ab3dEf9hIj", 4)[:length]
		if got, want := r.pseudonymFor(secret), formerPseudonym([]byte("k"), secret); got != want {
			t.Errorf("%d bytes: %s, was %s", length, got, want)
		}
	}
}
