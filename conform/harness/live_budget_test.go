package harness

import (
	"math"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/specs"
)

func TestReadUsage(t *testing.T) {
	const sse, asJSON = "text/event-stream", "application/json"
	for _, tt := range []struct {
		name, kind, body string
		want             Usage
	}{
		{"anthropic stream", sse, `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}

event: message_delta
data: {"type":"message_delta","usage":{"output_tokens":40}}

`, Usage{10, 5, 3, 40}},
		{"anthropic document", asJSON, `{"usage":{"input_tokens":7,"output_tokens":2,"cache_read_input_tokens":0}}`,
			Usage{7, 0, 0, 2}},
		{"openai stream", sse, `event: response.created
data: {"type":"response.created","response":{"usage":null}}

event: response.completed
data: {"type":"response.completed","response":{"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20}}}

`, Usage{40, 60, 0, 20}},
		{"gemini stream", sse, `data: {"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":1}}

data: {"usageMetadata":{"promptTokenCount":30,"cachedContentTokenCount":10,"candidatesTokenCount":4,"thoughtsTokenCount":6,"totalTokenCount":40}}

`, Usage{20, 10, 0, 10}},
		{"gemini array", asJSON,
			`[{"usageMetadata":{"promptTokenCount":3}},{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}]`, Usage{3, 0, 0, 2}},
		{"anthropic cut in the middle", sse,
			"event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":9}}}\n\nevent: x\ndata: {\"usa",
			Usage{9, 0, 0, 0}},
	} {
		provider, _, _ := strings.Cut(tt.name, " ")
		got, ok := readUsage(provider, tt.kind, []byte(tt.body))
		if !ok || got != tt.want {
			t.Errorf("%s: %+v %t, want %+v", tt.name, got, ok, tt.want)
		}
	}
	for _, body := range []string{"", "no JSON", `{"error":{}}`, `{"usage":null}`, `{"usage":"much"}`,
		`{"message":7}`} {
		if got, ok := readUsage("openai", asJSON, []byte(body)); ok {
			t.Errorf("%q reports %+v", body, got)
		}
	}
}

// readUsage returns the tokens that a reply reports; ok is false when it reports none.
func readUsage(provider, contentType string, body []byte) (_ Usage, ok bool) {
	var c counted
	for frame := range llm.Frames(contentType, body) {
		c.addFrame(provider, frame.Data)
	}
	return c.toUsage(), c.isReported
}

func FuzzReadUsage(f *testing.F) {
	f.Add("text/event-stream", []byte("data: {\"usage\":{\"input_tokens\":9}}\n\n"))
	f.Add("application/json", []byte(`[{"usageMetadata":{"promptTokenCount":3}}]`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		u, ok := readUsage("anthropic", kind, body)
		if !ok && u != (Usage{}) {
			t.Errorf("%+v of a reply that reports nothing", u)
		}
	})
}

// The budget ends before the request that would pass it, whichever bound is first.
func TestBudget(t *testing.T) {
	prices, err := specs.ParsePrices("p.yaml",
		[]byte("currency: USD\nmodels: {gpt-5.4-mini: {input: 1, output: 10, cache_read: 0.5}}"))
	if err != nil {
		t.Fatal(err)
	}
	reply := Usage{Input: 100_000, CacheRead: 100_000, Output: 10_000} // 0.1 + 0.05 + 0.1
	for _, tt := range []struct {
		name     string
		budget   Budget
		admitted int
		want     string
	}{
		{"none", Budget{}, 9, ""},
		{"requests", Budget{Requests: 2, Tokens: 1e9}, 2, "2 requests is spent (--max-requests)"},
		{"tokens", Budget{Tokens: 420_000}, 2, "420000 tokens is spent (--max-tokens)"},
		{"one token more", Budget{Tokens: 420_001}, 3, "--max-tokens"},
		{"cost", Budget{Cost: 0.6}, 3, "0.6 USD is spent (--max-cost)"},
	} {
		a := newAccount(tt.budget, prices)
		n, reason := 0, ""
		for ; n < 9; n++ {
			if reason = a.admitRequest(); reason != "" {
				break
			}
			a.chargeReply("gpt-5.4-mini-2026-03-17", reply, true)
		}
		if n != tt.admitted || !strings.Contains(reason, tt.want) {
			t.Errorf("%s: %d admitted, %q; want %d, %q", tt.name, n, reason, tt.admitted, tt.want)
		}
		if s := a.totalSpent(); s.Requests != n || math.Abs(s.Cost-0.25*float64(n)) > 1e-9 {
			t.Errorf("%s: %+v", tt.name, s)
		}
	}
	a := newAccount(Budget{}, nil)
	a.chargeReply("m", estimateUsage(40, 80), false)
	if got := a.totalSpent().String(); got != "0 requests, 30 tokens (30 of them estimated)" {
		t.Error(got)
	}
}
