package redact

import (
	"bytes"
	"net/http"
	"runtime"
	"strings"
	"testing"

	_ "github.com/meerkat-go/conformance/wires/all"
)

const event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some words of a reply\"}}\n\n"

func BenchmarkInteraction(b *testing.B) {
	for name, size := range map[string]int{"4KiB": 4 << 10, "140KB": 140 << 10, "64MiB": 64 << 20} {
		b.Run(name, func(b *testing.B) {
			in := simple()
			in.Request.Header = http.Header{"X-Api-Key": {"sk-ant-api03-0123456789abcdefghijklmnop"}}
			in.Response.Body = bytes.Repeat([]byte(event), size/len(event)+1)
			r := New(nil)
			b.SetBytes(int64(len(in.Response.Body)))
			b.ReportAllocs()
			for b.Loop() {
				r.Interaction(in)
			}
		})
	}
}

// A body of 16 MiB without a secret costs next to no memory: no copy is made,
// pieces are joined a window at a time, and few of its strings are kept.
func TestAllocationsAreBounded(t *testing.T) {
	in := simple()
	in.Response.Body = []byte(strings.Repeat(event, (16<<20)/len(event)))
	r := New(nil)
	r.Interaction(simple()) // reads the rules
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := r.Interaction(in)
	runtime.ReadMemStats(&after)
	t.Logf("%d bytes", after.TotalAlloc-before.TotalAlloc)
	if got := after.TotalAlloc - before.TotalAlloc; got > 5<<20 {
		t.Errorf("%d MiB were allocated for a body of %d MiB", got>>20, len(out.Response.Body)>>20)
	}
}

// BenchmarkShort is a short exchange of words with a key in its header.
func BenchmarkShort(b *testing.B) {
	words := strings.Repeat("Name three capitals of Europe and a river each. ", 84)
	in := simple()
	in.Request.Header = http.Header{"X-Api-Key": {"test-key-of-the-benchmark"}, "Content-Type": {"application/json"},
		"Anthropic-Version": {"2023-06-01"}, "User-Agent": {"Go-http-client/1.1"}}
	in.Request.Body = []byte(`{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"` + words[:len(words)/2] + `"}]}`)
	in.Response.Body = []byte(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"` + words + `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	in.Response.Header = http.Header{"Content-Type": {"application/json"}, "Date": {"Sat, 21 Nov 2026 13:00:00 GMT"},
		"Content-Length": {"4096"}}
	r := New(nil)
	b.SetBytes(int64(len(in.Request.Body) + len(in.Response.Body)))
	b.ReportAllocs()
	for b.Loop() {
		r.Interaction(in)
	}
}
