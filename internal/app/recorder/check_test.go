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

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/schemas"
)

const liveKey = "sk-ant-live0live0live0live0live0live"

// provider answers a check; what it does is up to the test.
func (d dir) check(handler http.HandlerFunc, args ...string) (exit int, stdout, stderr string) {
	d.t.Helper()
	upstream := httptest.NewServer(handler)
	defer upstream.Close()
	d.t.Setenv("HOME", d.path)
	args = append([]string{"refresh", "--check", "--cassette", "c.yaml", "--upstream", "anthropic=" + upstream.URL},
		args...)
	var out, errs strings.Builder
	d.t.Chdir(d.path)
	defer d.t.Chdir(d.home)
	exit = Run(context.Background(), args, strings.NewReader(""), &out, &errs,
		[]string{"HOME=" + d.path, "ANTHROPIC_API_KEY=" + liveKey})
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
		{"no drift", replies(list, same), "", ExitOK,
			"2 replies checked, about 46 tokens: 0 breaking, 0 notable, 0 cosmetic"},
		{"other words", replies(list, func(b string) string { return strings.ReplaceAll(b, "heron", "stork") }), "",
			ExitOK, "0 breaking, 0 notable, 0 cosmetic"},
		{"breaking", replies(list, remove("data: {\"type\":\"message_stop\"}\n\n")), "", ExitGate,
			"breaking    anthropic stream: ending: complete → without the provider's terminal event (#0 #1)"},
		{"a duty", replies(list, remove("data: {\"type\":\"message_stop\"}\n\n")), "", ExitGate,
			"breaking    anthropic stream: neglects SV-A5: All blocks are closed"},
		{"type",
			replies(list, func(b string) string {
				return strings.ReplaceAll(b, `"output_tokens":1}`,
					`"output_tokens":"1"}`)
			}), "", ExitGate,
			"breaking    anthropic stream: message_start message.usage.output_tokens: number → string"},
		{"new field",
			replies(list, func(b string) string {
				return strings.ReplaceAll(b, `"message":{`,
					`"message":{"mood":"good",`)
			}), "", ExitOK,
			"cosmetic    anthropic stream: + message_start message.mood (string)"},
		{"new field, strictly", replies(list,
			func(b string) string { return strings.ReplaceAll(b, `"message":{`, `"message":{"mood":"good",`) }),
			"--fail-on cosmetic", ExitGate, "2 replies checked"},
		{"the key, reflected", replies(list,
			func(b string) string { return strings.ReplaceAll(b, "end_turn", liveKey) }), "", ExitGate,
			"notable     anthropic stream: stop reason: end_turn → REDACTED"},
		{"nothing can be judged", func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "", ExitIncomplete,
			"unclear     #0  was answered with 429"},
		{"wrong key", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such key: "+liveKey, http.StatusUnauthorized)
		}, "", ExitIncomplete, "401"},
		{"refused", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"message":"`+r.Header.Get("X-Api-Key")+`"}}`)
		}, "", ExitGate, "breaking    anthropic stream: status: 200 → 400 (#0 #1)"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "data: {}\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "", ExitIncomplete, "the reply broke off"},
		{"too long", replies(list, same), "--max-bytes 200", ExitIncomplete, "the reply is longer than --max-bytes"},
		{"budget of requests", replies(list, same), "--max-requests 1", ExitOK,
			"left out    #1  beyond --max-requests 1"},
		{"budget of tokens", replies(list, same), "--max-tokens 22", ExitOK,
			"left out    #1  about 25 tokens, beyond --max-tokens 22"},
		{"budget overrun", replies(list,
			func(b string) string { return strings.ReplaceAll(b, `"output_tokens":12`, `"output_tokens":90`) }),
			"--max-tokens 46", ExitOK, "left out    #1  the budget was spent"},
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
	if exit != ExitOK || sent.Load() != 0 ||
		!strings.Contains(stdout, "would send  #1  anthropic claude-x, about 20 + 5 tokens") {
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
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || exit != ExitOK {
		t.Fatalf("exit %d, %v: %s", exit, err, stdout)
	}
	if r.Schema != "recorder.drift.v1" || len(r.Checked) != 2 || r.Checked[0].Tokens != 21 ||
		r.Summary["cosmetic"] != 1 || r.Findings[0].Path != "content_block.key" {
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
		if exit != ExitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: exit %d, %q %q", args, exit, stdout, stderr)
		}
	}
}
