package cassette

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	vcr "github.com/dnaeon/go-vcr/v2/cassette"
)

// typical is an interaction of about 8 KB, the size docs/bench.md speaks of: a
// prompt of 3 KB and a stream of 4.4 KB in 20 events.
func typical(i int) Interaction {
	var body bytes.Buffer
	var chunks []Chunk
	for n := range 20 {
		size := body.Len()
		fmt.Fprintf(&body,
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n", strings.Repeat("word ", 22))
		chunks = append(chunks, Chunk{At: time.Duration(n) * 20 * time.Millisecond, Length: body.Len() - size})
	}
	header := http.Header{}
	for n := range 12 {
		header.Set(fmt.Sprintf("Anthropic-Ratelimit-%d", n), "4000000")
	}
	return Interaction{
		Request: Request{
			Method: "POST", URL: "https://api.anthropic.com/v1/messages", Proto: "HTTP/1.1",
			Header: http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}},
			Body: fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","n":%d,"messages":[{"role":"user","content":"%s"}]}`,
				i, strings.Repeat("ask ", 700)),
		},
		Response: Response{Status: 200, Proto: "HTTP/2.0", Header: header, Body: body.Bytes()},
		Timeline: chunks, End: EndEOF, Duration: 400 * time.Millisecond,
	}
}

// large writes a cassette of n interactions once, without a sync for each.
func large(b testing.TB, n int) string {
	b.Helper()
	m := testMeta
	m.Version = FormatVersion
	data := encodeHead(m)
	last := sum(data)
	for i := range n {
		item := appendItem(nil, typical(i))
		last = last.nextSeal(item)
		data = append(append(data, item...), sealLine(i, len(item), last)...)
	}
	path := filepath.Join(b.TempDir(), "x.yaml")
	if err := os.WriteFile(path, append(data, closeLine(n, last)...), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		path := large(b, n)
		info, _ := os.Stat(path)
		b.Run(fmt.Sprint("ours/", n), func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				c, err := Open(path)
				if err != nil || c.Len() != n {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("read-only/", n), func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				if _, err := os.ReadFile(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	path := large(b, 1000)
	b.Run("go-vcr/1000", func(b *testing.B) {
		for b.Loop() {
			if _, err := vcr.Load(strings.TrimSuffix(path, ".yaml")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAt(b *testing.B) {
	for _, n := range []int{10, 10000} {
		c, err := Open(large(b, n))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := c.At(i % n); err != nil {
					b.Fatal(err)
				}
				i += 7
			}
		})
	}
}

func BenchmarkRequests(b *testing.B) {
	const n = 10000
	c, err := Open(large(b, n))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			for i := range n {
				if _, err := c.Request(i); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("asked", func(b *testing.B) {
		var room []byte
		for b.Loop() {
			for i := range n {
				r, err := c.Asked(i, room)
				if err != nil {
					b.Fatal(err)
				}
				room = r.Body
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, err := Create(filepath.Join(b.TempDir(), "x.yaml"), testMeta, CreateOptions{})
			if err != nil {
				b.Fatal(err)
			}
			// The state after n appends, without waiting for the disk n times.
			data, err := os.ReadFile(large(b, n))
			if err != nil {
				b.Fatal(err)
			}
			if err := w.appendPieces(slices.Values([][]byte{data})); err != nil {
				b.Fatal(err)
			}
			in := typical(n)
			for b.Loop() {
				if err := w.Append(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("raw-write-and-sync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
		if err != nil {
			b.Fatal(err)
		}
		item := appendItem(nil, typical(0))
		for b.Loop() {
			if _, err := f.Write(item); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCodec(b *testing.B) {
	sse := typical(0)
	crlf := sse
	crlf.Response.Body = bytes.ReplaceAll(sse.Response.Body, []byte("\n"), []byte("\r\n"))
	crlf.Timeline = nil
	for name, in := range map[string]Interaction{"literal": sse, "quoted": crlf} {
		item := appendItem(nil, in)
		b.Run("encode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(item)))
			for b.Loop() {
				item = appendItem(item[:0], in)
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(item)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := decodeItem(item); !ok {
					b.Fatal("slow path")
				}
			}
		})
	}
}
