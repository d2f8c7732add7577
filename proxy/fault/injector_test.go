package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// The replies that faults are tried on. start, text and stop are Anthropic's.
const (
	start = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	text  = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\n"
	stop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

	chunk1 = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\r\n\r\n"
	chunk2 = "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n"

	element1 = `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`
	element2 = `{"candidates":[{"finishReason":"STOP"}]}`
)

var (
	anthropic = Reply{Provider: "anthropic", Operation: llm.Stream}
	gemini    = Reply{Provider: "gemini", Operation: llm.Stream}
)

func jsonReply(chunks ...string) Script {
	return chunked(chunks...).setHeader("Content-Type", "application/json")
}

// injector reads a plan of one-line faults.
func injector(tb testing.TB, faults ...string) *Injector {
	tb.Helper()
	plan, err := Parse("f.yaml", []byte("faults:\n  - {"+strings.Join(faults, "}\n  - {")+"}\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return plan.Injector(1)
}

// show is a script in the tests' tables: writes between bars, pauses, the end.
func show(s Script) string {
	var b strings.Builder
	if s.Status != http.StatusOK {
		fmt.Fprintf(&b, "%d ", s.Status)
	}
	if s.Hold > 0 {
		fmt.Fprintf(&b, "(%v)", s.Hold)
	}
	for _, step := range s.Steps {
		if step.Hold > 0 {
			fmt.Fprintf(&b, "(%v)", step.Hold)
		}
		fmt.Fprintf(&b, "%s|", step.Data)
	}
	return b.String() + string(s.End)
}

func TestFaults(t *testing.T) {
	reply := chunked(start+text, text+stop)
	const (
		overloaded = "event: error\ndata: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"},\"type\":\"error\"}\n\n"
		ping       = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	)
	for plan, want := range map[string]string{
		"fault: reset, before_header: true":                       "0 reset",
		"fault: close, before_header: true":                       "0 close",
		"fault: stall, for: 3s, before_header: true":              "(3s)" + start + text + "|" + text + stop + "|eof",
		"fault: stall, for: 3s, then: reset, before_header: true": "0 (3s)reset",
		"fault: reset, at_start: true":                            "reset",
		"fault: reset, after_event: 1":                            start + "|reset",
		"fault: reset, after_event: 2":                            start + text + "|reset",
		"fault: close, at_byte: 3":                                "eve|close",
		"fault: truncate, before_terminal: true":                  start + text + "|" + text + "|eof",
		"fault: close, after_terminal: true":                      start + text + "|" + text + stop + "|close",
		"fault: stall, for: 3s, after_event: 1":                   start + "|(3s)" + text + "|" + text + stop + "|eof",
		"fault: stall, for: 3s, then: close, after_event: 2":      start + text + "|(3s)|close",
		"fault: stall, for: 3s, after_terminal: true":             start + text + "|" + text + stop + "|(3s)|eof",
		"fault: error_event, after_event: 1":                      start + "|" + overloaded + "|eof",
		"fault: error_event, after_event: 2, then: continue": start + text + "|" + overloaded + "|" +
			text + stop + "|eof",
		"fault: garbage, after_event: 2, text: boo": start + text + "|boo|" + text + stop + "|eof",
		"fault: duplicate, after_event: 1": start + "|" + start + "|" + text + "|" +
			text + stop + "|eof",
		"fault: duplicate, after_terminal: true": start + text + "|" + text + stop + "|" +
			stop + "|eof",
		"fault: reorder, after_event: 1":        text + "|" + start + "|" + text + stop + "|eof",
		"fault: reorder, before_terminal: true": start + text + "|" + stop + "|" + text + "|eof",
		"fault: ping_flood, count: 2, every: 5ms, after_event: 2": start + text + "|" + ping + "|(5ms)" + ping + "|" +
			text + stop + "|eof",
		"fault: status, status: 529": "529 {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"},\"type\":\"error\"}\n|eof",
	} {
		got, out := injector(t, plan).Apply(reply, anthropic)
		if show(got) != want {
			t.Errorf("%s\n got %q\nwant %q", plan, show(got), want)
		}
		if len(out.Fired) != 1 {
			t.Errorf("%s fired %v", plan, out.Fired)
		}
	}
	if show(reply) != start+text+"|"+text+stop+"|eof" {
		t.Error("the recorded script was changed")
	}
}

// Streams of other framings get faults in their own.
func TestFaultsInOtherFramings(t *testing.T) {
	const unavailable = `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`
	sse, list := chunked(chunk1, chunk2), jsonReply("[", element1, ",\r\n", element2+"\r\n]")
	for _, c := range []struct {
		plan  string
		reply Script
		want  string
	}{
		{"fault: error_event, before_terminal: true", sse, chunk1 + "|data: " + unavailable + "\r\n\r\n|eof"},
		{"fault: ping_flood, count: 1, after_event: 1", sse, chunk1 + "|: ping\r\n\r\n|" + chunk2 + "|eof"},
		{"fault: truncate, before_terminal: true", list, "[|" + element1 + "|eof"},
		{"fault: error_event, before_terminal: true", list, "[|" + element1 + "|,\n" + unavailable + "]|eof"},
		{"fault: error_event, at_start: true", list, "[|" + unavailable + "]|eof"},
		{"fault: duplicate, after_event: 1", list,
			"[|" + element1 + "|,\n" + element1 + "|,\r\n|" + element2 + "\r\n]|eof"},
		{"fault: reorder, after_event: 1", list, "[|" + element2 + "|,\r\n|" + element1 + "|\r\n]|eof"},
		{"fault: close, at_byte: 9", jsonReply(`{"id":"a","type":"message"}`), `{"id":"a"|close`},
	} {
		if got, _ := injector(t, c.plan).Apply(c.reply, gemini); show(got) != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.plan, show(got), c.want)
		}
	}
}

func TestGarbageIsNoJSON(t *testing.T) {
	for name, reply := range map[string]Script{"sse": chunked(chunk1, chunk2),
		"array": jsonReply("[" + element1 + "," + element2 + "]")} {
		got, _ := injector(t, "fault: garbage, after_event: 1").Apply(reply, gemini)
		again, _ := injector(t, "fault: garbage, after_event: 1").Apply(reply, gemini)
		if show(got) != show(again) {
			t.Errorf("%s: one seed, two kinds of garbage", name)
		}
		bad := 0
		for f := range llm.Frames(got.Header.Get("Content-Type"), got.Body()) {
			if f.Data != nil && !json.Valid(f.Data) {
				bad++
			}
		}
		if bad == 0 {
			t.Errorf("%s: %q has no garbage", name, got.Body())
		}
	}
}

// Bad UTF-8 lands inside a text, so that the event around it is whole.
func TestBadUTF8(t *testing.T) {
	got, _ := injector(t, "fault: bad_utf8, after_event: 1").Apply(chunked(start, text, stop), anthropic)
	before, after, _ := strings.Cut(text, "hi")
	body := bytes.TrimPrefix(got.Body(), []byte(start+before))
	bad := bytes.TrimSuffix(body, []byte("hi"+after+stop))
	if !slices.Contains(invalidUTF8, string(bad)) {
		t.Errorf("%q has %q in its text", got.Body(), bad)
	}
	for provider, events := range map[string][2]string{
		"anthropic": {`{"type":"content_block_start","content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","delta":{"text":"`},
		"openai": {`{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`,
			`{"type":"response.output_text.delta","delta":"`},
		"gemini": {`{"responseId":"r","candidates":[{"content":{"parts":[{"text":""}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"`},
		"chat": {`{"id":"chatcmpl-1","choices":[{"delta":{"role":"assistant","content":""}}]}`,
			`{"id":"chatcmpl-1","choices":[{"delta":{"content":"`},
		"deepseek": {`{"id":"chatcmpl-1","choices":[{"delta":{"role":"assistant","content":null}}]}`,
			`{"id":"chatcmpl-1","choices":[{"delta":{"content":null,"reasoning_content":"`},
	} {
		before := "data: {}\n\ndata: " + events[0] + "\n\ndata: " + events[1]
		got, _ := injector(t, "fault: bad_utf8, after_event: 1").Apply(chunked(before+"hi\"}"+"\n\n"),
			Reply{Provider: provider})
		if bad, ok := strings.CutPrefix(string(got.Body()), before); !ok ||
			!slices.Contains(invalidUTF8, strings.TrimSuffix(bad, "hi\"}\n\n")) {
			t.Errorf("%s: %q", provider, got.Body())
		}
	}
	got, _ = injector(t, "fault: bad_utf8, at_byte: 2").Apply(chunked("abcd"), anthropic)
	if w := writes(got); len(w) != 3 || w[0] != "ab" || w[2] != "cd" {
		t.Errorf("at_byte 2: %q", w)
	}
}

func TestHeaderFaults(t *testing.T) {
	reply := jsonReply("0123", "4567").setHeader("Content-Length", "8")
	for plan, want := range map[string]string{
		"fault: content_type":                    "text/html; charset=utf-8 8 0123|4567|eof",
		"fault: content_type, value: text/plain": "text/plain 8 0123|4567|eof",
		"fault: content_length, by: 3":           "application/json 11 0123|4567|eof",
		"fault: content_length, by: -3":          "application/json 5 0123|4|eof",
		"fault: close, at_byte: 5":               "application/json 8 0123|4|close", // its reader sees what is missing
		"fault: truncate, at_byte: 5":            "application/json  0123|4|eof",    // its reader does not
		"fault: bad_utf8, at_byte: 8":            "application/json  0123|4567|\xff|eof",
	} {
		got, _ := injector(t, strings.Replace(plan, "bad_utf8", `garbage, text: "\xff"`, 1)).Apply(reply, anthropic)
		line := fmt.Sprint(got.Header.Get("Content-Type"), " ", got.Header.Get("Content-Length"), " ", show(got))
		if line != strings.Replace(want, "\xff", "ÿ", 1) {
			t.Errorf("%s\n got %q\nwant %q", plan, line, want)
		}
	}
	if reply.Header.Get("Content-Length") != "8" || reply.Header.Get("Content-Type") != "application/json" {
		t.Error("the recorded header was changed")
	}
}

// The error reply is the provider's own, with what the plan adds.
func TestStatusReply(t *testing.T) {
	got, out := injector(t,
		`fault: status, status: 429, retry_after: 2, message: slow down, headers: {X-Should-Retry: "true"}`).Apply(chunked(start), anthropic)
	kind, body := llm.ErrorBody("anthropic", 429, "slow down")
	want := http.Header{"Content-Type": {kind}, "Content-Length": {fmt.Sprint(len(body))}, "Retry-After": {"2"},
		"X-Should-Retry": {"true"}}
	if fmt.Sprint(got.Header) != fmt.Sprint(want) || string(got.Body()) != string(body) || got.Status != 429 {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body())
	}
	if out.Consumed {
		t.Error("a reply that was not sent counts as played")
	}
}

// What ends a reply early takes its trailers with it, and so does a declared
// length: HTTP/1.1 has trailers in chunked bodies only.
func TestTrailers(t *testing.T) {
	for plan, want := range map[string]bool{
		"fault: garbage, after_event: 1":        true,
		"fault: stall, for: 1s, after_event: 1": true,
		"fault: truncate, after_terminal: true": false,
		"fault: content_length, by: 1":          false,
	} {
		reply := chunked(start, text, stop)
		reply.Trailer = http.Header{"X-Sum": {"1"}}
		if got, _ := injector(t, plan).Apply(reply, anthropic); (got.Trailer != nil) != want {
			t.Errorf("%s: trailer %v", plan, got.Trailer)
		}
	}
}

// Gemini may go on after a finish: its last one is the terminal event.
func TestTerminalOfGemini(t *testing.T) {
	got, _ := injector(t, "fault: truncate, before_terminal: true").Apply(chunked(chunk2, chunk1, chunk2), gemini)
	if want := chunk2 + "|" + chunk1 + "|eof"; show(got) != want {
		t.Errorf("got %q, want %q", show(got), want)
	}
}

// A fault that leaves nothing of the reply strikes alone: below others in the
// plan, at the next request.
func TestPlanOrder(t *testing.T) {
	j := injector(t, "fault: close, after_event: 1", "fault: status, status: 503")
	for _, want := range []string{start + "|close", "503 "} {
		if got, _ := j.Apply(chunked(start, text, stop), anthropic); !strings.HasPrefix(show(got), want) {
			t.Errorf("got %q, want %q", show(got), want)
		}
	}
}

// Several faults strike one reply at the places of the recording; what lies
// behind an ending does not strike.
func TestFaultsTogether(t *testing.T) {
	j := injector(t, "fault: reset, after_event: 3", "fault: garbage, text: B, after_event: 2",
		"fault: garbage, text: A, after_event: 1", "fault: garbage, text: C, after_event: 2",
		"fault: duplicate, after_terminal: true")
	got, out := j.Apply(chunked(start+text+text+stop), anthropic)
	if want := start + "|A|" + text + "|B|C|" + text + "|reset"; show(got) != want {
		t.Errorf("got %q, want %q", show(got), want)
	}
	var lines []int
	for _, f := range out.Fired {
		lines = append(lines, f.Line)
	}
	if !slices.Equal(lines, []int{4, 3, 5, 2}) || out.Consumed {
		t.Errorf("fired %v, consumed %t", out.Fired, out.Consumed)
	}
	if idle := j.Idle(); len(idle) != 1 ||
		!strings.HasPrefix(idle[0], "f.yaml:6: duplicate after_terminal never struck") {
		t.Errorf("idle %q", idle)
	}
}

// A retry is answered: what kept the reply from arriving gives the interaction
// back and strikes once, or as often as the plan says.
// Two changes of the same bytes leave the rest alone.
func TestOverlappingFaults(t *testing.T) {
	j := injector(t, "fault: reorder, after_event: 1", "fault: reorder, after_event: 2")
	s, out := j.Apply(chunked(start, text, stop, text), anthropic)
	if got, want := show(s), text+"|"+start+"|"+stop+"|"+text+"|"+text+"|eof"; got != want || len(out.Fired) != 2 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestConsumedAndTimes(t *testing.T) {
	for plan, want := range map[string]string{
		"fault: status, status: 429":                         "-+",
		"fault: status, status: 429, times: 3":               "---+",
		"fault: status, status: 429, consume: true":          "++",
		"fault: reset, before_header: true":                  "-+",
		"fault: reset, after_event: 1":                       "-+",
		"fault: truncate, before_terminal: true":             "-+",
		"fault: stall, for: 1s, at_start: true":              "+",
		"fault: stall, for: 1s, then: close, at_start: true": "-+",
		"fault: error_event, at_start: true":                 "-+",
		"fault: error_event, at_start: true, then: continue": "+",
		"fault: garbage, at_start: true":                     "+",
		"fault: garbage, at_start: true, consume: false":     "-+",
		"fault: content_length, by: 9":                       "-+",
		"fault: status, status: 500}\n  - {fault: status, status: 503}\n  - {fault: reset, at_start: true": "---+",
	} {
		j, got := injector(t, plan), ""
		for range len(want) {
			_, out := j.Apply(chunked(start, text, stop), anthropic)
			got += map[bool]string{true: "+", false: "-"}[out.Consumed]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", plan, got, want)
		}
		if _, out := j.Apply(chunked(start), anthropic); len(out.Fired) > 0 {
			t.Errorf("%s: fired once more: %v", plan, out.Fired)
		}
	}
}

func TestSelection(t *testing.T) {
	replies := []Reply{
		{0, "anthropic", llm.Stream}, {1, "openai", llm.Stream}, {2, "anthropic", llm.Count},
		{3, "anthropic", llm.Stream}, {3, "anthropic", llm.Stream}, {4, "gemini", llm.Unary},
	}
	for choice, want := range map[string][]int{
		"times: 9":            {0, 1, 2, 3, 3, 4},
		"times: 1":            {0, 1, 2, 3, 4},
		"interaction: 3":      {3},
		"provider: anthropic": {0, 2, 3},
		"operation: stream":   {0, 1, 3},
		"provider: anthropic, operation: stream, nth: 2": {3},
		"nth: 2, times: 9":                    {1},
		"provider: gemini, operation: stream": nil,
	} {
		j := injector(t, "fault: status, status: 500, "+choice)
		var got []int
		for _, r := range replies {
			if _, out := j.Apply(chunked(start), r); len(out.Fired) > 0 {
				got = append(got, r.Interaction)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", choice, got, want)
		}
	}
}

// Chance hangs on the seed and the interaction, not on the order of requests.
func TestChance(t *testing.T) {
	plan, err := Parse("f.yaml", []byte("faults: [{fault: status, status: 500, chance: 0.3}]"))
	if err != nil {
		t.Fatal(err)
	}
	struck := func(seed uint64, backwards bool) (hit []int) {
		j := plan.Injector(seed)
		for i := range 1000 {
			if backwards {
				i = 999 - i
			}
			if _, out := j.Apply(chunked(start), Reply{Interaction: i}); len(out.Fired) > 0 {
				hit = append(hit, i)
			}
		}
		slices.Sort(hit)
		return hit
	}
	one := struck(1, false)
	if len(one) < 250 || len(one) > 350 || !slices.Equal(one, struck(1, true)) || slices.Equal(one, struck(2, false)) {
		t.Errorf("seed 1 strikes %d of 1000; the same backwards %t; as seed 2 %t", len(one),
			slices.Equal(one, struck(1, true)), slices.Equal(one, struck(2, false)))
	}
	if idle := plan.Injector(1).Idle(); idle != nil {
		t.Errorf("a fault left to chance is called idle: %v", idle)
	}
}

// A fault without a place in the reply leaves it alone, and says so in the end.
func TestNoPlace(t *testing.T) {
	for _, c := range []struct {
		plan  string
		reply Script
	}{
		{"fault: reset, after_event: 4", chunked(start, text, stop)},
		{"fault: reset, before_terminal: true", chunked(start, text)},
		{"fault: reset, at_byte: 9", chunked("12345678")},
		{"fault: reorder, after_event: 3", chunked(start, text, stop)},
		{"fault: duplicate, before_terminal: true", chunked(stop)},
		{"fault: error_event, at_start: true", jsonReply(`{}`)},
		{"fault: bad_utf8, after_event: 3", chunked(start, text, stop)},
		{"fault: content_length, by: -9", chunked("12345678")},
	} {
		j := injector(t, c.plan)
		got, out := j.Apply(c.reply, anthropic)
		if show(got) != show(c.reply) || len(out.Fired) > 0 || !out.Consumed {
			t.Errorf("%s: %q, %v", c.plan, show(got), out)
		}
		if idle := j.Idle(); len(idle) != 1 || !strings.Contains(idle[0], "and no such place") {
			t.Errorf("%s: %q", c.plan, idle)
		}
	}
	if idle := injector(t, "fault: reset, at_start: true").Idle(); len(idle) != 1 ||
		idle[0] != "f.yaml:2: reset at_start never struck: no request chose it" {
		t.Errorf("%q", idle)
	}
}

// Whatever the faults: what is sent up to the first of them is the recording.
func TestPrefixIsTheRecording(t *testing.T) {
	kinds := []string{"reset", "close", "truncate", "error_event", "garbage", "bad_utf8", "ping_flood, count: 3",
		"stall, for: 1s"}
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		s.Header = http.Header{"Content-Type": {"text/event-stream"}}
		body := s.Body()
		at := rapid.IntRange(0, len(body)).Draw(r, "at")
		kind := rapid.SampledFrom(kinds).Draw(r, "kind")
		got, out := injector(t, fmt.Sprintf("fault: %s, at_byte: %d", kind, at)).Apply(s, anthropic)
		if len(out.Fired) == 0 {
			return // a body of nothing has no framing to write an event in
		}
		if !bytes.HasPrefix(got.Body(), body[:at]) {
			r.Fatalf("%s at %d: %q of %q", kind, at, got.Body(), body)
		}
		cut := got.End != EOF || kind == "truncate" || kind == "error_event"
		if !cut && !bytes.HasSuffix(got.Body(), body[at:]) {
			r.Fatalf("%s at %d: %q lost the rest of %q", kind, at, got.Body(), body)
		}
		want := 0 * time.Second
		for offset, hold := range held(s) {
			if !cut || offset < at {
				want += hold
			}
		}
		sum := 0 * time.Second
		for _, hold := range held(got) {
			sum += hold
		}
		if kind != "stall, for: 1s" && sum < want {
			r.Fatalf("%s at %d: pauses of %v became %v", kind, at, want, sum)
		}
	})
}
