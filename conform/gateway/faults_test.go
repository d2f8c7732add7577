package gateway_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fault is a gateway that does one thing wrong.
type fault struct {
	name, wire, id string
	// cases are the scenarios that show it.
	cases string
	// request and reply change what passes; reply gets a whole body.
	request func(h http.Header, body string) string
	reply   func(r *http.Response, body string) string
	// says is a part of what one finding says.
	says string
	// timeout bounds each exchange, if it is not 0.
	timeout time.Duration
	// front, if not nil, stands before the gateway.
	front func(next http.Handler) http.Handler
}

func replace(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string { return re.ReplaceAllString(s, with) }
}

func inRequest(pattern, with string) func(http.Header, string) string {
	f := replace(pattern, with)
	return func(_ http.Header, body string) string { return f(body) }
}

func inReply(pattern, with string) func(*http.Response, string) string {
	f := replace(pattern, with)
	return func(_ *http.Response, body string) string { return f(body) }
}

func header(name, value string) func(http.Header, string) string {
	return func(h http.Header, body string) string {
		h.Del(name)
		if value != "" {
			h.Set(name, value)
		}
		return body
	}
}

var faults = []fault{
	{name: "betas stripped", wire: "anthropic", id: "GW-1", cases: "unknown-member",
		request: header("Anthropic-Beta", "")},
	{name: "version changed", wire: "anthropic", id: "GW-1", cases: "thinking-tool-loop",
		request: header("Anthropic-Version", "2023-01-01")},
	{name: "beta added", wire: "anthropic", id: "GW-4", cases: "thinking-tool-loop",
		request: header("Anthropic-Beta", "messages-2023-12-15")},
	{name: "unknown member dropped", wire: "openai", id: "GW-2", cases: "unknown-member",
		request: inRequest(`,"conform_probe":\{[^}]*\}`, "")},
	{name: "unknown member refused", wire: "anthropic", id: "GW-33", cases: "unknown-member",
		front: refuse("conform_probe", 400)},
	{name: "system flattened", wire: "anthropic", id: "GW-7", cases: "system-blocks",
		request: inRequest(`"system":\[.*\]`, `"system":"You are"`)},
	{name: "system lost", wire: "gemini", id: "GW-7", cases: "thinking-tool-loop",
		request: inRequest(`"systemInstruction":\{.*?\]\},`, ``)},
	{name: "signed empty thinking dropped", wire: "anthropic", id: "GW-9", cases: "redacted-and-shown",
		request: inRequest(`\{"type":"redacted_thinking"[^}]*\},`, "")},
	{name: "signature cut upstream", wire: "anthropic", id: "GW-10", cases: "thinking-tool-loop",
		request: inRequest(`("signature":"[^"]{20})[^"]*"`, `$1"`)},
	{name: "encrypted content lost upstream", wire: "openai", id: "GW-10", cases: "thinking-tool-loop",
		request: inRequest(`"encrypted_content":"[^"]*",?`, "")},
	{name: "thought signature lost to the client", wire: "gemini", id: "GW-10", cases: "thinking-tool-loop",
		reply: inReply(`,?\s*"thoughtSignature":\s*"[^"]*"`, "")},
	{name: "signature lost to the client", wire: "anthropic", id: "GW-10", cases: "thinking-tool-loop",
		reply: inReply(`event: content_block_delta\ndata: [^\n]*signature_delta[^\n]*\n\n`, "")},
	{name: "ids mapped one way", wire: "anthropic", id: "GW-13", cases: "thinking-tool-loop",
		reply: inReply(`toolu_`, "call_")},
	{name: "ids of two calls exchanged", wire: "anthropic", id: "GW-13", cases: "parallel-calls",
		says:    "exchanged for that of another call",
		request: inRequest(`("tool_use_id":")([^"]+)(".*?"tool_use_id":")([^"]+)`, `$1$4$3$2`)},
	{name: "own words for errors", wire: "anthropic", id: "GW-14", cases: "rate-limit-seconds",
		reply: func(r *http.Response, body string) string {
			if r.StatusCode >= 400 {
				return `{"type":"error","error":{"type":"api_error","message":"all providers failed"}}`
			}
			return body
		}},
	{name: "envelope lost", wire: "anthropic", id: "GW-14", cases: "overloaded",
		reply: inReply(`^\{"type":"error",`, "{")},
	{name: "status changed", wire: "openai", id: "GW-14", cases: "rate-limit-seconds",
		reply: func(r *http.Response, body string) string {
			if r.StatusCode == 429 {
				r.StatusCode = 500
			}
			return body
		}},
	{name: "retry-after lost", wire: "openai", id: "GW-15", cases: "rate-limit-seconds",
		reply: func(r *http.Response, body string) string { r.Header.Del("Retry-After"); return body }},
	{name: "failure becomes end_turn", wire: "anthropic", id: "GW-16", cases: "error-mid-stream",
		reply: inReply(`event: error\ndata: [^\n]*\n\n`,
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")},
	{name: "type of a failure changed in the stream", wire: "anthropic", id: "GW-14", cases: "error-mid-stream",
		reply: inReply(`"overloaded_error"`, `"api_error"`)},
	{name: "words of a failure lost in the stream", wire: "openai", id: "GW-14", cases: "error-mid-stream",
		reply: inReply(`"message":\s*"The [^"]*"`, `"message":"upstream error"`)},
	{name: "words of a failure of Gemini lost in the stream", wire: "gemini", id: "GW-14", cases: "error-mid-stream",
		reply: inReply(`"message":\s*"The [^"]*"`, `"message":"upstream error"`)},
	{name: "words of a failure of Chat Completions lost in the stream", wire: "chat", id: "GW-14",
		cases: "error-mid-stream", reply: inReply(`"message":\s*"The [^"]*"`, `"message":"upstream error"`)},
	{name: "a cut becomes a clean end", wire: "anthropic", id: "GW-28", cases: "cut-in-call",
		reply: func(_ *http.Response, body string) string { return body }},
	{name: "a cut leaves the client waiting", wire: "gemini", id: "GW-28", cases: "cut-stream", front: waitAfterCut,
		timeout: 5 * time.Second, says: "still waited"},
	{name: "a cut of Chat Completions becomes a clean end", wire: "chat", id: "GW-28", cases: "cut-stream",
		reply: func(_ *http.Response, body string) string { return body }},
	{name: "completion made up", wire: "openai", id: "GW-28", cases: "cut-stream",
		reply: func(r *http.Response, body string) string {
			if strings.Contains(body, "response.created") && !strings.Contains(body, "response.completed") {
				body += "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"model\":\"gpt-5.2\",\"output\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1,\"total_tokens\":2}}}\n\n"
			}
			return body
		}},
	{name: "held back", wire: "gemini", id: "GW-17", cases: "slow-stream", reply: inReply(`^`, "")},
	{name: "characters broken", wire: "anthropic", id: "GW-18", cases: "exact-arguments",
		reply: inReply(`é`, "\uFFFD")},
	{name: "client's key goes upstream", wire: "anthropic", id: "GW-19", cases: "thinking-tool-loop",
		request: header("Authorization", "Bearer test-client-key")},
	{name: "upstream's key comes back", wire: "gemini", id: "GW-19", cases: "thinking-tool-loop",
		reply: func(r *http.Response, body string) string {
			r.Header.Set("X-Debug", "key=test-upstream-key")
			return body
		}},
	{name: "another model", wire: "openai", id: "GW-21", cases: "thinking-tool-loop",
		reply: inReply(`"model":"gpt-5.2[^"]*"`, `"model":"gpt-4o"`)},
	{name: "another model under the asked name", wire: "anthropic", id: "GW-21", cases: "thinking-tool-loop",
		request: inRequest(`"model":"claude-opus-4-5"`, `"model":"claude-haiku-4-5"`),
		reply:   inReply(`"model":\s*"claude-haiku-4-5[^"]*"`, `"model":"claude-opus-4-5"`)},
	{name: "model unknown", wire: "anthropic", id: "GW-23", cases: "thinking-tool-loop",
		reply: inReply(`"model":\s*"claude[^"]*"`, `"model":"unknown"`)},
	{name: "usage zero", wire: "anthropic", id: "GW-24", cases: "thinking-tool-loop",
		reply: inReply(`"input_tokens":\s*[0-9]+`, `"input_tokens":0`)},
	{name: "cached tokens dropped", wire: "chat", id: "GW-24", cases: "cached-prompt", says: "from its cache",
		reply: inReply(`"cached_tokens":[0-9]+`, `"cached_tokens":0`)},
	{name: "cached tokens counted twice", wire: "anthropic", id: "GW-24", cases: "cached-prompt", says: "from the cache)",
		reply: inReply(`"input_tokens":\s*[0-9]+,\s*("cache_creation_input_tokens":\s*[0-9]+,\s*"cache_read_input_tokens":)\s*([0-9]+)`,
			`"input_tokens":$2,$1$2`)},
	{name: "names of MCP tools renamed", wire: "anthropic", id: "GW-26", cases: "mcp-error", says: "was changed on its way",
		request: inRequest(`__conform_`, `_conform_`)},
	{name: "long names cut", wire: "chat", id: "GW-26", cases: "mcp-error", says: "was changed on its way",
		request: inRequest(`mcp__plugin_conformance-tools_`, ``)},
	{name: "names of called MCP tools cut", wire: "gemini", id: "GW-26", cases: "mcp-error", says: "and the client reads",
		reply: inReply(`mcp__plugin[a-z_-]*__conform_`, `conform_`)},
	{name: "counts tokens itself", wire: "anthropic", id: "GW-25", cases: "count-tokens",
		front: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/count_tokens") {
					_, _ = io.WriteString(w, `{"input_tokens":3}`)
					return
				}
				next.ServeHTTP(w, r)
			})
		}},
	{name: "count fails", wire: "anthropic", id: "GW-25", cases: "count-tokens",
		reply: func(r *http.Response, body string) string {
			if strings.HasSuffix(r.Request.URL.Path, "/count_tokens") {
				r.StatusCode = 500
			}
			return body
		}},
	{name: "stream became a document", wire: "anthropic", id: "GW-29", cases: "thinking-tool-loop",
		request: inRequest(`"stream":true`, `"stream":false`)},
	{name: "tool_choice lost", wire: "anthropic", id: "GW-2", cases: "tool-choice",
		request: inRequest(`,?"tool_choice":\{[^}]*\}`, "")},
	{name: "text beside a result lost", wire: "anthropic", id: "GW-9", cases: "text-beside-result",
		request: inRequest(`,\{"type":"text","text":"Now answer in one word."\}`, "")},
	{name: "stop texts lost", wire: "anthropic", id: "GW-39", cases: "sampling",
		request: inRequest(`"stop_sequences":\[[^]]*\],?`, "")},
	{name: "length limit raised", wire: "openai", id: "GW-39", cases: "sampling",
		request: inRequest(`"max_output_tokens":512`, `"max_output_tokens":4096`)},
	{name: "settings dropped", wire: "gemini", id: "GW-39", cases: "sampling",
		request: inRequest(`,?"generationConfig":\{[^}]*\}`, "")},
	{name: "seed of Chat Completions dropped", wire: "chat", id: "GW-39", cases: "sampling",
		request: inRequest(`"seed":7,?`, "")},
	{name: "pings dropped", wire: "anthropic", id: "GW-17", cases: "thinking-tool-loop",
		reply: inReply(`event: ping\ndata: [^\n]*\n\n`, "")},
	{name: "gzip is said of what is not packed", wire: "anthropic", id: "SV-H17", cases: "thinking-tool-loop",
		reply: func(r *http.Response, body string) string {
			r.Header.Set("Content-Encoding", "gzip")
			return body
		}},
	{name: "tool dropped", wire: "openai", id: "GW-26", cases: "thinking-tool-loop",
		request: inRequest(`"tools":\[\{[^}]*"conform_echo".*?"strict":false\},`, `"tools":[`)},
	{name: "packed bytes go upstream without their header", wire: "openai", id: "GW-27", cases: "compressed-request",
		request: header("Content-Encoding", "")},
	{name: "arguments rewritten", wire: "gemini", id: "GW-29", cases: "exact-arguments",
		reply: inReply(`12345678901234567890`, "12345678901234567000")},
	{name: "call lost", wire: "openai", id: "GW-30", cases: "thinking-tool-loop",
		reply: inReply(`"type":"function_call"`, `"type":"unknown_call"`)},
	{name: "unknown member of Chat Completions dropped", wire: "chat", id: "GW-2", cases: "unknown-member",
		request: inRequest(`,"conform_probe":\{[^}]*\}`, "")},
	{name: "system message lost", wire: "chat", id: "GW-9", cases: "thinking-tool-loop",
		request: inRequest(`\{"role":"system",[^}]*\},`, "")},
	{name: "reasoning_content dropped", wire: "chat", id: "GW-9", cases: "thinking-tool-loop",
		request: inRequest(`"reasoning_content":"[^"]*",?`, "")},
	{name: "reasoning_content lost to the client", wire: "chat", id: "GW-29", cases: "thinking-tool-loop",
		reply: inReply(`"reasoning_content":"[^"]*"`, `"content":""`)},
	{name: "ids of Chat Completions mapped one way", wire: "chat", id: "GW-13", cases: "thinking-tool-loop",
		reply: inReply(`"id":"call_`, `"id":"tool_`)},
	{name: "failure becomes stop", wire: "chat", id: "GW-16", cases: "error-mid-stream",
		reply: inReply(`data: \{"error"[^\n]*\n\n`,
			"data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")},
	{name: "[DONE] made up", wire: "chat", id: "GW-28", cases: "cut-stream",
		reply: func(_ *http.Response, body string) string {
			if strings.HasPrefix(body, "data:") && !strings.Contains(body, "[DONE]") {
				body += "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
			}
			return body
		}},
	{name: "Chat Completions held back", wire: "chat", id: "GW-17", cases: "slow-stream", reply: inReply(`^`, "")},
	{name: "characters of Chat Completions broken", wire: "chat", id: "SV-H7", cases: "awkward-arguments",
		reply: inReply(`ö|ß|é|ü|ñ|鳥`, "\uFFFD")},
	{name: "usage of Chat Completions zero", wire: "chat", id: "GW-24", cases: "thinking-tool-loop",
		reply: inReply(`"prompt_tokens":[0-9]+`, `"prompt_tokens":0`)},
	{name: "tool of Chat Completions dropped", wire: "chat", id: "GW-26", cases: "thinking-tool-loop",
		request: inRequest(`"tools":\[\{"type":"function","function":\{"name":"conform_echo".*?\}\},\{"type"`,
			`"tools":[{"type"`)},
	{name: "arguments of Chat Completions rewritten", wire: "chat", id: "GW-29", cases: "exact-arguments",
		reply: inReply(`(\d{4}),?(\d{3,})`, "$1")},
	{name: "call of Chat Completions lost", wire: "chat", id: "GW-30", cases: "thinking-tool-loop",
		reply: inReply(`"tool_calls":\[`, `"calls":[`)},
	{name: "answered without asking", wire: "anthropic", id: "GW-29", cases: "thinking-tool-loop",
		front: refuse("careful test subject", 403)},
	{name: "asked twice", wire: "anthropic", id: "GW-20", cases: "cut-stream", front: nil, reply: nil},
}

// refuse answers requests that hold a text itself.
func refuse(text string, status int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(text)) {
				http.Error(w, "not allowed", status)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})
	}
}

// asksTwice asks again after a stream that broke off, and sends the second answer behind the first.
type asksTwice struct{ upstream *url.URL }

func (g asksTwice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for range 2 {
		again, _ := http.NewRequestWithContext(r.Context(), r.Method, g.upstream.String()+r.URL.Path,
			bytes.NewReader(body))
		again.Header = r.Header.Clone()
		again.Header.Set("X-Api-Key", "test-upstream-key")
		resp, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		_, err = io.Copy(w, resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			return
		}
	}
}

func (f fault) gateway(upstream *url.URL) http.Handler {
	if f.name == "asked twice" {
		return asksTwice{upstream}
	}
	p := faithful(upstream)
	p.ErrorLog = log.New(io.Discard, "", 0)
	rewrite := p.Rewrite
	p.Rewrite = func(r *httputil.ProxyRequest) {
		rewrite(r)
		if f.request != nil {
			body, _ := io.ReadAll(r.Out.Body)
			changed := f.request(r.Out.Header, string(body))
			r.Out.Body, r.Out.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
			r.Out.Header.Set("Content-Length", strconv.Itoa(len(changed)))
		}
	}
	if f.reply != nil {
		p.ModifyResponse = func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			changed := f.reply(r, string(body))
			r.Header.Del("Content-Length")
			r.ContentLength = -1
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(changed), failing{err}))
			if f.id == "GW-28" {
				r.Body = io.NopCloser(strings.NewReader(changed))
			}
			return nil
		}
	}
	if f.front != nil {
		return f.front(p)
	}
	return p
}

// waitAfterCut keeps the client's stream open when the upstream's reply breaks off.
func waitAfterCut(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil { // how a reverse proxy ends a reply that it cannot go on with
				<-r.Context().Done()
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// failing ends a body as the upstream's ended.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// TestSeededFaults holds that each fault is a failure or a warning under its id, while the gateway
// without the fault is silent in the same cases (TestFaithfulGateway).
func TestSeededFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			out := judged(t, f.wire, func(name string) bool { return strings.HasPrefix(name, f.cases+"/"+f.wire) },
				f.timeout, f.gateway)
			var got []string
			isSaid := f.says == ""
			for _, c := range out.Cases {
				for _, r := range c.Results() {
					for _, found := range r.Findings {
						isSaid = isSaid || strings.Contains(found.Message, f.says)
						if !slices.Contains(got, found.Check) {
							got = append(got, found.Check)
						}
					}
				}
			}
			if !slices.Contains(got, f.id) || !isSaid {
				t.Errorf("%s is not found, or not said as %q; found are %v", f.id, f.says, got)
			}
		})
	}
}
