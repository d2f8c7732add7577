package simulator

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

const faulty = `Everything goes wrong.
requirements: ORD-001
-- scenario.yaml --
title: faults
providers:
  anthropic: {model: claude-opus-4-6}
  openai: {model: gpt-5.5}
  gemini: {model: gemini-3.5-flash}
player:
  - prompt: go
turns:
  - emit:
      - text: "Now it works, {{nonce}}."
    refuse: {kind: rate_limit, retry: seconds}
    grease: [unknown_event, unknown_field]
  - emit:
      - text: "It stops here and the rest never comes."
    stall: {after: 2}
  - emit:
      - call: {role: echo, partial: '{"text": "al'}
    stop: max_tokens
`

func faultyScenario(t *testing.T) *specs.Scenario {
	t.Helper()
	s, err := specs.ParseScenario("faulty.txtar", []byte(faulty))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRefusedAtFirst holds that a request that is turned down passes when it
// comes again, with unknown members in it.
func TestRefusedAtFirst(t *testing.T) {
	for name, ask := range asks {
		server, client := serve(t, New(Config{Scenario: faultyScenario(t), Seed: "faults"}))
		if got := send(t, client, ask(server.URL, 0, true)); got.status != http.StatusTooManyRequests ||
			(got.header.Get("Retry-After") == "") != (name[:3] == "gem") {
			t.Errorf("%s: first status %d, %v", name, got.status, got.header)
		}
		got := send(t, client, ask(server.URL, 0, true))
		if got.status != http.StatusOK || !bytes.Contains(got.body, []byte("x_future_field")) ||
			bytes.Contains(got.body, []byte("{{nonce")) {
			t.Errorf("%s: then status %d: %s", name, got.status, got.body)
		}
		if future := bytes.Contains(got.body, []byte("future_event")) ||
			bytes.Contains(got.body, []byte("futureUpdate")); future != (name != "gemini-array") {
			t.Errorf("%s: an unknown event: %t", name, future)
		}
	}
}

// TestStall holds that a stalled stream stays open until its client leaves.
func TestStall(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: faultyScenario(t), Seed: "faults"}))
	for name, ask := range asks {
		ctx, leave := context.WithCancel(t.Context())
		resp, err := client.Do(ask(server.URL, 1, true).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<16)
		if n, err := resp.Body.Read(buf); n == 0 || err != nil {
			t.Errorf("%s: read %d, %v", name, n, err)
		}
		leave()
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: the stream ends", name)
		}
		_ = resp.Body.Close()
	}
}

// TestCutInCall holds that a call for which the tokens did not suffice is not
// one that can be run: half of it streamed, nothing of it in a document.
func TestCutInCall(t *testing.T) {
	server, client := serve(t, New(Config{Scenario: faultyScenario(t), Seed: "faults"}))
	for name, ask := range asks {
		for _, stream := range []bool{true, false} {
			got := send(t, client, ask(server.URL, 2, stream))
			ended := map[string]string{"anthropic": `"max_tokens"`, "openai": `"max_output_tokens"`,
				"gemini": "MAX_TOKENS", "gemini-array": "MAX_TOKENS"}[name]
			if got.status != http.StatusOK || !bytes.Contains(got.body, []byte(ended)) {
				t.Errorf("%s: stream %t, status %d: %s", name, stream, got.status, got.body)
			}
		}
	}
}
