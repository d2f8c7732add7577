package questions_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/questions"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires"
	_ "github.com/meerkat-go/conformance/wires/all"
)

var models = map[string]string{"anthropic": "claude-opus-4-5", "openai": "gpt-5.2", "gemini": "gemini-3-flash-preview",
	"chat": "gpt-4.1"}

func judged(t *testing.T, wire string, only func(string) bool,
	change func(http.Handler) http.Handler) (findings map[string][]string, seen []string) {
	t.Helper()
	wire, model, _ := strings.Cut(wire, " ")
	handler := http.Handler(simulator.New(simulator.Config{Seed: "1"}))
	if change != nil {
		handler = change(handler)
	}
	front := httptest.NewServer(handler)
	defer front.Close()
	out, err := questions.Judge(t.Context(), questions.Config{
		Wire: wires.Find(wire), Base: front.URL + "/" + wire, Model: cmp.Or(model, models[wire]),
		Key: "test-key-of-a-server", Transport: client.NewTransport(),
		Only: only, Timeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	findings = map[string][]string{}
	for _, c := range out.Cases {
		for _, r := range c.Results() {
			if !slices.Contains(seen, r.Check) {
				seen = append(seen, r.Check)
			}
			for _, f := range r.Findings {
				findings[r.Check] = append(findings[r.Check], c.Name+": "+f.Message)
			}
		}
	}
	return findings, seen
}

// TestSimulatorKeepsItsDuties holds that the strict simulator has no finding, and that every duty that a
// question or a reply rule can show is seen.
func TestSimulatorKeepsItsDuties(t *testing.T) {
	for _, wire := range append(slices.Sorted(maps.Keys(models)), "anthropic claude-opus-4-8", "chat deepseek-v4-pro",
		"chat kimi-k2-thinking", "chat gemini-3-flash-preview") {
		findings, seen := judged(t, wire, nil, nil)
		for id, list := range findings {
			t.Errorf("%s %s: %s", wire, id, strings.Join(list, "\n"))
		}
		if len(seen) < 30 {
			t.Errorf("%s: only %d duties were seen: %v", wire, len(seen), seen)
		}
		t.Logf("%s: %d duties", wire, len(seen))
	}
}

// fault is a server that does one thing wrong: change gets the whole answer.
type fault struct {
	name, wire, id, question string
	change                   func(r *http.Request, a *httptest.ResponseRecorder) (status int, header http.Header,
		body string)
}

func (f fault) server(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		a := httptest.NewRecorder()
		next.ServeHTTP(a, r)
		r.Body = io.NopCloser(bytes.NewReader(body))
		status, header, text := f.change(r, a)
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
}

func edit(pattern, with string) func(*http.Request, *httptest.ResponseRecorder) (int, http.Header, string) {
	re := regexp.MustCompile(pattern)
	return func(_ *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
		return a.Code, a.Header(), re.ReplaceAllString(a.Body.String(), with)
	}
}

func answer(pattern string, status int, contentType, body string) func(*http.Request, *httptest.ResponseRecorder) (int,
	http.Header, string) {
	re := regexp.MustCompile(pattern)
	return func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
		sent, _ := io.ReadAll(r.Body)
		if re.MatchString(r.Method + " " + r.URL.RequestURI() + " " + string(sent)) {
			return status, http.Header{"Content-Type": {contentType}}, body
		}
		return a.Code, a.Header(), a.Body.String()
	}
}

const message = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`

const badRequest = `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`

var faults = []fault{
	{"no event names", "anthropic", "SV-H2", "hello", edit(`(?m)^event: .*\n`, "")},
	{"[DONE] on Messages", "anthropic", "SV-H6", "hello",
		edit(`(event: message_stop[^\n]*\n[^\n]*\n\n)$`, "${1}data: [DONE]\n\n")},
	{"two message_starts", "anthropic", "SV-A1", "hello", edit(`(?s)^(event: message_start.*?\n\n)`, "$1$1")},
	{"block index used twice", "anthropic", "SV-A2", "one-call", edit(`"index":\s*1`, `"index":0`)},
	{"block not closed", "anthropic", "SV-A5", "hello", edit(`event: content_block_stop\ndata: [^\n]*\n\n`, "")},
	{"no message_stop", "anthropic", "SV-A5", "hello", edit(`event: message_stop\ndata: [^\n]*\n\n`, "")},
	{"no usage at the start", "anthropic", "SV-A7", "hello", edit(`,"usage":\s*\{[^}]*"input_tokens"[^\n]*\}\}`, `}`)},
	{"no usage at the end", "anthropic", "SV-A8", "hello",
		edit(`("type":\s*"message_delta"[^\n]*)"usage"`, `$1"usage_gone"`)},
	{"end_turn with a call", "anthropic", "SV-A11", "one-call",
		edit(`"stop_reason":\s*"tool_use"`, `"stop_reason":"end_turn"`)},
	{"another stop reason in streams only", "anthropic", "SV-A22", "one-call",
		edit(`("type":\s*"message_delta"[^\n]*)"tool_use"`, `${1}"max_tokens"`)},
	{"another tool in whole replies only", "gemini", "SV-A22", "one-call",
		edit(`(?s)^(\{.*"name":\s*"conform_)echo`, `${1}noargs`)},
	{"thinking without a signature in whole replies only", "anthropic", "SV-A22", "thinking",
		edit(`(?s)^(\{.*),\s*"signature":\s*"[^"]*"`, `$1`)},
	{"no count of the prompt in streams only", "chat", "SV-A22", "one-call",
		edit(`(data: [^\n]*"prompt_tokens":\s*)[0-9]+`, `${1}0`)},
	{"OpenAI's stop reason", "anthropic", "SV-A11", "hello",
		edit(`"stop_reason":\s*"end_turn"`, `"stop_reason":"stop"`)},
	{"dots in ids", "anthropic", "SV-A12", "one-call", edit(`toolu_`, "functions.")},
	{"first fragment lost", "anthropic", "SV-A13", "one-call", edit(`("partial_json":\s*")\{`, "$1")},
	{"no signature", "anthropic", "SV-A14", "thinking",
		edit(`event: content_block_delta\ndata: [^\n]*signature_delta[^\n]*\n\n`, "")},
	{"another envelope", "anthropic", "SV-E1", "broken-json", edit(`^\{"type":\s*"error",`, "{")},
	{"400 for a member of Claude Code", "anthropic", "SV-B5", "context-management",
		answer("context_management", 400, "application/json", badRequest)},
	{"the role system refused in other words", "anthropic claude-opus-4-8", "SV-B4", "system-in-messages",
		answer(`"role":"system"`, 400, "application/json",
			`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.role: Input should be 'user' or 'assistant'"}}`)},
	{"400 for the beta query", "anthropic", "SV-H11", "beta-query",
		answer(`beta=true`, 404, "application/json", badRequest)},
	{"400 for its own tokens", "anthropic", "SV-B1", "thinking",
		answer(`"role":"assistant"`, 400, "application/json", badRequest)},
	{"altered tokens pass", "anthropic", "SV-B2", "altered-token",
		func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			if a.Code == 400 {
				return 200, a.Header(), message
			}
			return a.Code, a.Header(), a.Body.String()
		}},
	{"a long prompt refused in other words", "anthropic", "SV-E6", "long-prompt",
		answer("padding padding", 400, "application/json", badRequest)},
	{"a wrong key forbidden", "anthropic", "SV-E9", "wrong-key",
		func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			if r.Header.Get("X-Api-Key") != "test-key-of-a-server" {
				return 403, http.Header{"Content-Type": {"application/json"}},
					`{"type":"error","error":{"type":"permission_error","message":"no"}}`
			}
			return a.Code, a.Header(), a.Body.String()
		}},
	{"400 for an unknown member of Claude Code", "anthropic", "SV-B5", "context-management",
		answer("context_management", 400, "application/json",
			`{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`)},
	{"an event stream for plain requests", "openai", "SV-H1", "hello",
		func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			return a.Code, http.Header{"Content-Type": {"text/event-stream"}},
				regexp.MustCompile(`(?s)^\{.*\}\s*$`).ReplaceAllStringFunc(a.Body.String(), func(doc string) string {
					return "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":0,\"response\":" + strings.TrimSpace(doc) + "}\n\n"
				})
		}},
	{"counts 0", "anthropic", "SV-B7", "count", edit(`"input_tokens":\s*[0-9]+\}$`, `"input_tokens":0}`)},
	{"results of two calls refused", "anthropic", "SV-B3", "two-calls",
		answer(`"tool_result"`, 400, "application/json", badRequest)},
	{"the limit is ignored", "anthropic", "SV-B12", "limit", answer(`"max_tokens":16,`, 200, "application/json",
		`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"`+strings.Repeat("1, 2, 3, ", 60)+`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":900}}`)},
	{"another model", "openai", "SV-B10", "hello", edit(`"model":\s*"gpt-5.2[^"]*"`, `"model":"llama-4"`)},
	{"no response.created", "openai", "SV-O1", "hello", edit(`(?s)^event: response.created.*?\n\n`, "")},
	{"sequence numbers stand still", "openai", "SV-O2", "hello",
		edit(`"sequence_number":\s*[0-9]+`, `"sequence_number":0`)},
	{"item not opened", "openai", "SV-O3", "one-call", edit(`event: response.output_item.added\ndata: [^\n]*\n\n`, "")},
	{"text of done is empty", "openai", "SV-O5", "hello",
		edit(`("type":\s*"response.output_text.done"[^\n]*"text":\s*")[^"]*`, "$1")},
	{"item not done", "openai", "SV-O9", "one-call", edit(`event: response.output_item.done\ndata: [^\n]*\n\n`, "")},
	{"no end", "openai", "SV-O10", "hello", edit(`event: response.completed\ndata: [^\n]*\n\n`, "")},
	{"no usage", "openai", "SV-O12", "hello",
		edit(`"usage":\s*\{"input_tokens"[^\n]*?"total_tokens":\s*[0-9]+\}`, `"usage":{"input_tokens":1}`)},
	{"forced call left out", "openai", "SV-O22", "any-tool", edit(`"type":\s*"function_call"`, `"type":"x_call"`)},
	{"a text in place of a custom call", "openai", "SV-O17", "custom-tool",
		answer(`"type":"custom"`, 200, "application/json",
			`{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"gpt-5.2","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"*** Begin Patch","annotations":[]}]}]}`)},
	{"custom tools refused", "openai", "SV-O17", "custom-tool", answer(`"type":"custom"`, 400, "application/json",
		`{"error":{"message":"type must be function","type":"invalid_request_error","param":null,"code":null}}`)},
	{"output as parts refused", "openai", "SV-O19", "output-parts", answer(`"output":\[`, 400, "application/json",
		`{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`)},
	{"page for the list of models", "openai", "SV-B8", "models", answer(`^GET`, 200, "text/html", "<html></html>")},
	{"JSON as a stream", "gemini", "SV-G1", "hello",
		func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			if r.URL.Query().Get("alt") == "sse" {
				return 200, http.Header{"Content-Type": {"application/json"}},
					`[{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":2},"modelVersion":"gemini-3-flash-preview","responseId":"x"}]`
			}
			return a.Code, a.Header(), a.Body.String()
		}},
	{"no finishReason", "gemini", "SV-G3", "hello", edit(`"finishReason":\s*"STOP",?`, "")},
	{"no signature on the call", "gemini", "SV-G5", "thinking", edit(`,?\s*"thoughtSignature":\s*"[^"]*"`, "")},
	{"compressed bodies break", "gemini", "SV-H12", "compressed",
		func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			if r.Header.Get("Content-Encoding") == "gzip" {
				return 400, http.Header{"Content-Type": {"application/json"}},
					`{"error":{"code":400,"message":"invalid JSON","status":"INVALID_ARGUMENT"}}`
			}
			return a.Code, a.Header(), a.Body.String()
		}},
	{"no choice", "chat", "SV-C1", "hello",
		edit(`(?s)^\{.*\}$`, `{"id":"1","object":"chat.completion","model":"gpt-4.1","choices":[]}`)},
	{"an event that is no object", "chat", "SV-C2", "hello", edit(`data: \{`, `data: ["x"]`+"\n\ndata: {")},
	{"calls without an id", "chat", "SV-C3", "one-call", edit(`"id":"call_[^"]*"`, `"id":""`)},
	{"arguments in Python", "chat", "SV-C4", "one-call", edit(`"arguments":"\{\\"`, `"arguments":"{'`)},
	{"no finish_reason", "chat", "SV-C5", "hello", edit(`"finish_reason":"stop"`, `"finish_reason":null`)},
	{"cut off", "chat", "SV-C6", "hello", edit(`(?s)data: [^\n]*"finish_reason":"stop".*$`, "")},
	{"stop after an error", "chat", "SV-C7", "hello", edit(`(data: [^\n]*"finish_reason":"stop")`,
		`data: {"error":{"message":"no","type":"server_error"}}`+"\n\n$1")},
	{"a total of one", "chat", "SV-C8", "hello", edit(`"total_tokens":[0-9]+`, `"total_tokens":1`)},
	{"an error without words", "chat", "SV-C9", "broken-json",
		answer(`"model": ?"`, 400, "application/json", `{"error":{"code":400}}`)},
	{"calls and stop", "chat", "SV-C10", "any-tool", edit(`"finish_reason":"tool_calls"`, `"finish_reason":"stop"`)},
	{"one index for all calls", "chat", "SV-C11", "any-tool",
		edit(`(data: [^\n]*"index":0,"id":"call_)([^\n]*\n\n)`, "$1$2${1}x$2")},
	{"no usage", "chat", "SV-C12", "hello", edit(`"usage":\{[^\n]*\}\}\}`, `"usage":null}`)},
	{"another model", "chat", "SV-B10", "hello", edit(`"model":"gpt-4.1"`, `"model":"llama-4"`)},
	{"forced call left out", "chat", "SV-O22", "any-tool", edit(`"tool_calls":\[`, `"calls":[`)},
	{"results refused", "chat", "SV-B3", "two-calls",
		answer(`"role":"tool"`, 400, "application/json", `{"error":{"message":"no"}}`)},
	{"null content refused", "chat", "SV-B3", "calls-without-content",
		answer(`"content":null`, 400, "application/json", `{"error":{"message":"'content' field must be a string"}}`)},
	{"parts of a result refused", "chat", "SV-B5", "results-in-parts",
		answer(`"content":\[`, 400, "application/json", `{"error":{"message":"no"}}`)},
	{"the limit is ignored", "chat", "SV-B12", "limit",
		answer(`"max_(completion_)?tokens":16,`, 200, "application/json",
			`{"id":"1","object":"chat.completion","model":"gpt-4.1","choices":[{"index":0,"message":{"role":"assistant","content":"`+strings.Repeat("1, 2, 3, ", 60)+`"},"finish_reason":"stop"}]}`)},
	{"a page for the list of models", "chat", "SV-B8", "models", answer(`^GET`, 200, "text/html", "<html></html>")},
	{"its own reasoning refused", "chat deepseek-v4-pro", "SV-B1", "thinking",
		answer(`"role":"tool"`, 400, "application/json", `{"error":{"message":"no"}}`)},
	{"arguments without their first character", "chat deepseek-v4-pro", "SV-C4", "thinking",
		edit(`"arguments":"\{`, `"arguments":"`)},
	{"results refused", "chat deepseek-v4-pro", "SV-B3", "two-calls",
		answer(`"role":"tool"`, 400, "application/json", `{"error":{"message":"no"}}`)},
	{"its own signature refused", "chat gemini-3-flash-preview", "SV-B1", "thinking",
		answer(`"thought_signature"`, 400, "application/json", `{"error":{"message":"no"}}`)},
	{"an altered signature passes", "chat gemini-3-flash-preview", "SV-B2", "altered-token",
		func(_ *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			if a.Code == http.StatusBadRequest {
				return http.StatusOK, a.Header(),
					`{"id":"1","object":"chat.completion","model":"gemini-3-flash-preview","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`
			}
			return a.Code, a.Header(), a.Body.String()
		}},
	{"calls and stop", "chat gemini-3-flash-preview", "SV-C10", "any-tool",
		edit(`"finish_reason":"tool_calls"`, `"finish_reason":"stop"`)},
	{"a page for an error", "gemini", "SV-E8", "broken-json",
		answer(`"model": "`, 502, "text/html", "<html>Bad Gateway</html>")},
	{"the key comes back", "gemini", "GW-19", "hello",
		func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
			h := a.Header()
			h.Set("X-Debug", r.Header.Get("X-Goog-Api-Key"))
			return a.Code, h, a.Body.String()
		}},
}

// TestSeededFaults holds that each fault is found under its id by the question that shows it.
func TestSeededFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			findings, _ := judged(t, f.wire, func(id string) bool { return id == f.question }, f.server)
			if len(findings[f.id]) == 0 {
				t.Errorf("%s is not found; found: %v", f.id, findings)
			}
		})
	}
}

// TestBadServers holds that whatever a server does ends in bounded time with one clear error or finding.
func TestBadServers(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string // of the error or of a finding
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
			<-r.Context().Done()
		}, "took too long"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") },
			"a body that is not JSON"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusFound)
		}, "a redirect to https://example.com/; give"},
		"login": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "who are you, test-key-of-a-server?", http.StatusUnauthorized)
		}, "401; give a key with --key-env: who are you, ********************?"},
		"not here": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
			"give the base URL of the wire"},
		"fails": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no GPU", http.StatusInternalServerError) },
			"500 at the simplest question; see what the server logs: no GPU"},
		"floods": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 200 {
				if _, err := io.WriteString(w, strings.Repeat(": flood\n", 1<<16)); err != nil {
					return
				}
			}
		}, "more than a reply may have"},
		"closes early": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"type":"message"`)
		}, "unexpected EOF"},
		"begins and hangs": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "give more time with --timeout"},
		"always busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			http.Error(w, "busy", http.StatusTooManyRequests)
		}, "ask again when the key may ask more"},
		"empty": {func(http.ResponseWriter, *http.Request) {}, "an empty body"},
	} {
		t.Run(name, func(t *testing.T) {
			front := httptest.NewServer(c.handler)
			defer front.Close()
			out, err := questions.Judge(t.Context(), questions.Config{
				Wire: wires.Find("anthropic"), Base: front.URL, Model: "m", Key: "test-key-of-a-server",
				Transport: client.NewTransport(),
				Only:      func(id string) bool { return id == "hello" }, Timeout: 2 * time.Second,
			})
			var said []string
			if err != nil {
				said = append(said, err.Error())
			} else {
				for _, d := range out.Cases {
					said = append(said, messages(d)...)
				}
			}
			if text := strings.Join(said, "\n"); !strings.Contains(text, c.want) || strings.Contains(text, "test-key") {
				t.Errorf("%q does not say %q", text, c.want)
			}
		})
	}
}

// TestKeyAtTheCut has a server that quotes the key at any place of an error: no part of it is quoted on,
// wherever the excerpt of the error ends.
func TestKeyAtTheCut(t *testing.T) {
	const key = "test-key-of-a-server"
	for padding := 0; padding < 320; padding += 7 {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"`+strings.Repeat("x", padding)+key+`"}}`)
		}))
		out, err := questions.Judge(t.Context(), questions.Config{
			Wire: wires.Find("anthropic"), Base: front.URL, Model: "m", Key: key, Transport: client.NewTransport(),
			Only: func(id string) bool { return id == "hello" },
		})
		front.Close()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(messages(out.Cases[0]), "\n")
		if !strings.Contains(said, "the key of the client") || strings.Contains(said, key[:8]) {
			t.Fatalf("behind %d letters: %s", padding, said)
		}
	}
}

// TestOneCause holds that one fault of every answer is told as one duty, and not again by each question.
func TestOneCause(t *testing.T) {
	page := answer(".", 200, "text/html", "<html>hello</html>")
	for _, f := range []fault{
		{"no message_stop", "anthropic", "SV-A5", "", edit(`event: message_stop\ndata: [^\n]*\n\n`, "")},
		{"unfinished responses", "openai", "SV-O21", "",
			edit(`(?s)^(\{.*?"status":\s*)"completed"`, `$1"in_progress"`)},
		{"a page", "chat", "SV-H10", "", page},
		{"gzip that nobody asked for", "gemini", "SV-H17", "",
			func(_ *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
				var packed bytes.Buffer
				z := gzip.NewWriter(&packed)
				_, _ = z.Write(a.Body.Bytes())
				_ = z.Close()
				h := a.Header()
				h.Set("Content-Encoding", "gzip")
				return a.Code, h, packed.String()
			}},
		{"JSON for streams", "anthropic", "SV-H1", "",
			func(r *http.Request, a *httptest.ResponseRecorder) (int, http.Header, string) {
				if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"stream":true`)) {
					h := a.Header()
					h.Set("Content-Type", "application/json")
					return a.Code, h, message
				}
				return a.Code, a.Header(), a.Body.String()
			}},
	} {
		asked := []string{"hello", "two-prompts", "four-at-once", "query"}
		findings, _ := judged(t, f.wire, func(id string) bool { return slices.Contains(asked, id) }, f.server)
		delete(findings, "SV-H14") // the ids of requests are no part of it
		if len(findings) != 1 || findings[f.id] == nil {
			t.Errorf("%s: %s alone should be found, not %v", f.name, f.id, findings)
		}
	}
}

// TestOneFinding holds that one cause in one answer is one finding of its duty.
func TestOneFinding(t *testing.T) {
	twice := edit(`(?s)^((?:event|data): .*)$`, "$1$1")
	doubled := edit(`(?s)((?:event|data): .*?\n\n)`, "$1$1")
	for _, f := range []fault{
		{"counts 0", "anthropic", "SV-B7", "count", edit(`"input_tokens":\s*[0-9]+\}$`, `"input_tokens":0}`)},
		{"another model", "openai", "SV-B10", "hello", edit(`"model":\s*"gpt-5.2[^"]*"`, `"model":"llama-4"`)},
		{"another envelope", "anthropic", "SV-E1", "broken-json", edit(`^\{"type":\s*"error",`, "{")},
		{"a stream sent twice", "anthropic", "SV-A1", "one-call", twice},
		{"each event sent twice", "openai", "SV-O2", "one-call", doubled},
		{"a stream sent twice", "openai", "SV-O10", "one-call", twice},
	} {
		findings, _ := judged(t, f.wire, func(id string) bool { return id == f.question }, f.server)
		cases := map[string]int{}
		for _, message := range findings[f.id] {
			name, _, _ := strings.Cut(message, ":")
			if cases[name]++; cases[name] > 1 {
				t.Errorf("%s: %s is found more than once: %q", f.name, f.id, findings[f.id])
				break
			}
		}
		if len(cases) == 0 {
			t.Errorf("%s: %s is not found: %v", f.name, f.id, findings)
		}
	}
}

// TestLimitedRate holds that a server which limits the rate of requests is waited for, and that status 429 is no fault.
func TestLimitedRate(t *testing.T) {
	var asked atomic.Int32
	limit := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1)%3 == 0 {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Request-Id", "req_1")
				w.Header().Set("Retry-After-Ms", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slowly"}}`)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	findings, seen := judged(t, "anthropic",
		func(id string) bool { return id == "one-call" || id == "four-at-once" }, limit)
	if len(findings) > 0 || !slices.Contains(seen, "SV-E4") || !slices.Contains(seen, "SV-B3") {
		t.Errorf("%v is found; seen is %v", findings, seen)
	}
}

// TestUnknownModelIsAskedToThink holds that the server of a model of which nothing is known is asked for thinking, and
// that a server which refuses that is not wrong.
func TestUnknownModelIsAskedToThink(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		var asked atomic.Int32
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Request-Id", "req_1")
			if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"thinking":{"type":"enabled"`)) {
				if asked.Add(1); refuses {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w,
						`{"type":"error","error":{"type":"invalid_request_error","message":"llama does not think"}}`)
					return
				}
			}
			_, _ = io.WriteString(w, strings.ReplaceAll(message, "claude-opus-4-5", "llama"))
		}))
		out, err := questions.Judge(t.Context(), questions.Config{
			Wire: wires.Find("anthropic"), Base: front.URL, Model: "llama", Transport: client.NewTransport(),
			Only: func(id string) bool { return id == "altered-token" || id == "thinking" },
		})
		front.Close()
		if err != nil || asked.Load() == 0 || refuses != (out.RefusedThinking != "") {
			t.Fatalf("asked %d times, %+v, %v", asked.Load(), out, err)
		}
		for _, d := range out.Cases {
			if said := messages(d); said != nil && strings.HasSuffix(d.Name, "/unary") { // streams get JSON
				t.Errorf("refuses %v: %s: %q", refuses, d.Name, said)
			}
		}
	}
}

func messages(d *report.DutyCase) (list []string) {
	for _, r := range d.Results() {
		for _, f := range r.Findings {
			list = append(list, f.Message)
		}
	}
	return list
}

// TestAnswersWithoutEnd holds that a run ends soon where every second answer hangs, and where every answer floods.
func TestAnswersWithoutEnd(t *testing.T) {
	for _, isFlood := range []bool{false, true} {
		var asked, ended atomic.Int32
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			switch n := asked.Add(1); {
			case n%2 == 1:
				_, _ = io.WriteString(w, message)
			case isFlood:
				ended.Add(1)
				_, _ = io.WriteString(w, strings.Repeat("flood\n", 1<<20))
			default:
				ended.Add(1)
				<-r.Context().Done()
			}
		}))
		out, err := questions.Judge(t.Context(), questions.Config{Wire: wires.Find("anthropic"), Base: front.URL, Model: "m",
			Transport: client.NewTransport(), Timeout: 200 * time.Millisecond})
		if front.Close(); err != nil || out.Unasked == 0 || ended.Load() > 10 {
			t.Errorf("flood %v: %d answers had no end, and all questions were asked; %v", isFlood, ended.Load(), err)
		}
	}
}

// TestEndOfTheRun holds that what the end of a run cuts off is no fault of the server.
func TestEndOfTheRun(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var asked atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) < 4 {
			_, _ = io.WriteString(w, message)
			return
		}
		end()
		<-r.Context().Done()
	}))
	defer front.Close()
	out, err := questions.Judge(ctx, questions.Config{Wire: wires.Find("anthropic"), Base: front.URL, Model: "m",
		Transport: client.NewTransport()})
	if err != nil || out.Unasked == 0 {
		t.Fatalf("the run should end early; %v", err)
	}
	for _, d := range out.Cases {
		if said := strings.Join(messages(d), "\n"); strings.Contains(said, "cancel") {
			t.Errorf("%s: %s", d.Name, said)
		}
	}
}
