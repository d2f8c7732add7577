package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestToolServer(t *testing.T) {
	var out strings.Builder
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"conform_echo","arguments":{"text":"heron"}}}
{"jsonrpc":"2.0","id":3,"method":"resources/list"}
`
	if err := toolServer(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`"protocolVersion":"2025-06-18"`,
		`"id":"x","jsonrpc":"2.0","result":{"content":[{"text":"heron"`, `"code":-32601`} {
		if len(lines) != 3 || !strings.Contains(lines[i], want) {
			t.Errorf("%d lines, want %s in %q", len(lines), want, lines)
		}
	}
}

// TestScripts: each agent's script is one that the simulator plays to the names
// that it gives its tools.
func TestScripts(t *testing.T) {
	all := []*agent{rkat(options{}, "anthropic"), claudeCode(), pi(), opencode()}
	names := []string{"bench__conform_echo", "mcp__bench__conform_echo", "conform_echo", "bench_conform_echo"}
	for i, a := range all {
		server, c, err := a.provider()
		if err != nil {
			t.Fatal(err)
		}
		body := `{"model":"claude-opus-4-6","max_tokens":4096,"messages":[{"role":"user","content":"` + question +
			`"}],"tools":[{"name":"` + names[i] +
			`","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/anthropic/v1/messages",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"},
			"Content-Type": {"application/json"}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || c.served.Load() != 1 {
			t.Errorf("%s: %s, %d served", a.name, resp.Status, c.served.Load())
		}
		server.Close()
	}
}

// TestMeasure: descendants count, and what is left behind ends.
func TestMeasure(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("it needs a program that can be told to take memory: python3")
	}
	// Short pauses, one after the other: a machine that stands still does not use them up.
	hold := `python3 -c 'import time; x=bytearray(64<<20); [time.sleep(0.01) for _ in range(100)]; print("held")'`
	f, out, err := measure(t.Context(), exec.Command("sh", "-c", hold+"; sleep 600 & true"))
	if err != nil || !strings.Contains(out, "held") {
		t.Fatalf("%v: %s", err, out)
	}
	if f.mib < 64 || f.mib > 200 || f.cpu <= 0 || f.wall < 200*time.Millisecond || f.wall > time.Minute {
		t.Errorf("%+v", f)
	}
	if _, out, err := measure(t.Context(), exec.Command("sh", "-c", "echo no >&2; exit 3")); err == nil ||
		out != "no\n" {
		t.Errorf("%v, %q", err, out)
	}
}

func TestBest(t *testing.T) {
	f := best([]figures{{3 * time.Second, 1 * time.Second, 10}, {2 * time.Second, 2 * time.Second, 30},
		{9 * time.Second, 9 * time.Second, 20}})
	if f.wall != 2*time.Second || f.cpu != time.Second || f.mib != 20 {
		t.Errorf("%+v", f)
	}
	if got := times(100, 9.8) + " " + times(98, 9.9) + " " + times(1, 0); got != "10 9.9 –" {
		t.Error(got)
	}
	if got := versionIn("codex-cli v0.169.0\n"); got != "0.169.0" {
		t.Error(got)
	}
}
