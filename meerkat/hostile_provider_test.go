package meerkat_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
)

const (
	streamHead = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-4-6\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
	textStart  = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	textStop   = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	streamTail = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	ping       = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
)

func textDelta(text string) string {
	return fmt.Sprintf(
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n",
		text,
	)
}

func wholeReply(text string) string {
	return streamHead + textStart + textDelta(text) + textStop + streamTail
}

// reply is what a hostile provider writes; it ends when the client has gone.
type reply struct {
	http.ResponseWriter
	ctx context.Context
}

func (r reply) send(parts ...string) bool {
	for _, p := range parts {
		if _, err := io.WriteString(r, p); err != nil {
			return false
		}
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush()
	return r.ctx.Err() == nil
}

// forever sends a part again and again, with a wait between.
func (r reply) forever(wait time.Duration, part func(n int) string) {
	for n := 0; r.send(part(n)); n++ {
		if wait > 0 {
			select {
			case <-r.ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

func (r reply) silence() { <-r.ctx.Done() }

func again(text string) func(int) string { return func(int) string { return text } }

func blockStart(kind string) string {
	return `event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":` +
		kind + "}\n\n"
}

func blockDelta(delta string) string {
	return `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":` + delta +
		"}\n\n"
}

// hostileProviders lists what a provider does, and what the error has to name; "" is
// any error.
var hostileProviders = []struct {
	name, want string
	unary      bool
	do         func(r reply)
}{
	{"silent before the headers", "limits.idle_timeout", false, func(r reply) { r.silence() }},
	{"silent after the headers", "limits.idle_timeout", false, func(r reply) { r.send(""); r.silence() }},
	{
		"silent in the middle", "limits.idle_timeout", false,
		func(r reply) { r.send(streamHead, textStart, textDelta("a")); r.silence() },
	},
	{
		"comments only", "limits.idle_timeout", false,
		func(r reply) { r.forever(5*time.Millisecond, again(": keepalive\n\n")) },
	},
	{
		"an event that drips", "limits.idle_timeout", false,
		func(r reply) { r.send("data: "); r.forever(5*time.Millisecond, again("x")) },
	},
	{
		"pings only", "limits.ping_timeout", false,
		func(r reply) { r.send(streamHead); r.forever(5*time.Millisecond, again(ping)) },
	},
	{"empty deltas", "limits.ping_timeout", false, func(r reply) {
		r.send(streamHead, textStart)
		r.forever(5*time.Millisecond, again(textDelta("")))
	}},
	{"unknown events", "limits.ping_timeout", false, func(r reply) {
		r.send(streamHead)
		r.forever(5*time.Millisecond, again("event: future\ndata: {\"type\":\"future\"}\n\n"))
	}},
	{"text that trickles for ever", "limits.reply_timeout", false, func(r reply) {
		r.send(streamHead, textStart)
		r.forever(5*time.Millisecond, again(textDelta("a")))
	}},
	{"endless text", "limits.reply_bytes", false, func(r reply) {
		r.send(streamHead, textStart)
		r.forever(0, again(textDelta(strings.Repeat("a", 30_000))))
	}},
	{"endless thinking", "limits.reply_bytes", false, func(r reply) {
		r.send(streamHead, blockStart(`{"type":"thinking","thinking":"","signature":""}`))
		r.forever(0, again(blockDelta(`{"type":"thinking_delta","thinking":"`+strings.Repeat("a", 30_000)+`"}`)))
	}},
	{"endless arguments", "limits.reply_bytes", false, func(r reply) {
		r.send(streamHead, blockStart(`{"type":"tool_use","id":"toolu_1","name":"t","input":{}}`))
		r.forever(0, again(blockDelta(`{"type":"input_json_delta","partial_json":"`+strings.Repeat("a", 30_000)+`"}`)))
	}},
	{"endless small events", "limits.reply_events", false, func(r reply) {
		r.send(streamHead, textStart)
		r.forever(0, again(strings.Repeat(textDelta("a"), 50)))
	}},
	{"endless blocks", "limits.reply_events", false, func(r reply) {
		r.send(streamHead)
		r.forever(0, func(n int) string {
			return strings.ReplaceAll(textStart+textStop, `"index":0`, fmt.Sprintf(`"index":%d`, n))
		})
	}},
	{
		"endless comments", "limits.reply_bytes", false,
		func(r reply) { r.forever(0, again(": "+strings.Repeat("a", 30_000)+"\n")) },
	},
	{
		"an endless line", "limits.event_bytes", false,
		func(r reply) { r.send("data: "); r.forever(0, again(strings.Repeat("a", 30_000))) },
	},
	{
		"an event of endless lines", "limits.event_bytes", false,
		func(r reply) { r.forever(0, again("data: "+strings.Repeat("a", 30_000)+"\n")) },
	},
	{"an endless answer at once", "limits.reply_bytes", true, func(r reply) {
		r.Header().Set("Content-Type", "application/json")
		r.send(`{"content":"`)
		r.forever(0, again(strings.Repeat("a", 30_000)))
	}},
	{"an answer at once that never comes", "limits.reply_timeout", true, func(r reply) { r.silence() }},
	{"huge headers", "limits.header_bytes", false, func(r reply) {
		for i := range 100 {
			r.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 10_000))
		}
		r.send(wholeReply("hi"))
	}},
	{"a gzip bomb", "compressed", false, func(r reply) {
		r.Header().Set("Content-Encoding", "gzip")
		z, zeros := gzip.NewWriter(r), make([]byte, 1<<20)
		for range 1000 {
			_, _ = z.Write(zeros)
		}
	}},
	{"a redirect to another host", "redirects", false, func(r reply) {
		r.Header().Set("Location", "http://other.example/v1/messages")
		r.WriteHeader(http.StatusTemporaryRedirect)
	}},
	{"a redirect to itself", "redirects", false, func(r reply) {
		r.Header().Set("Location", "/v1/messages")
		r.WriteHeader(http.StatusPermanentRedirect)
	}},
	{"a page", "base URL", false, func(r reply) {
		r.Header().Set("Content-Type", "text/html")
		r.send("<html><title>Sign in</title></html>")
	}},
	{"an endless page", "base URL", false, func(r reply) {
		r.Header().Set("Content-Type", "text/html")
		r.forever(0, again(strings.Repeat("<p>", 10_000)))
	}},
	{
		"an endless error", "", false,
		func(r reply) { r.WriteHeader(http.StatusBadRequest); r.forever(0, again(strings.Repeat("a", 30_000))) },
	},
	{"broken JSON", "", false, func(r reply) { r.send(streamHead, "data: {\"type\":\n\n"); r.silence() }},
	{
		"deeply nested JSON", "", false,
		func(r reply) { r.send(streamHead, "data: "+strings.Repeat("[", 150_000)+"\n\n"); r.silence() },
	},
	{
		"events after the end", "", false,
		func(r reply) { r.send(wholeReply("hi")); r.forever(0, again(textDelta("more"))) },
	},
	{
		"a connection that breaks", "", false,
		func(r reply) { r.send(streamHead, textStart, textDelta("a")); panic(http.ErrAbortHandler) },
	},
	{"nothing at all", "", false, func(reply) {}},
	{"a negative block index", "", false, func(r reply) {
		r.send(streamHead, strings.ReplaceAll(textStart, `"index":0`, `"index":-9223372036854775809`))
		r.silence()
	}},
}

// TestHostileProviders holds that a run ends within its bounds whatever a provider
// sends, with an error that names the setting, without much memory, and that its
// session goes on afterwards.
func TestHostileProviders(t *testing.T) {
	for _, mode := range hostileProviders {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			var isMended atomic.Bool
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				if isMended.Load() {
					_, _ = io.WriteString(w, wholeReply("mended"))
					return
				}
				mode.do(reply{w, r.Context()})
			}))
			defer func() { s.CloseClientConnections(); s.Close() }()
			store := session.NewMemoryStore()
			build := func(unary bool, bounds provider.Bounds) *meerkat.Agent {
				b := meerkat.NewAgent().WithAnthropic("key-of-a-test").WithModel("claude-opus-4-6").WithBaseURL(s.URL).WithStore(store).
					WithRetry(provider.RetryPolicy{}).WithBounds(bounds)
				if unary {
					b.WithUnary()
				}
				a, err := b.Build()
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			result, err := build(mode.unary, shortBounds(mode.want)).Run(ctx, "hi")
			switch {
			case err == nil:
				t.Errorf("the run passes with %.60q", result.Text)
			case ctx.Err() != nil:
				t.Error("the run does not end by itself")
			case !strings.Contains(err.Error(), mode.want):
				t.Errorf("%v does not name %s", err, mode.want)
			}
			var memory runtime.MemStats
			runtime.GC() // what has not been collected yet is no measure
			if runtime.ReadMemStats(&memory); memory.HeapAlloc > 256<<20 {
				t.Errorf("%d MB in use", memory.HeapAlloc>>20)
			}
			isMended.Store(true)
			if again, err := build(false, shortBounds("")).Resume(
				ctx, result.SessionID, "and now?",
			); err != nil || again.Text != "mended" {
				t.Errorf("the session does not go on: %q, %v", again.Text, err)
			}
		})
	}
}

// shortBounds are limits of which the wanted one, where it is a time, is reached first also
// on a machine that stands still for seconds.
func shortBounds(wanted string) provider.Bounds {
	b := provider.Bounds{
		ReplyBytes: 4 << 20, ReplyEvents: 2000, EventBytes: 1 << 20,
		IdleTimeout: 40 * time.Second, PingTimeout: 80 * time.Second, ReplyTimeout: 2 * time.Minute,
	}
	switch wanted {
	case "limits.idle_timeout":
		b.IdleTimeout = time.Second
	case "limits.ping_timeout":
		b.PingTimeout = time.Second
	case "limits.reply_timeout":
		b.ReplyTimeout = time.Second
	}
	return b
}

// TestInterrupt holds that a run ends within a second of its interrupt, whatever the
// provider does.
func TestInterrupt(t *testing.T) {
	for _, mode := range hostileProviders {
		if !strings.HasSuffix(mode.want, "timeout") {
			continue
		}
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 8)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				arrived <- struct{}{}
				mode.do(reply{w, r.Context()})
			}))
			defer func() { s.CloseClientConnections(); s.Close() }()
			b := meerkat.NewAgent().WithAnthropic("key-of-a-test").WithModel("claude-opus-4-6").WithBaseURL(s.URL)
			if mode.unary {
				b.WithUnary()
			}
			a, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { <-arrived; cancel() }()
			if _, err := a.Run(ctx, "hi"); err == nil {
				t.Error("the run passes")
			}
			if ctx.Err() == nil {
				t.Error("the run ended before it was interrupted")
			}
		})
	}
}
