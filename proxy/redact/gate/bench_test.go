package gate

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	_ "github.com/meerkat-go/conformance/wires/all"
)

const event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some words of a reply\"}}\n\n"

func BenchmarkCheck(b *testing.B) {
	for name, size := range map[string]int{"4KiB": 4 << 10, "140KB": 140 << 10, "64MiB": 64 << 20} {
		b.Run(name, func(b *testing.B) {
			in := simple()
			in.Response.Body = bytes.Repeat([]byte(event), size/len(event)+1)
			g := New()
			g.Learn(canary)
			b.SetBytes(int64(len(in.Response.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Check(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// However long a body is, the gate looks at it a window at a time.
func TestAllocationsAreBounded(t *testing.T) {
	for name, body := range map[string]string{
		"events": strings.Repeat(event, (4<<20)/len(event)),
		"string": `{"text":"` + strings.Repeat(`some words\n`, (4<<20)/12) + `"}`,
		"base64": strings.Repeat("QUJD", 1<<20),
	} {
		in := simple()
		in.Response.Body = []byte(body)
		g := New()
		g.Learn(canary)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := g.Check(in)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 || err != nil {
			t.Errorf("%s: %d KiB were allocated, %v", name, got>>10, err)
		}
	}
}

// BenchmarkShort is a short exchange of words, and one whose reply is a run of base64 letters.
func BenchmarkShort(b *testing.B) {
	for name, text := range map[string]string{"words": strings.Repeat("Name three capitals of Europe and a river each. ", 84), "letters": strings.Repeat("0123456789", 400)} {
		b.Run(name, func(b *testing.B) {
			in := simple()
			in.Request.Body = []byte(`{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"prompt-1048577 ` + strings.Repeat("Name three capitals of Europe and a river each. ", 42) + `"}]}`)
			in.Response.Body = []byte(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
			g := New()
			g.Learn(canary)
			b.SetBytes(int64(len(in.Request.Body) + len(in.Response.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Check(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
