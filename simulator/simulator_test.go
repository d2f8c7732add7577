package simulator

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"github.com/meerkat-go/conformance/simulator/script"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/specs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything uses every kind of block once.
const everything = `Every kind of block.
requirements: ORD-001
-- scenario.yaml --
title: everything
providers:
  anthropic: {model: claude-opus-4-6}
  openai: {model: gpt-5.5}
  gemini: {model: gemini-3.5-flash}
player:
  - prompt: go
turns:
  - emit:
      - thinking: ["First <part>.", "Second part."]
      - text: "Naïve & 🦩 text."
      - redacted: true
      - call: {role: echo, args: '{"text": "a\u00e9","n":1.0}'}
      - call: {role: noargs}
  - emit:
      - thinking: ""
      - signed_text: "Signed"
      - text: " and plain."
  - emit:
      - text: "The last answer."
    stop: max_tokens
  - emit:
      - thinking: A thought.
      - text: Cut in the middle of this.
    cut: {after: {anthropic: 7, openai: 8, gemini: 1}}
  - emit:
      - text: Fails in the middle of this.
    error: {kind: overloaded, after: {anthropic: 4, openai: 5, gemini: 1}}
  - emit:
      - text: Byte by byte 🦩.
    chunks: [1]
`

func everyScenario(t *testing.T) *specs.Scenario {
	t.Helper()
	s, err := specs.ParseScenario("everything.txtar", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask is a model call that holds so many of the provider's own turns.
type ask func(url string, turns int, stream bool) *http.Request

var asks = map[string]ask{
	"anthropic": func(url string, turns int, stream bool) *http.Request {
		body := fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":2048,"stream":%t,"thinking":{"type":"adaptive"},"tools":[{"name":"conform_echo","input_schema":{"type":"object"}},{"name":"mcp__x__conform_noargs","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"go"}%s]}`,
			stream, strings.Repeat(`,{"role":"assistant","content":"a"},{"role":"user","content":"b"}`, turns))
		return post(url+"/v1/messages", body, "x-api-key", "fake", "anthropic-version", "2023-06-01")
	},
	"openai": func(url string, turns int, stream bool) *http.Request {
		body := fmt.Sprintf(`{"model":"gpt-5.5","stream":%t,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},"tools":[{"type":"function","name":"conform_echo","parameters":{"type":"object"}},{"type":"function","name":"conform_noargs","parameters":{"type":"object"}}],"input":[{"role":"user","content":"go"}%s]}`,
			stream, strings.Repeat(`,{"role":"assistant","content":"a"},{"role":"user","content":"b"}`, turns))
		return post(url+"/v1/responses", body, "Authorization", "Bearer fake")
	},
	"gemini": func(url string, turns int, stream bool) *http.Request {
		method := "generateContent"
		if stream {
			method = "streamGenerateContent?alt=sse"
		}
		return post(url+"/v1beta/models/gemini-3.5-flash:"+method, geminiBody(turns), "x-goog-api-key", "fake")
	},
	"gemini-array": func(url string, turns int, _ bool) *http.Request {
		return post(url+"/v1beta/models/gemini-3.5-flash:streamGenerateContent", geminiBody(turns),
			"x-goog-api-key", "fake")
	},
}

func geminiBody(turns int) string {
	return fmt.Sprintf(`{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"tools":[{"functionDeclarations":[{"name":"conform_echo","description":"Echoes."},{"name":"conform_noargs","description":"Takes nothing."}]}],"contents":[{"role":"user","parts":[{"text":"go"}]}%s]}`,
		strings.Repeat(`,{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}`, turns))
}

func post(url, body string, header ...string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// response is what a client saw.
type response struct {
	status int
	header http.Header
	body   []byte
	reads  int // of the body, as the transport delivered it
	err    error
}

func send(t *testing.T, c *http.Client, r *http.Request) response {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out := response{status: resp.StatusCode, header: resp.Header}
	for buf := make([]byte, 1<<16); ; {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			out.body, out.reads = append(out.body, buf[:n]...), out.reads+1
		}
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.err = err
			return out
		}
	}
}

func serve(t *testing.T, h http.Handler) (*httptest.Server, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); s.Close() })
	return s, &http.Client{Transport: transport}
}

// TestGolden holds every byte of every reply.
func TestGolden(t *testing.T) {
	scenario := everyScenario(t)
	server, client := serve(t, New(Config{Scenario: scenario, Seed: "golden"}))
	for name, ask := range asks {
		for turn := range scenario.Turns {
			for _, stream := range []bool{true, false} {
				if name == "gemini-array" && !stream {
					continue
				}
				file := filepath.Join("testdata",
					fmt.Sprintf("%s-%d-%s", name, turn, map[bool]string{true: "stream", false: "unary"}[stream]))
				got := send(t, client, ask(server.URL, turn, stream))
				golden(t, file, got)
			}
		}
	}
}

func golden(t *testing.T, file string, got response) {
	t.Helper()
	text := fmt.Appendf(nil, "%d %s\n\n%s", got.status, got.header.Get("Content-Type"), got.body)
	if *update {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s: %s", file, cmp.Diff(string(want), string(text)))
	}
}

// TestStateless holds that a reply depends on nothing but its request.
func TestStateless(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: everyScenario(t), Seed: "s"}))
	for name, ask := range asks {
		first := send(t, client, ask(server.URL, 1, true))
		_ = send(t, client, ask(server.URL, 0, true))
		again := send(t, client, ask(server.URL, 1, true))
		if !bytes.Equal(first.body, again.body) {
			t.Errorf("%s: the same request has two replies", name)
		}
		if zero := send(t, client, ask(server.URL, 0, true)); bytes.Equal(zero.body, again.body) {
			t.Errorf("%s: two turns have the same reply", name)
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	a, client := serve(t, New(Config{Scenario: everyScenario(t), Seed: "a"}))
	b, _ := serve(t, New(Config{Scenario: everyScenario(t), Seed: "b"}))
	for name, ask := range asks {
		if bytes.Equal(send(t, client, ask(a.URL, 0, true)).body, send(t, client, ask(b.URL, 0, true)).body) {
			t.Errorf("%s: two seeds give the same tokens", name)
		}
	}
}

// TestCut holds that a cut is a connection that breaks, not an end.
func TestCut(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: everyScenario(t)}))
	for name, ask := range asks {
		for _, stream := range []bool{true, false} {
			got := send(t, client, ask(server.URL, 3, stream))
			if got.err == nil || len(got.body) == 0 {
				t.Errorf("%s stream=%t: %d bytes and then %v; want some and a broken connection", name, stream,
					len(got.body), got.err)
			}
		}
	}
}

func TestFailure(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: everyScenario(t)}))
	for name, ask := range asks {
		got := send(t, client, ask(server.URL, 4, true))
		if got.err != nil || got.status != http.StatusOK ||
			!bytes.Contains(bytes.ToLower(got.body), []byte("overloaded")) {
			t.Errorf("%s: status %d, %v, body ends %q", name, got.status, got.err, got.body[max(0, len(got.body)-200):])
		}
		if name == "gemini-array" {
			continue
		}
		if got := send(t, client, ask(server.URL, 4, false)); got.status != 529 && got.status != 503 {
			t.Errorf("%s: a unary failure has status %d", name, got.status)
		}
	}
}

// TestChunks holds that paced writes arrive one by one.
func TestChunks(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: everyScenario(t), Pace: 200_000}))
	got := send(t, client, asks["anthropic"](server.URL, 5, true))
	if !bytes.Contains(got.body, []byte("🦩")) || got.reads < len(got.body)/2 {
		t.Errorf("%d bytes in %d reads; want single bytes that join to the text", len(got.body), got.reads)
	}
}

func TestRefusals(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: everyScenario(t)}))
	with := func(name string, edit func(*http.Request), body ...string) *http.Request {
		r := asks[name](server.URL, 0, true)
		if body != nil {
			r = post(r.URL.String(), body[0])
			r.Header = asks[name](server.URL, 0, true).Header
		}
		if edit != nil {
			edit(r)
		}
		return r
	}
	drop := func(header string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(header) } }
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
		text   string
	}{
		{"another path", with("openai", func(r *http.Request) { r.URL.Path = "/v1/completions" }), 404,
			"Invalid URL (POST /v1/completions)"},
		{"GET", with("openai", func(r *http.Request) { r.Method = "GET" }), 405,
			"Not allowed to GET on /v1/responses."},
		{"GET", with("anthropic", func(r *http.Request) { r.Method = "GET" }), 405, "Method Not Allowed"},
		{"another path", with("anthropic", func(r *http.Request) { r.URL.Path = "/v1/complete" }), 404,
			`"not_found_error"`},
		{"another path", with("gemini",
			func(r *http.Request) { r.URL.Path = "/v1beta/models/gemini-3.5-flash:embedContent" }), 404, `"NOT_FOUND"`},
		{"no version", with("anthropic", drop("anthropic-version")), 400, "anthropic-version: header is required"},
		{"no key", with("anthropic", drop("x-api-key")), 401, `"authentication_error"`},
		{"no key", with("openai", drop("Authorization")), 401, `"invalid_api_key"`},
		{"no key", with("gemini", drop("x-goog-api-key")), 403, "unregistered callers"},
		{"a real key", with("anthropic", func(r *http.Request) { r.Header.Set("x-api-key", "sk-ant-"+longKey) }), 401,
			`looks real: it begins with \"sk-\" and has 32 bytes or more; set a made-up one, such as test-key`},
		{"a real key", with("openai", func(r *http.Request) { r.Header.Set("Authorization", "Bearer sk-"+longKey) }),
			401, "looks real"},
		{"a real key", with("gemini", func(r *http.Request) { r.Header.Set("x-goog-api-key", "AIza"+longKey) }), 403,
			"looks real"},
		{"garbage", with("anthropic", nil, "{"), 400, "not valid JSON"},
		{"garbage", with("openai", nil, "{"), 400, "could not parse"},
		{"garbage", with("gemini", nil, "{"), 400, "Invalid JSON payload"},
		{"no model", with("anthropic", nil, `{"messages":[{}]}`), 400, "model: Field required"},
		{"no messages", with("anthropic", nil, `{"model":"claude-opus-4-6","max_tokens":9,"messages":[]}`), 400,
			"at least one message"},
		{"no input", with("openai", nil, `{"model":"m"}`), 400, "Missing required parameter: 'input'."},
		{"input a number", with("openai", nil, `{"model":"m","input":1}`), 400, "Invalid type for 'input'"},
		{"no contents", with("gemini", nil, `{}`), 400, "contents is not specified"},
		{"another model", with("anthropic", nil,
			`{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`), 404,
			`"model: claude-opus-4-5"`},
		{"another model", with("openai", nil, `{"model":"gpt-5.2","input":"x"}`), 400, "model_not_found"},
		{"another model", with("gemini",
			func(r *http.Request) { r.URL.Path = "/v1beta/models/gemini-9:generateContent" }), 404,
			"models/gemini-9 is not found"},
		{"no tool", with("openai", nil, `{"model":"gpt-5.5","input":"x"}`), 400,
			"no tool of the request ends in conform_echo"},
		{"beyond the script", asks["anthropic"](server.URL, 6, true), 400,
			"one that holds 6 turns of the model and 7 prompts"},
	} {
		if got := send(t, client, c.r); got.status != c.status || !bytes.Contains(got.body, []byte(c.text)) {
			t.Errorf("%s %s: status %d %s; want %d and %q", c.r.URL.Path, c.name, got.status, got.body,
				c.status, c.text)
		}
	}
}

// longKey is what a real key may end in.
const longKey = "Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9"

// TestMadeUpKeys holds that a key which cannot be somebody's is taken.
func TestMadeUpKeys(t *testing.T) {
	for _, key := range []string{"sk-test", "sk-mock", "sk-ant-x", "AIza-fake",
		"sk-ant-api03-test-key-of-no-account-0123456789", "sk-proj-dummy_" + longKey, "test-" + longKey} {
		r := post("/v1/messages", "{}")
		if r.Header.Set("x-api-key", key); realKeyPrefix(r) != "" {
			t.Errorf("%s is taken for a real key", key)
		}
	}
	r := post("/v1/messages", "{}")
	if r.Header.Set("x-api-key", "sk-latest"+longKey); realKeyPrefix(r) != "sk-" {
		t.Error("a long key is taken for a made-up one")
	}
}

// TestOthersAreRefusedForSources holds that an agent of which nothing is known is refused only
// for what a source shows; openai's TestLevels holds which rules that leaves out.
func TestOthersAreRefusedForSources(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		h := New(Config{Scenario: &specs.Scenario{IsLenient: lenient}}).(*handler)
		if got := h.ruleEnv("").SkipsLow; got != lenient {
			t.Errorf("a lenient scenario %t: skips rules of low confidence %t", lenient, got)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: everyScenario(t)}))
	for _, path := range []string{"/v1/messages", "/v1/responses", "/v1beta/models/gemini-3.5-flash:generateContent"} {
		for name, length := range map[string]int64{"told": maxRequest + 1, "not told": -1} {
			r := post(server.URL+path, strings.Repeat("x", maxRequest+1))
			if r.ContentLength = length; length < 0 {
				r.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", maxRequest+1)))
			}
			if got := send(t, client, r); got.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, length %s: status %d", path, name, got.status)
			}
		}
	}
}

// TestStart holds that the certificate is enough to trust the server under its
// address and the providers' names.
func TestStart(t *testing.T) {
	server, err := Start("", New(Config{Scenario: everyScenario(t)}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, name := range []string{"", "api.anthropic.com", "generativelanguage.googleapis.com"} {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(server.CA) {
			t.Fatal("CA is no PEM certificate")
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name}}
		got := send(t, &http.Client{Transport: transport}, asks["gemini"](server.URL, 0, true))
		if got.status != http.StatusOK {
			t.Errorf("as %q: status %d", name, got.status)
		}
		transport.CloseIdleConnections()
	}
}

// TestRead holds what is counted as a turn of the provider and as a prompt.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		provider       string
		url, body      string
		turns, prompts int
	}{
		{"anthropic", "/v1/messages",
			`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant"},{"role":"assistant"},{"role":"user","content":[{"type":"tool_result"}]},{"role":"assistant"},{"role":"user","content":[{"type":"tool_result"},{"type":"text"}]}]}`, 2, 2},
		{"openai", "/v1/responses", `{"model":"m","input":"a"}`, 0, 1},
		{"openai", "/v1/responses",
			`{"model":"m","input":[{"role":"developer"},{"role":"user"},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call"},{"type":"function_call_output"},{"type":"function_call_output"},{"type":"message","role":"assistant"},{"type":"message","role":"user"}]}`, 2, 2},
		{"gemini", "/v1beta/models/m:generateContent",
			`{"contents":[{"parts":[{"text":""}]},{"role":"model","parts":[{"text":"x"}]},{"role":"user","parts":[{"functionResponse":{}}]},{"role":"user","parts":[{"text":"b"}]}]}`, 1, 2},
	} {
		r := post("http://sim"+c.url, c.body, "x-api-key", "k", "anthropic-version", "v", "Authorization", "Bearer k",
			"x-goog-api-key", "k")
		got, refusal := script.Simulations()[c.provider].Parse(r, []byte(c.body)).Turn()
		if refusal != nil || got.Turns != c.turns || got.Prompts != c.prompts {
			t.Errorf("%s: %d turns, %d prompts, %v; want %d, %d", c.body, got.Turns, got.Prompts, refusal,
				c.turns, c.prompts)
		}
	}
}

func TestStartRefusesOtherMachines(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:1", "nonsense"} {
		if s, err := Start(address, http.NotFoundHandler()); err == nil {
			s.Close()
			t.Errorf("%s: listens there", address)
		}
	}
}

// TestScenarioModels holds that every model that a scenario asks for is served.
func TestScenarioModels(t *testing.T) {
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, target := range s.Targets {
			if _, ok := script.Simulations()[target.Provider].ShowModel(target.Model); !ok && len(s.Turns) > 0 {
				t.Errorf("%s: %s is not served", s.Name, target.Model)
			}
		}
	}
}
