package recorder

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/schemas"
)

func TestPlanOf(t *testing.T) {
	ask := func(url, body string, status int) cassette.Interaction {
		return cassette.Interaction{Request: cassette.Request{Method: "POST", URL: url, Body: []byte(body)},
			Response: cassette.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}},
				Body: []byte(`{"usage":{"input_tokens":30,"output_tokens":10}}`)}}
	}
	const messages = "https://api.anthropic.com/v1/messages"
	list := []cassette.Interaction{
		ask(messages, `{"max_tokens":99,"n":1}`, 200),
		ask(messages, `{"max_tokens":99,"n":1}`, 200),
		ask(messages+"/batches", `{}`, 200),
		ask(messages, `{"mcp":"REDACTEDabcdefgh12"}`, 200),
		ask(messages, `{"n":2}`, 0),
		ask(messages, `{"n":3}`, 529),
		ask("https://api.openai.com/v1/responses", `{"previous_response_id":"resp_1"}`, 200),
		ask(messages+"/count_tokens", `{}`, 200),
		ask("https://evil.example/v1/messages", `{}`, 200),
		ask(messages, `{"n":4}`, 400),
		ask(messages, `{"n":5}`, 200),
		ask(messages, `{"n":6}`, 200),
	}
	p := planOf(list, budget{requests: 4, tokens: 100}, func(r cassette.Request) string {
		return withheld(r, map[string]string{llm.Anthropic: "k", llm.OpenAI: "k"}, nil)
	})
	var sent []int
	for _, task := range p.send {
		sent = append(sent, task.Interaction)
	}
	got, _ := json.Marshal(map[string]any{"sent": sent, "tokens": p.tokens(), "skipped": p.skip})
	want := `{"sent":[0,7,9],"skipped":[` +
		`{"interaction":1,"reason":"the same request as #0"},` +
		`{"interaction":2,"reason":"asks for no reply of a model"},` +
		`{"interaction":3,"reason":"its body holds a redacted secret"},` +
		`{"interaction":4,"reason":"has no reply to compare with"},` +
		`{"interaction":5,"reason":"was answered with 529"},` +
		`{"interaction":6,"reason":"refers to a reply that the provider stored"},` +
		`{"interaction":8,"reason":"evil.example takes none of the keys; name a server with --upstream anthropic=URL"},` +
		`{"interaction":10,"reason":"about 40 tokens, beyond --max-tokens 100"},` +
		`{"interaction":11,"reason":"about 40 tokens, beyond --max-tokens 100"}],"tokens":80}`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if p := planOf(list, budget{requests: 1, tokens: 100}, func(cassette.Request) string { return "" }); len(p.send) != 1 {
		t.Errorf("%d sent with --max-requests 1", len(p.send))
	}
}

// A cassette is a file that anybody may have written: its URLs do not decide
// where a key goes.
func TestKeysGoToTheirProvidersOnly(t *testing.T) {
	keys := map[string]string{llm.Anthropic: "k", llm.Gemini: "k"}
	for url, want := range map[string]bool{
		"https://api.anthropic.com/v1/messages":                                                 true,
		"http://api.anthropic.com/v1/messages":                                                  false,
		"https://api.anthropic.com:8443/v1/messages":                                            false,
		"https://api.anthropic.com.evil.example/v1/messages":                                    false,
		"https://user@evil.example/v1/messages":                                                 false,
		"https://evil.example/api.anthropic.com/v1/messages":                                    false,
		"https://us-east5-aiplatform.googleapis.com/publishers/google/models/m:generateContent": false,
		"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent":             true,
		"https://api.openai.com/v1/responses":                                                   false, // no key
		"https://example.com/":                                                                  false,
		"::":                                                                                    false,
	} {
		r := cassette.Request{Method: "POST", URL: url}
		if got := withheld(r, keys, nil) == ""; got != want {
			t.Errorf("%s: sent is %v", url, got)
		}
	}
	if why := withheld(cassette.Request{URL: "http://127.0.0.1:1/v1/messages"}, nil, map[string]string{llm.Anthropic: "http://x"}); why != "" {
		t.Error(why)
	}
	for base, want := range map[string]bool{"http://127.0.0.1:9": true, "http://localhost:9": true, "https://gateway.example": true, "http://gateway.example": false} {
		err := clearUpstreams(map[string]string{llm.Anthropic: base}, keys)
		if (err == nil) != want {
			t.Errorf("%s: %v", base, err)
		}
	}
	if err := clearUpstreams(map[string]string{llm.OpenAI: "http://gateway.example"}, keys); err != nil {
		t.Errorf("without a key: %v", err)
	}
}

const liveKey = "sk-ant-live0live0live0live0live0live"

// provider answers a check; what it does is up to the test.
func (d dir) check(handler http.HandlerFunc, args ...string) (exit int, stdout, stderr string) {
	d.t.Helper()
	upstream := httptest.NewServer(handler)
	defer upstream.Close()
	d.t.Setenv("HOME", d.path)
	args = append([]string{"refresh", "--check", "--cassette", "c.yaml", "--upstream", "anthropic=" + upstream.URL}, args...)
	var out, errs strings.Builder
	d.t.Chdir(d.path)
	defer d.t.Chdir(d.home)
	exit = Run(context.Background(), args, strings.NewReader(""), &out, &errs, []string{"HOME=" + d.path, "ANTHROPIC_API_KEY=" + liveKey})
	return exit, out.String(), errs.String()
}

// replies answers with what was recorded, as change makes of it.
func replies(list []cassette.Interaction, change func(body string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, in := range list {
			if string(in.Request.Body) == string(body) {
				for name, values := range in.Response.Header {
					w.Header()[name] = values
				}
				_, _ = io.WriteString(w, change(string(in.Response.Body)))
				return
			}
		}
		w.WriteHeader(http.StatusTeapot)
	}
}

func TestCheck(t *testing.T) {
	list := conversation("7", "A heron.")
	same := func(body string) string { return body }
	remove := func(text string) func(string) string {
		return func(body string) string { return strings.ReplaceAll(body, text, "") }
	}
	for _, tt := range []struct {
		name   string
		server http.HandlerFunc
		args   string
		exit   int
		want   string // a part of what is said
	}{
		{"no drift", replies(list, same), "", exitOK, "2 replies checked, about 46 tokens: 0 breaking, 0 notable, 0 cosmetic"},
		{"other words", replies(list, func(b string) string { return strings.ReplaceAll(b, "heron", "stork") }), "", exitOK, "0 breaking, 0 notable, 0 cosmetic"},
		{"breaking", replies(list, remove("data: {\"type\":\"message_stop\"}\n\n")), "", exitGate,
			"breaking    anthropic stream: ending: complete → without the provider's terminal event (#0 #1)"},
		{"type", replies(list, func(b string) string { return strings.ReplaceAll(b, `"output_tokens":1}`, `"output_tokens":"1"}`) }), "", exitGate,
			"breaking    anthropic stream: message_start message.usage.output_tokens: number → string"},
		{"new field", replies(list, func(b string) string { return strings.ReplaceAll(b, `"message":{`, `"message":{"mood":"good",`) }), "", exitOK,
			"cosmetic    anthropic stream: + message_start message.mood (string)"},
		{"new field, strictly", replies(list, func(b string) string { return strings.ReplaceAll(b, `"message":{`, `"message":{"mood":"good",`) }),
			"--fail-on cosmetic", exitGate, "2 replies checked"},
		{"the key, reflected", replies(list, func(b string) string { return strings.ReplaceAll(b, "end_turn", liveKey) }), "", exitOK,
			"notable     anthropic stream: stop reason: end_turn → REDACTED"},
		{"nothing can be judged", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "", exitIncomplete,
			"unclear     #0  was answered with 429"},
		{"wrong key", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such key: "+liveKey, http.StatusUnauthorized)
		}, "", exitIncomplete, "401"},
		{"refused", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"message":"`+r.Header.Get("X-Api-Key")+`"}}`)
		}, "", exitGate, "breaking    anthropic stream: status: 200 → 400 (#0 #1)"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "data: {}\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "", exitIncomplete, "the reply broke off"},
		{"too long", replies(list, same), "--max-bytes 200", exitIncomplete, "the reply is longer than --max-bytes"},
		{"budget of requests", replies(list, same), "--max-requests 1", exitOK, "left out    #1  beyond --max-requests 1"},
		{"budget of tokens", replies(list, same), "--max-tokens 22", exitOK, "left out    #1  about 25 tokens, beyond --max-tokens 22"},
		{"budget overrun", replies(list, func(b string) string { return strings.ReplaceAll(b, `"output_tokens":12`, `"output_tokens":90`) }),
			"--max-tokens 46", exitOK, "left out    #1  the budget was spent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDir(t)
			d.write("c.yaml", list...)
			before, _ := os.ReadFile(filepath.Join(d.path, "c.yaml"))
			exit, stdout, stderr := d.check(tt.server, strings.Fields(tt.args)...)
			if exit != tt.exit || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit %d, want %d; the output lacks %q:\n%s%s", exit, tt.exit, tt.want, stderr, stdout)
			}
			if !strings.Contains(stderr, "request") || !strings.Contains(stderr, "is synthetic") {
				t.Errorf("does not say what it costs, or where the cassette is from: %s", stderr)
			}
			if strings.Contains(stdout+stderr, liveKey) {
				t.Error("the key shows")
			}
			after, _ := os.ReadFile(filepath.Join(d.path, "c.yaml"))
			if string(before) != string(after) {
				t.Error("the cassette changed")
			}
		})
	}
}

func TestCheckDryRunSendsNothing(t *testing.T) {
	d := newDir(t)
	d.write("c.yaml", conversation("7", "A heron.")...)
	var sent atomic.Int32
	exit, stdout, stderr := d.check(func(http.ResponseWriter, *http.Request) { sent.Add(1) }, "--dry-run")
	if exit != exitOK || sent.Load() != 0 || !strings.Contains(stdout, "would send  #1  anthropic claude-x, about 20 + 5 tokens") {
		t.Errorf("exit %d, %d sent, %q %q", exit, sent.Load(), stdout, stderr)
	}
}

func TestCheckJSON(t *testing.T) {
	d := newDir(t)
	list := conversation("7", "A heron.")
	d.write("c.yaml", list...)
	exit, stdout, _ := d.check(replies(list, func(b string) string {
		return strings.Replace(b, `"type":"tool_use","id"`, `"type":"tool_use","key":"`+liveKey+`","id"`, 1)
	}), "--json", "--fail-on", "notable")
	var r struct {
		Schema   string
		Checked  []struct{ Interaction, Status, Tokens int }
		Findings []struct {
			Severity, Rule, Path string
			Interactions         []int
		}
		Summary map[string]int
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || exit != exitOK {
		t.Fatalf("exit %d, %v: %s", exit, err, stdout)
	}
	if r.Schema != "recorder.drift.v1" || len(r.Checked) != 2 || r.Checked[0].Tokens != 21 || r.Summary["cosmetic"] != 1 || r.Findings[0].Path != "content_block.key" {
		t.Errorf("%s", stdout)
	}
	if strings.Contains(stdout, liveKey) {
		t.Error("the key shows")
	}
	if err := schemas.Validate(schemas.RecorderDrift, []byte(stdout)); err != nil {
		t.Error(err)
	}
}

func TestCheckRefuses(t *testing.T) {
	d := newDir(t)
	d.write("c.yaml", conversation("7", "A heron.")...)
	for args, want := range map[string]string{
		"--check": "recorder: --cassette: missing; name the file to check\n",
		"--check --cassette c.yaml --fail-on bad":    "recorder: --fail-on bad: no severity; one of cosmetic, notable, breaking\n",
		"--check --cassette c.yaml --max-requests 0": "recorder: --max-requests, --max-tokens, --max-bytes and --timeout: have to be above 0\n",
		"--cassette c.yaml --dry-run":                "recorder: --dry-run: goes with --check\n",
		"--check --cassette no.yaml":                 "recorder: no.yaml: does not exist; record it first with: recorder record --cassette no.yaml\n",
		"--check --cassette c.yaml --upstream bad":   "recorder: --upstream bad: use provider=URL, for example anthropic=http://127.0.0.1:9000\n",
	} {
		exit, stdout, stderr := d.recorder(append([]string{"refresh"}, strings.Fields(args)...)...)
		if exit != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: exit %d, %q %q", args, exit, stdout, stderr)
		}
	}
}

// What is sent is the recorded request: its body as it is, the headers and
// parameters that choose a reply, and the key in its provider's place.
func TestSenderSendsTheRequest(t *testing.T) {
	for _, tt := range []struct{ url, header, want string }{
		{"https://api.anthropic.com/v1/messages?beta=true&x=1", "X-Api-Key", "k"},
		{"https://api.openai.com/v1/responses", "Authorization", "Bearer k"},
		{"https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse&key=REDACTEDabcdefgh12", "X-Goog-Api-Key", "k"},
	} {
		s := &sender{keys: map[string]string{llm.Anthropic: "k", llm.OpenAI: "k", llm.Gemini: "k"}, now: time.Now}
		recorded := cassette.Request{Method: "POST", URL: tt.url, Body: []byte(`{"a": 1}`), Header: http.Header{
			"Content-Type": {"application/json"}, "Anthropic-Beta": {"b"}, "Cookie": {"c"}, "X-Api-Key": {"REDACTED"}, "Host": {"h"}}}
		r, err := s.request(context.Background(), recorded)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get(tt.header) != tt.want || string(body) != `{"a": 1}` || r.Header.Get("Cookie") != "" || r.Header.Get("Anthropic-Beta") != "b" ||
			r.Header.Get("Accept-Encoding") != "identity" || strings.Contains(r.URL.RawQuery, "key") || strings.Contains(r.URL.RawQuery, "x=") {
			t.Errorf("%s %v %s", r.URL, r.Header, body)
		}
		if strings.Contains(tt.url, "alt=sse") != (r.URL.RawQuery == "alt=sse") || strings.Contains(tt.url, "beta=") != (r.URL.RawQuery == "beta=true") {
			t.Errorf("%s: %s", tt.url, r.URL)
		}
	}
}
