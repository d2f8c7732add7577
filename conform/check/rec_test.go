package check_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestRefusedPromptMayGo: what an agent takes back of a conversation that the provider has
// refused is no lost history, as long as the provider has answered nothing.
func TestRefusedPromptMayGo(t *testing.T) {
	ask := func(prompt string) string {
		return `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"` + prompt + `"}]}`
	}
	const tooLong = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
	const answer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","stop_reason":"end_turn","content":[{"type":"text","text":"A heron."}]}`
	for _, c := range []struct {
		status   int
		reply    string
		findings int
	}{{400, tooLong, 0}, {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 1},
		{200, answer, 1}} {
		ev := evidence.FromExample(specs.Requirement{}, specs.Example{
			Provider: evidence.Anthropic, Processes: []specs.ExampleProcess{{}, {Resumed: true}},
			Exchanges: []specs.ExampleExchange{{Request: ask("A book."), Status: c.status, Reply: c.reply},
				{Process: 1, Request: ask("Name a bird."), Reply: answer}},
		})
		if res := find(t, "RES-001/prefix").Run(check.Decode(&ev)); len(res.Findings) != c.findings {
			t.Errorf("after status %d: %+v", c.status, res.Findings)
		}
	}
}

// TestGeminiQuota: Gemini has the same words for a rate and for a spent quota. The request
// may come back unless a quota of the day is named.
func TestGeminiQuota(t *testing.T) {
	for details, findings := range map[string]int{
		`[]`: 0,
		`[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]`:                                                                0,
		`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]}]`:       0,
		`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]`: 1,
	} {
		refused := specs.ExampleExchange{
			Request: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`, Status: 429,
			Reply: `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan.","status":"RESOURCE_EXHAUSTED","details":` + details + `}}`,
		}
		ev := evidence.FromExample(specs.Requirement{}, specs.Example{Provider: evidence.Gemini,
			Processes: []specs.ExampleProcess{{}}, Exchanges: []specs.ExampleExchange{refused, refused}})
		if res := find(t, "REC-002/not-again").Run(check.Decode(&ev)); len(res.Findings) != findings {
			t.Errorf("%s: %d findings, want %d: %+v", details, len(res.Findings), findings, res.Findings)
		}
	}
}

// TestCallsOfTwoTests: one recording may hold the calls of several tests, two of which begin
// with the same request. A third one, a retry by its header, one in the middle of a
// conversation, or one of a known process is a repetition.
func TestCallsOfTwoTests(t *testing.T) {
	const first = `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Name a bird."}]}`
	const later = `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hi!"},{"role":"user","content":"Name a bird."}]}`
	const cut = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"A"}],"stop_reason":"max_tokens"}`
	declined := strings.Replace(cut, "max_tokens", "refusal", 1)
	const unknown = `{"type":"error","error":{"type":"not_found_error","message":"model: claude-opus-4-66"}}`
	for _, c := range []struct {
		name, body string
		calls      int
		header     [2]string // its value, followed by the number of the call
		process    int
		found      bool
	}{
		{"two", first, 2, [2]string{}, -1, false},
		{"three", first, 3, [2]string{}, -1, true},
		{"three of three programs", first, 3, [2]string{"User-Agent", "test/"}, -1, false},
		{"three of three traces", first, 3, [2]string{"Traceparent", "00-0af7651916cd43dd8448eb211c80319"}, -1, false},
		{"three of one trace", first, 3,
			[2]string{"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333"}, -1, true},
		{"two, a retry", first, 2, [2]string{"X-Stainless-Retry-Count", ""}, -1, true},
		{"two in the middle", later, 2, [2]string{}, -1, true},
		{"two of one process", first, 2, [2]string{}, 0, true},
		{"two of one process and two traces", first, 2,
			[2]string{"Traceparent", "00-0af7651916cd43dd8448eb211c80319"}, 0, true},
	} {
		for id, reply := range map[string]string{"BUD-002/same-bytes": cut, "ERR-005/not-repeated": declined,
			"REC-002/not-again": unknown} {
			list := []evidence.Exchange{}
			for i := range c.calls {
				x := asked(i, "anthropic", c.body, map[string]int{cut: 200, declined: 200, unknown: 404}[reply], reply)
				x.Process = c.process
				if c.header[0] != "" {
					x.Request.Header.Set(c.header[0], c.header[1]+strconv.Itoa(i))
				}
				list = append(list, x)
			}
			if res := find(t, id).Run(recording(list...)); len(res.Findings) > 0 != c.found || res.Observed == 0 {
				t.Errorf("%s: %s: %+v", c.name, id, res)
			}
		}
	}
}

// TestPromptsInOneMessage: some agents put a prompt that was refused and the next one into
// one message. It is the same conversation, and it is too long again.
func TestPromptsInOneMessage(t *testing.T) {
	const tooLong = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
	ask := func(texts ...string) specs.ExampleExchange {
		parts := `{"type":"text","text":"Today is Monday."}`
		for _, text := range texts {
			parts += `,{"type":"text","text":"` + text + `"}`
		}
		return specs.ExampleExchange{Request: `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[` + parts + `]}]}`, Status: 400, Reply: tooLong}
	}
	for name, c := range map[string]struct {
		later    specs.ExampleExchange
		findings int
	}{"the refused prompt stays": {ask("A book.", "Name a bird."), 1},
		"it is left out": {ask("Another book, and a longer one."), 0}} {
		ev := evidence.FromExample(specs.Requirement{},
			specs.Example{Provider: evidence.Anthropic, Exchanges: []specs.ExampleExchange{ask("A book."), c.later}})
		if res := find(t, "REC-003/shorter").Run(check.Decode(&ev)); len(res.Findings) != c.findings {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}

// TestWaitsByClock: where a recording says when requests began, that decides whether a retry waited. The dates of answers hold
// the time of the model's work, and whole seconds. What was sent before the refusal came is no retry.
func TestWaitsByClock(t *testing.T) {
	const refused = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	begin := time.Date(2026, 11, 20, 10, 0, 0, 5e6, time.UTC)
	for name, c := range map[string]struct {
		took, next time.Duration
		dates      [2]int // seconds of the two answers, none if equal to -1
		observed   int
		isFound    bool
		after      string
	}{
		"too early":                    {200 * time.Millisecond, 2300 * time.Millisecond, [2]int{-1, -1}, 1, true, ""},
		"too early, and a slow answer": {200 * time.Millisecond, 2 * time.Second, [2]int{0, 40}, 1, true, ""},
		"waited": {200 * time.Millisecond, 30300 * time.Millisecond,
			[2]int{-1, -1}, 1, false, ""},
		"waited, by another clock not":     {200 * time.Millisecond, 31 * time.Second, [2]int{0, 1}, 1, false, ""},
		"beside it":                        {800 * time.Millisecond, 400 * time.Millisecond, [2]int{1, 1}, 0, false, ""},
		"before it":                        {200 * time.Millisecond, -5 * time.Second, [2]int{5, 6}, 0, false, ""},
		"one time for all, dates too soon": {200 * time.Millisecond, 0, [2]int{0, 2}, 1, true, ""},
		"one time for all, dates waited":   {200 * time.Millisecond, 0, [2]int{0, 30}, 1, false, ""},
		"nothing known":                    {0, 0, [2]int{-1, -1}, 0, false, ""},
		"before a date": {200 * time.Millisecond, 2 * time.Second,
			[2]int{0, 2}, 1, true, "Fri, 20 Nov 2026 10:00:30 GMT"},
		"at a date of a whole second": {200 * time.Millisecond, time.Second,
			[2]int{0, 1}, 1, false, "Fri, 20 Nov 2026 10:00:01 GMT"},
		"a date that the client's clock has passed": {200 * time.Millisecond, 500 * time.Millisecond,
			[2]int{-60, -60}, 1, false, "Fri, 20 Nov 2026 09:59:30 GMT"},
	} {
		first, again := asked(0, "anthropic", minimal["anthropic"], 529, refused),
			asked(1, "anthropic", minimal["anthropic"], 529, refused)
		first.Response.Header.Set("Retry-After", cmp.Or(c.after, "30"))
		for i, x := range []*evidence.Exchange{&first, &again} {
			if c.dates[i] != -1 {
				x.Response.Header.Set("Date",
					begin.Add(time.Duration(c.dates[i])*time.Second).Format("Mon, 02 Jan 2006 15:04:05 GMT"))
			}
		}
		first.Started, again.Started, first.Took = begin, begin.Add(c.next), c.took
		if res := find(t, "REC-001/waits").Run(recording(first, again)); res.Observed != c.observed ||
			len(res.Findings) > 0 != c.isFound {
			t.Errorf("%s: %+v", name, res)
		}
	}
}
