package check_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// TestConcurrent puts all samples into one recording, one exchange of each in
// turn, as a proxy in front of several agents sees them. Nobody is accused of
// another's history.
func TestConcurrent(t *testing.T) {
	byName := samples(t)
	merged := evidence.Evidence{Source: evidence.SourceRecording, Case: "merged"}
	for n := range 8 {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			if n < len(byName[name].Exchanges) {
				x := byName[name].Exchanges[n]
				x.Index, x.Process = len(merged.Exchanges), -1
				merged.Exchanges = append(merged.Exchanges, x)
			}
		}
	}
	for _, res := range report.Judge(catalogue(t), &merged) {
		if len(res.Findings) > 0 {
			t.Errorf("%s: %s", res.Check, res.Findings[0].Message)
		}
	}
	if n := len(check.Decode(&merged).Replays()); n < 15 {
		t.Errorf("only %d replays found", n)
	}
}

// TestSameConversationTwice: two runs of one test, with the same prompts and
// answers, recorded one after the other, only the second going on.
func TestSameConversationTwice(t *testing.T) {
	once := samples(t)["gemini-loop"]
	twice := evidence.Evidence{Source: evidence.SourceRecording, Case: "twice"}
	for _, ev := range []evidence.Evidence{{Exchanges: once.Exchanges[:2]}, once} {
		for _, x := range ev.Exchanges {
			x.Index, x.Process = len(twice.Exchanges), -1
			twice.Exchanges = append(twice.Exchanges, x)
		}
	}
	for _, res := range report.Judge(catalogue(t), &twice) {
		if len(res.Findings) > 0 {
			t.Errorf("%s: %s", res.Check, res.Findings[0].Message)
		}
	}
	if got := fmt.Sprint(check.Decode(&twice).Replays()); got != "[[0 1] [0 3] [2 4] [1 4] [2 5] [1 5] [4 5]]" &&
		got != "[[0 1] [2 3] [2 4] [3 4] [2 5] [3 5] [4 5]]" {
		t.Errorf("replays %s", got)
	}
}

// TestRewrittenHistory: a reply is found by its place where nothing of it is left
// as it was, whoever recorded the conversation.
func TestRewrittenHistory(t *testing.T) {
	ev := samples(t)["anthropic-loop"]
	x := &ev.Exchanges[4]
	body := string(x.Request.Body)
	from := strings.Index(body, `[{"type":"thinking","thinking":"Done."`)
	to := strings.Index(body, `,{"role":"user","content":[{"type":"text","text":"Thank you."`)
	x.Request.Body = []byte(body[:from] + `"Summary: it worked."}` + body[to:])
	for _, source := range []evidence.Source{evidence.SourceLive, evidence.SourceRecording} {
		ev.Source = source
		res := find(t, "ORD-013/text-unchanged").Run(check.Decode(&ev))
		if len(res.Findings) != 1 || !strings.Contains(res.Findings[0].Message, "reply of exchange 3") {
			t.Errorf("%s: %+v", source, res.Findings)
		}
	}
}

// TestLongSession: with the same answer to every question, each reply is still
// found in each later request, and nobody is accused.
func TestLongSession(t *testing.T) {
	const turns = 100
	ev := longSession(turns)
	for _, res := range report.Judge(catalogue(t), &ev) {
		if res.Verdict == report.Fail || res.Verdict == report.HarnessError {
			t.Fatalf("%s: %+v %s", res.Check, res.Findings[:min(1, len(res.Findings))], res.Reason)
		}
	}
	if got := len(check.Decode(&ev).Replays()); got != turns*(turns-1)/2 {
		t.Errorf("%d replays", got)
	}
}

func longSession(turns int) evidence.Evidence {
	ev := evidence.Evidence{Source: evidence.SourceLive, Case: "long", Process: []evidence.Process{{}}}
	var messages []string
	for i := range turns {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"Question %d"}]}`, i))
		x := evidence.Exchange{Index: i, Provider: evidence.Anthropic}
		x.Request = evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Body: []byte(`{"model":"claude-opus-4-6","max_tokens":9,"system":"s","thinking":{"type":"adaptive"},"messages":[` + strings.Join(messages, ",") + `]}`)}
		block := fmt.Sprintf(`[{"type":"thinking","thinking":"Hm.","signature":"c2lnbmF0dXJlLW5v%04d"},{"type":"text","text":"ok"}]`, i)
		x.Response = evidence.Response{Status: 200,
			Body: []byte(`{"type":"message","role":"assistant","content":` + block + `,"stop_reason":"end_turn"}`)}
		ev.Exchanges = append(ev.Exchanges, x)
		messages = append(messages, `{"role":"assistant","content":`+block+`}`)
	}
	return ev
}

// TestManyExchanges: a recording of many small conversations costs by its bytes, not
// by pairs of exchanges, and equal prompts do not slow it down.
func TestManyExchanges(t *testing.T) {
	if testing.Short() {
		t.Skip("links 20,000 exchanges")
	}
	ev := manyConversations(10000)
	trace := check.Decode(&ev)
	if got := len(trace.Replays()); got != 10000 {
		t.Errorf("%d replays", got)
	}
}

// A reply of four times as many deltas takes four times the memory, and so the time: what deltas
// bring is joined once.
func TestManyDeltas(t *testing.T) {
	for url, frames := range map[string][3]string{
		"https://api.anthropic.com/v1/messages": {
			`{"type":"message_start","message":{"type":"message","content":[]}}` + "\n\n" +
				`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a word "}}`,
			`{"type":"message_stop"}`,
		},
		"https://api.openai.com/v1/responses": {
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"a word "}`,
			`{"type":"response.completed","response":{"output":[]}}`,
		},
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse": {
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"I "}]}}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"a word "}]}}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}]}`,
		},
		"https://api.deepseek.com/chat/completions": {
			`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}`,
			`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a word "}}]}`,
			`[DONE]`,
		},
	} {
		allocate := func(deltas int) uint64 {
			frame := func(data string) string { return "data: " + data + "\n\n" }
			body := frame(frames[0]) + strings.Repeat(frame(frames[1]), deltas) + frame(frames[2])
			x := evidence.Exchange{Process: -1}
			x.Request = evidence.Request{Method: "POST", URL: url, Body: []byte(`{"stream":true}`)}
			x.Response = evidence.Response{Status: 200, Body: []byte(body)}
			if x.Provider, _ = evidence.Provider(x.Request); x.Provider == "" {
				t.Fatal(url, "is of no provider")
			}
			x.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
			ev := evidence.Evidence{Source: evidence.SourceRecording, Case: "deltas", Exchanges: []evidence.Exchange{x}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			check.Decode(&ev)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if few, many := allocate(4000), allocate(16000); many > 6*few {
			t.Errorf("%s: %d bytes for 4,000 deltas, %d for 16,000", url, few, many)
		}
	}
}

// manyConversations returns n conversations of two exchanges that all begin with the
// same words.
func manyConversations(n int) evidence.Evidence {
	ev := evidence.Evidence{Source: evidence.SourceRecording, Case: "many"}
	add := func(messages, reply string) {
		x := evidence.Exchange{Index: len(ev.Exchanges), Process: -1, Provider: evidence.Anthropic}
		x.Request = evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Body: []byte(`{"model":"claude-opus-4-6","messages":[` + messages + `]}`)}
		x.Response = evidence.Response{Status: 200,
			Body: []byte(`{"type":"message","role":"assistant","content":[` + reply + `],"stop_reason":"end_turn"}`)}
		ev.Exchanges = append(ev.Exchanges, x)
	}
	for i := range n {
		prompt := `{"role":"user","content":"Run the tests."}`
		call := fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"test","input":{}}`, i)
		add(prompt, call)
		add(prompt+`,{"role":"assistant","content":[`+
			call+fmt.Sprintf(`]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"ok"}]}`, i), `{"type":"text","text":"ok"}`)
	}
	return ev
}

// BenchmarkDecode decodes and links: a session of 200 exchanges that grows to 30 MB,
// and 100,000 small exchanges.
func BenchmarkDecode(b *testing.B) {
	for name, ev := range map[string]evidence.Evidence{"session": longSession(200), "small": manyConversations(50000)} {
		if name == "session" {
			padding := []byte(strings.Repeat("All work and no play. ", 60))
			for i := range ev.Exchanges {
				ev.Exchanges[i].Request.Body = bytes.ReplaceAll(ev.Exchanges[i].Request.Body,
					[]byte("Question"), padding)
			}
		}
		size := 0
		for i := range ev.Exchanges {
			size += len(ev.Exchanges[i].Request.Body) + len(ev.Exchanges[i].Response.Body)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				check.Decode(&ev)
			}
		})
	}
}

// TestGarbage: no bytes make a check panic or change its input.
func TestGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, ev := range samples(t) {
		for range 60 {
			bad := evidence.Evidence{Source: ev.Source, Case: name, Exchanges: slices.Clone(ev.Exchanges),
				Process: slices.Clone(ev.Process)}
			for i := range bad.Exchanges {
				bad.Exchanges[i].Request.Body = scramble(rng, bad.Exchanges[i].Request.Body)
				bad.Exchanges[i].Response.Body = scramble(rng, bad.Exchanges[i].Response.Body)
			}
			before := fmt.Sprintf("%v", bad)
			trace := check.Decode(&bad)
			for _, c := range check.All() {
				c.Run(trace)
			}
			if fmt.Sprintf("%v", bad) != before {
				t.Fatal("a check changed its evidence")
			}
		}
	}
}

// scramble cuts, doubles or overwrites a piece of the body.
func scramble(rng *rand.Rand, body []byte) []byte {
	if len(body) < 2 {
		return body
	}
	a, b := rng.IntN(len(body)), rng.IntN(len(body))
	a, b = min(a, b), max(a, b)
	switch rng.IntN(4) {
	case 0:
		return slices.Clone(body[:a])
	case 1:
		return slices.Concat(body[:a], body[b:])
	case 2:
		return slices.Concat(body[:b], body[a:])
	}
	out := slices.Clone(body)
	for range 3 {
		out[rng.IntN(len(out))] = `{}[]":,0\`[rng.IntN(9)]
	}
	return out
}

// TestCutAnywhere: a stream that is marked as cut may end at any byte. Only the
// agent can do wrong then.
func TestCutAnywhere(t *testing.T) {
	framing, terminal := find(t, "STR-001/framing"), find(t, "STR-002/terminal")
	for _, name := range []string{"anthropic-loop", "openai-loop", "gemini-loop"} {
		ev := samples(t)[name]
		whole := ev.Exchanges[0].Response.Body
		for n := len(whole) / 2; n < len(whole)-2; n += 7 {
			ev.Exchanges[0].Response.Body, ev.Exchanges[0].Response.End = whole[:n:n], "reset"
			trace := check.Decode(&ev)
			for _, c := range []check.Check{framing, terminal} {
				if res := c.Run(trace); len(res.Findings) > 0 {
					t.Fatalf("%s cut at byte %d: %s: %s", name, n, c.ID, res.Findings[0].Message)
				}
			}
		}
		ev.Exchanges[0].Response.End = "eof"
		if res := terminal.Run(check.Decode(&ev)); len(res.Findings) == 0 {
			t.Errorf("%s: a cut that is not marked passes", name)
		}
	}
}
