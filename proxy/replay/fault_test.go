package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http2"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// What the ends of replies look like to a client.
func isReset(h2 bool, err error) bool {
	if h2 {
		return isStreamError(err)
	}
	return errors.Is(err, syscall.ECONNRESET)
}

func isCut(h2 bool, err error) bool {
	if h2 {
		return isStreamError(err)
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

func isStreamError(err error) bool {
	var stream http2.StreamError
	return errors.As(err, &stream) && stream.Code == http2.ErrCodeInternal
}

var whole = []string{"message_start", "content_block_delta", "message_stop"}

// observable is, for each fault, how a naive client comes to see it.
var observable = map[string]func(h2 bool, got heard) bool{
	"fault: reset, after_event: 1": func(h2 bool, got heard) bool {
		return isReset(h2, got.err) && slices.Equal(got.events, whole[:1])
	},
	"fault: reset, at_start: true": func(h2 bool, got heard) bool {
		return got.status == 200 && isReset(h2, got.err) && len(got.body) == 0
	},
	"fault: reset, before_header: true": func(h2 bool, got heard) bool {
		return got.status == 0 && isReset(h2, got.err)
	},
	"fault: close, at_byte: 60": func(h2 bool, got heard) bool {
		return isCut(h2, got.err) && len(got.body) == 60
	},
	"fault: close, before_header: true": func(h2 bool, got heard) bool {
		return got.status == 0 && (h2 && isStreamError(got.err) || errors.Is(got.err, io.EOF))
	},
	"fault: truncate, before_terminal: true": func(_ bool, got heard) bool {
		return got.err == nil && slices.Equal(got.events, whole[:2])
	},
	"fault: stall, for: 1h, after_event: 1": func(_ bool, got heard) bool {
		return errors.Is(got.err, os.ErrDeadlineExceeded) || errors.Is(got.err, context.DeadlineExceeded)
	},
	"fault: stall, for: 1h, before_header: true": func(_ bool, got heard) bool {
		return got.status == 0 && errors.Is(got.err, context.DeadlineExceeded)
	},
	"fault: stall, for: 1ms, then: reset, after_event: 2": func(h2 bool, got heard) bool {
		return isReset(h2, got.err) && slices.Equal(got.events, whole[:2])
	},
	`fault: status, status: 429, retry_after: "7"`: func(_ bool, got heard) bool {
		return got.status == 429 && got.header.Get("Retry-After") == "7" &&
			strings.Contains(string(got.body), "rate_limit_error")
	},
	"fault: status, status: 529": func(_ bool, got heard) bool {
		return got.status == 529 && strings.Contains(string(got.body), "overloaded_error")
	},
	"fault: error_event, after_event: 2": func(_ bool, got heard) bool {
		return got.err == nil && slices.Equal(got.events, []string{whole[0], whole[1], "error"})
	},
	"fault: garbage, after_event: 1": func(_ bool, got heard) bool {
		return slices.Equal(got.events, []string{whole[0], "?", whole[1], whole[2]})
	},
	"fault: duplicate, after_event: 1": func(_ bool, got heard) bool {
		return slices.Equal(got.events, []string{whole[0], whole[0], whole[1], whole[2]})
	},
	"fault: reorder, after_event: 1": func(_ bool, got heard) bool {
		return slices.Equal(got.events, []string{whole[1], whole[0], whole[2]})
	},
	"fault: ping_flood, count: 500, after_event: 1": func(_ bool, got heard) bool {
		return len(got.events) == 503 && got.events[1] == "ping" && got.events[500] == "ping"
	},
	"fault: bad_utf8, after_event: 1": func(_ bool, got heard) bool {
		return got.err == nil && !utf8.Valid(got.body) && slices.Equal(got.events, whole)
	},
	"fault: content_type": func(_ bool, got heard) bool {
		return strings.HasPrefix(got.header.Get("Content-Type"), "text/html") && slices.Equal(got.events, whole)
	},
	"fault: content_length, by: 5": func(_ bool, got heard) bool {
		return errors.Is(got.err, io.ErrUnexpectedEOF) && slices.Equal(got.events, whole)
	},
	"fault: content_length, by: -5": func(_ bool, got heard) bool {
		return got.err == nil && len(got.body) == len(start+text+stop)-5
	},
}

// Every fault is seen by a client that reads as agents do, by HTTP/1.1 and by
// HTTP/2: nothing is repaired on the way, neither by net/http nor by the ingress.
func TestEveryFaultReachesTheClient(t *testing.T) {
	for plan, saw := range observable {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s h2=%t", plan, h2), func(t *testing.T) {
				why := "not tried"
				for _, patience := range patienceFor(plan) {
					if why = missedFault(t, plan, h2, saw, patience); why == "" {
						return
					}
				}
				t.Error(why)
			})
		}
	}
}

// patienceFor is how long a client waits for a reply; 0 is for ever. One that is stalled for ever must
// give up, and on a busy machine not before the fault has reached it: it is more patient each time.
func patienceFor(plan string) []time.Duration {
	if strings.Contains(plan, "1h") {
		return []time.Duration{200 * time.Millisecond, time.Second, 10 * time.Second}
	}
	return []time.Duration{0}
}

// missedFault says what a client missed of a fault, "" for nothing.
func missedFault(t *testing.T, plan string, h2 bool, saw func(bool, heard) bool, patience time.Duration) string {
	t.Helper()
	server := faulty(t, plan, recorded(start, text, stop))
	c := server.client(t, h2)
	c.Timeout = patience
	got := listen(c)
	if !saw(h2, got) {
		return fmt.Sprintf("status %d, events %v, %d bytes, ended by %v", got.status, got.events,
			len(got.body), got.err)
	}
	if fired := server.replayer.Receipt().Faults; len(fired) != 1 {
		return fmt.Sprintf("the receipt lists %v", fired)
	}
	return ""
}

// By the base URL, too, a reset is a TCP RST and a close is none.
func TestEndsByBaseURL(t *testing.T) {
	for plan, want := range map[string]error{"fault: reset, after_event: 1": syscall.ECONNRESET,
		"fault: close, after_event: 1": nil} {
		server := faulty(t, plan, recorded(start, text, stop))
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.proxy.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, strings.Replace(request, path, "/anthropic"+path, 1))
		got, err := io.ReadAll(conn)
		if _, body, _ := strings.Cut(string(got), "\r\n\r\n"); !errors.Is(err, want) ||
			!strings.HasSuffix(body, start+"\r\n") {
			t.Errorf("%s: %q, %v", plan, got, err)
		}
		_ = conn.Close()
	}
}

// A retry after a fault gets the recorded reply, and the receipt adds up.
func TestRetryAfterAFault(t *testing.T) {
	server := faulty(t, "fault: status, status: 503}, {fault: reset, after_event: 2", recorded(start, text, stop),
		recorded(start))
	c := server.client(t, false)
	var got []string
	for range 5 {
		h := listen(c)
		got = append(got, fmt.Sprint(h.status, len(h.events), h.err == nil))
	}
	// The second interaction answers the same request: its turn comes when the
	// first one's reply has arrived, and it has no second event to be cut at.
	want := []string{"503 0 true", "200 2 false", "200 3 true", "503 0 true", "200 1 true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r := server.replayer.Receipt()
	if r.Served != 2 || r.Struck != 3 || r.Missed != 0 || r.Unused != 0 || len(r.Faults) != 3 || r.Seed == nil ||
		*r.Seed != 1 {
		t.Errorf("receipt %+v", r)
	}
}

// Observers are told what was sent, not what was recorded.
func TestObserversSeeTheFault(t *testing.T) {
	plan, err := fault.Parse("f.yaml", []byte("faults: [{fault: close, after_event: 1}]"))
	if err != nil {
		t.Fatal(err)
	}
	var seen []cassette.Interaction
	var lines []string
	server := open(t, replay.Config{Faults: &plan,
		Observe: func(in cassette.Interaction, _ bool) { seen = append(seen, in) },
		Log:     func(line string) { lines = append(lines, line) }}, recorded(start, text, stop))
	listen(server.client(t, false))
	listen(server.client(t, false))
	if len(seen) != 2 || string(seen[0].Response.Body) != start || seen[0].End != cassette.EndReset ||
		string(seen[1].Response.Body) != start+text+stop || seen[1].End != cassette.EndEOF {
		t.Errorf("observed %+v", seen)
	}
	if len(lines) != 1 || !strings.HasSuffix(lines[0],
		"x.yaml: fault: interaction 0: close after_event 1 (byte 53), line 1 of the plan") {
		t.Errorf("log %q", lines)
	}
}

// Each cut of a mode is a chunk of HTTP/1.1 by either ingress, and a DATA frame of
// HTTP/2: nothing on the way puts them together or divides them.
func TestBoundariesReachTheClient(t *testing.T) {
	in := recorded(start+text[:40], text[40:], stop)
	for _, mode := range []fault.Mode{"", fault.OneByte, fault.MidRune, fault.MidCRLF, fault.MidField, fault.Coalesced,
		fault.Blocks, fault.Random} {
		server := open(t, replay.Config{Rechunk: mode, Seed: 4}, in, in, in)
		var ways [3][]string
		conn := server.dial(t)
		_, _ = io.WriteString(conn, request)
		ways[0] = chunksOf(t, conn)
		ways[1] = framesOf(t, server.dial(t, "h2"))
		plain, err := net.Dial("tcp", strings.TrimPrefix(server.proxy.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(plain, strings.Replace(request, path, "/anthropic"+path, 1))
		ways[2] = chunksOf(t, plain)
		_ = plain.Close()
		for i, got := range ways {
			want := recut(in, mode, i)
			if !slices.Equal(got, want) {
				t.Errorf("%s, way %d: %q, want %q", mode, i, got, want)
			}
		}
	}
}

// recut is what a mode makes of the chunks.
func recut(in cassette.Interaction, mode fault.Mode, at int) (chunks []string) {
	s, rest := fault.Script{}, in.Response.Body
	for _, c := range in.Timeline {
		s.Steps = append(s.Steps, fault.Step{Data: rest[:c.Length]})
		rest = rest[c.Length:]
	}
	for _, step := range fault.Rechunk(s, mode, fault.Dice(4, at)).Steps {
		chunks = append(chunks, string(step.Data))
	}
	return chunks
}

// A long reply is not faster than its reader: a client that leaves ends it.
func TestStallEndsWithTheClient(t *testing.T) {
	server := faulty(t, "fault: stall, for: 1h, after_event: 1", recorded(start, stop))
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+api+path,
		strings.NewReader(`{"stream":true}`))
	resp, err := server.client(t, false).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(resp.Body, make([]byte, len(start)))
	cancel()
	_ = resp.Body.Close()
	done, stopWaiting := context.WithTimeout(context.Background(), 10*time.Second)
	defer stopWaiting()
	if err := server.proxy.Close(done); err != nil {
		t.Errorf("an hour's stall outlived its client: %v", err)
	}
}
