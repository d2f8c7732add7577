package llm

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
)

// show writes frames as the bytes they cover, their name and what they carry.
func show(kind, body string) string {
	var b strings.Builder
	for f := range Frames(kind, []byte(body)) {
		fmt.Fprintf(&b, "%d-%d", f.Start, f.End)
		if f.Name != "" {
			b.WriteString(" " + f.Name)
		}
		if f.Data != nil {
			fmt.Fprintf(&b, " %q", f.Data)
		}
		if !f.Whole {
			b.WriteString(" cut")
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestFrames(t *testing.T) {
	for _, tt := range []struct{ name, kind, body, want string }{
		{"sse", sse, "event: a\ndata: 1\n\ndata: 2\n\n", `0-18 a "1"; 18-27 "2"`},
		{"sse comment", sse, ": ping\n\ndata: 1\n\n", `0-8; 8-17 "1"`},
		{"sse event without data", sse, "event: a\n\ndata: 1\n\n", `0-10 a; 10-19 "1"`},
		{"sse blank lines", sse, "\n\ndata:1\n\n", `0-1; 1-2; 2-10 "1"`},
		{"sse crlf and cr", sse, "data: 1\r\n\r\ndata: 2\r\r", `0-11 "1"; 11-20 "2"`},
		{"sse byte order mark", sse, "\ufeffdata: 1\n\n", `3-12 "1"`},
		{"sse two lines", sse, "data: 1\ndata: 2\n\n", `0-17 "1\n2"`},
		{"sse no text", sse, "data\n\ndata:\n\n", `0-6 ""; 6-13 ""`},
		{"sse cut in a line", sse, "data: 1\n\nevent: a\ndata: {\"x", `0-9 "1"; 9-27 a "{\"x" cut`},
		{"sse cut before the blank line", sse, "data: 1\n", `0-8 "1" cut`},
		{"sse cut in the name", sse, "da", `0-2 cut`},
		{"sse bare error", sse, "data: 1\n\n{\n \"error\": {}\n}\n", `0-9 "1"; 9-26 "{\n \"error\": {}\n}"`},
		{"sse empty", sse, "", ""},
		{"sse of no type", "", ": hi\n\ndata: 1\n\n", `0-6; 6-15 "1"`},
		{"error under sse", sse, "{\"error\":1}\n", `0-11 "{\"error\":1}"`},
		{"array", "application/json", "[{\"a\":\"]\\\"\"}\r\n,\r\n{\"b\":[1]}]\n",
			`1-12 "{\"a\":\"]\\\"\"}"; 17-26 "{\"b\":[1]}"`},
		{"array of others", "application/json", "[1, \"x,y\" ,[2]]", `1-2 "1"; 4-9 "\"x,y\""; 11-14 "[2]"`},
		{"array cut", "application/json", "[{\"a\":1},{\"b\":", `1-8 "{\"a\":1}"; 9-14 "{\"b\":" cut`},
		{"array without elements", "application/json", "[]", ""},
		{"array of nonsense", "application/json", "[}}", `1-2 "}"; 2-3 "}"`},
		{"ndjson", "application/x-ndjson", "{\"a\":1}\n\n{\"b\":2}", `0-8 "{\"a\":1}"; 8-9; 9-16 "{\"b\":2}"`},
		{"ndjson cut", "application/x-ndjson", "{\"a\":1}\n{\"b", `0-8 "{\"a\":1}"; 8-11 "{\"b" cut`},
		{"document", "application/json", " {\"a\":1}\n", `1-8 "{\"a\":1}"`},
		{"document cut", "application/json", "{\"a\":", `0-5 "{\"a\":" cut`},
		{"page", "text/html", "<p>\n", `0-3 "<p>"`},
		{"nothing", "application/json", " \n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(tt.kind, tt.body); got != tt.want {
				t.Errorf("%q:\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

// One event of many lines is put together without a copy of all before it for
// each line.
func TestFrameOfManyLines(t *testing.T) {
	const lines = 20_000
	body := append(bytes.Repeat([]byte("data:x\n"), lines), '\n')
	was := bytes.Clone(body)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for f := range Frames(sse, body) {
		if len(f.Data) != 2*lines-1 || !f.Whole {
			t.Errorf("%d bytes, whole %v", len(f.Data), f.Whole)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 10<<20 {
		t.Errorf("took %d MiB for %d bytes", took>>20, len(body))
	}
	if !bytes.Equal(body, was) {
		t.Error("the body changed")
	}
}

// What Terminal takes for JSON in lines is framed by its lines.
func TestFramingOfJSONLines(t *testing.T) {
	for _, kind := range jsonLines {
		if got := show(kind+"; charset=utf-8", "{}\n{}\n"); got != `0-3 "{}"; 3-6 "{}"` {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		provider, data string
		want           bool
	}{
		{"anthropic", `{"type":"message_stop"}`, true},
		{"anthropic", `{"type":"content_block_delta","delta":{"text":"message_stop"}}`, false},
		{"openai", `{"type":"response.incomplete"}`, true},
		{"openai", `{"type":"message_stop"}`, false},
		{"gemini", `{"candidates":[{"finishReason":"STOP"}]}`, true},
		{"gemini", `{"candidates":[{}]}`, false},
		{"", `{"type":"response.completed"}`, true},
		{"", `[DONE]`, true},
		{"openai", `[DONE]`, false},
		{"chat", `[DONE]`, true},
	} {
		if got := IsTerminalEvent(tt.provider, []byte(tt.data)); got != tt.want {
			t.Errorf("Ends(%s, %s) = %v", tt.provider, tt.data, got)
		}
	}
}

// Frames of every recorded reply are whole JSON, except for what a stream says
// beside it, and cover every byte of an event stream.
func TestFramesOfRecordedTraffic(t *testing.T) {
	bodies := corpus.Files(t, "*/*/*.response.body")
	frames := 0
	for _, path := range bodies {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		stream := looksLikeSSE(bytes.TrimLeft(body, " \t\r\n"))
		at := 0
		for f := range Frames("", body) {
			if frames++; stream && f.Start != at {
				t.Errorf("%s: bytes %d to %d are in no frame", path, at, f.Start)
			}
			if at = f.End; stream && f.Whole && f.Data != nil && !isWholeJSON(f.Data) && string(f.Data) != "[DONE]" {
				t.Logf("%s: byte %d: no JSON: %.60s", path, f.Start, f.Data)
			}
		}
		if stream && at != len(body) {
			t.Errorf("%s: frames end at %d of %d", path, at, len(body))
		}
	}
	t.Logf("%d frames of %d bodies", frames, len(bodies))
}

func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"event: a\ndata: {}\n\n", "[{\"a\":1},\r\n2]", "{}\n{}\n",
		"\ufeff:x\r\rdata", "[}],"} {
		f.Add(sse, seed)
		f.Add("application/json", seed)
		f.Add("application/x-ndjson", seed)
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		data, at := []byte(body), 0
		var carried [][]byte
		for fr := range Frames(kind, data) {
			if fr.Start < at || fr.End <= fr.Start || fr.End > len(data) {
				t.Fatalf("frame %d-%d after %d in %q", fr.Start, fr.End, at, body)
			}
			if at = fr.End; fr.Whole && fr.Data != nil {
				carried = append(carried, fr.Data)
			}
		}
		if string(data) != body {
			t.Fatal("the body changed")
		}
		if strings.HasPrefix(kind, eventStream) && strings.TrimLeft(body, "\ufeff \t\r\n") == body &&
			!strings.ContainsAny(body, "{[") {
			i := 0
			for event := range completeEvents(data) {
				if i >= len(carried) || !bytes.Equal(event, carried[i]) {
					t.Fatalf("event %d of %q", i, body)
				}
				i++
			}
		}
	})
}
