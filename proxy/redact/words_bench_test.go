//go:build unix

package redact

import (
	"bytes"
	"os"
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
				took = fastest(20, func() { secretsInWords(text) })
			}
			b.ReportMetric(float64(len(text))/took[0].Seconds()/1e6, "MB/s")
		})
	}
}
