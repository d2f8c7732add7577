package llm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
)

const sse = "text/event-stream; charset=utf-8"

func TestTerminal(t *testing.T) {
	const (
		stop   = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		finish = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n"
		more   = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"y\"}]}}]}\r\n\r\n"
		usage  = "data: {\"usageMetadata\":{}}\r\n\r\n"
	)
	for _, tt := range []struct {
		name, provider, kind, body string
		want                       bool
	}{
		{"anthropic stop", "anthropic", sse, "data: {\"type\":\"message_start\"}\n\n" + stop, true},
		{"anthropic error", "anthropic", sse,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", true},
		{"anthropic stop and DONE", "anthropic", sse, stop + "data: [DONE]\n\n", true},
		{"anthropic padded", "anthropic", sse, "data: {\"type\":\"message_stop\"         }\n\n", true},
		{"anthropic cut before the blank line", "anthropic", sse, strings.TrimSuffix(stop, "\n"), false},
		{"anthropic cut in the event", "anthropic", sse, stop[:20], false},
		{"anthropic only speaks of it", "anthropic", sse,
			"data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"message_stop\"}}\n\n", false},
		{"anthropic in a comment", "anthropic", sse, ": {\"type\":\"message_stop\"}\n\n", false},
		{"anthropic data over two lines", "anthropic", sse, "data: {\"type\":\ndata: \"message_stop\"}\n\n", true},
		{"anthropic CR, with a byte order mark", "anthropic", sse, "\ufeffdata:{\"type\":\"message_stop\"}\r\r", true},
		{"anthropic empty", "anthropic", sse, "", false},
		{"openai completed", "openai", sse, "data: {\"type\":\"response.completed\"}\n\n", true},
		{"openai incomplete", "openai", sse, "data: {\"type\":\"response.incomplete\"}\n\n", true},
		{"openai failed", "openai", sse,
			"data: {\"type\":\"error\"}\n\ndata: {\"type\":\"response.failed\"}\n\n", true},
		{"chat chunks and DONE", "openai", sse,
			"data: {\"object\":\"chat.completion.chunk\"}\n\ndata: [DONE]\n\n", true},
		{"chat chunks without DONE", "openai", sse, "data: {\"object\":\"chat.completion.chunk\"}\n\n", false},
		{"chat chunks of somebody else's API", "", sse,
			"data: {\"object\":\"chat.completion.chunk\"}\n\ndata: [DONE]\n\n", true},
		{"nothing but DONE", "openai", sse, "data: [DONE]\n\n", false},
		{"openai DONE alone", "openai", sse, "data: {\"type\":\"response.created\"}\n\ndata: [DONE]\n\n", false},
		{"gemini finish", "gemini", sse, more + finish, true},
		{"gemini usage after finish", "gemini", sse, finish + usage, true},
		{"gemini content after finish", "gemini", sse, finish + more, false},
		{"gemini second finish", "gemini", sse, finish + more + finish, true},
		{"gemini no finish", "gemini", sse, more + usage, false},
		{"gemini blocked", "gemini", sse, "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n", true},
		{"gemini error event", "gemini", sse, more + "data: {\"error\":{\"code\":503}}\n\n", true},
		{"gemini bare error", "gemini", sse, more + "{\n  \"error\": {\n    \"code\": 503\n  }\n}\n", true},
		{"gemini bare error in an array", "gemini", sse, more + "[{\"error\": {\"code\": 503}}]", true},
		{"gemini cut bare error", "gemini", sse, more + "{\"error\": {\"co", false},
		{"gemini plain error under sse", "gemini", sse, "{\"error\":{\"code\":400}}", true},
		{"gemini array", "gemini", "application/json",
			"[{\"candidates\":[{\"content\":{\"parts\":[{}]}}]}\n,\r\n{\"candidates\":[{\"finishReason\":\"STOP\"}]}]",
			true},
		{"gemini cut array", "gemini", "application/json", "[{\"candidates\":[{\"finishReason\":\"STOP\"}]}\n,", false},
		{"gemini array without finish", "gemini", "application/json",
			"[{\"candidates\":[{\"content\":{\"parts\":[{}]}}]}]", false},
		{"gemini array of usage alone", "gemini", "application/json", "[{\"usageMetadata\":{}}]", false},
		{"array of another endpoint of Gemini's host", "gemini", "application/json", "[{\"status\":202}]", true},
		{"document", "anthropic", "application/json", "{\"type\":\"message\"}", true},
		{"cut document", "anthropic", "application/json", "{\"type\":\"mess", false},
		{"empty document", "openai", "application/json", "", false},
		{"json lines", "anthropic", "application/x-jsonl", "{\"custom_id\":\"a\"}\n{\"custom_id\":\"b\"}\n", true},
		{"cut json lines", "openai", "application/x-ndjson", "{\"a\":1}\n{\"b\":", false},
		{"no json lines", "openai", "application/jsonl", "", true},
		{"page of a gateway", "anthropic", "text/html", "<html>", true},
		{"unknown provider's stream", "", sse, "data: {\"type\":\"response.completed\"}\n\n", true},
		{"unknown provider's cut stream", "", sse, "data: {\"type\":\"response.created\"}\n\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := IsComplete(tt.provider, tt.kind, []byte(tt.body)); got != tt.want {
				t.Errorf("Terminal = %v, want %v for %q", got, tt.want, tt.body)
			}
		})
	}
}

// unfinished are the recordings whose stream has no end, and why.
var unfinished = map[string]string{
	"rig__anthropic.prompt_caching.streaming_prompt_caching_reuses_tool_cache":              "the source trimmed the last blank line",
	"vertexai-sdk-test-data__googleai.streaming-failure-prompt-blocked-safety":              "no last blank line",
	"vertexai-sdk-test-data__googleai.streaming-success-finish-message":                     "no last blank line",
	"vertexai-sdk-test-data__googleai.streaming-success-no-content-parts":                   "no last blank line",
	"vertexai-sdk-test-data__vertexai.streaming-failure-prompt-blocked-safety-with-message": "no last blank line",
	"vertexai-sdk-test-data__vertexai.streaming-failure-empty-content":                      "no finishReason",
	"vertexai-sdk-test-data__vertexai.streaming-failure-invalid-json":                       "no JSON",
	"vertexai-sdk-test-data__vertexai.streaming-failure-malformed-content":                  "no finishReason",
	"vertexai-sdk-test-data__vertexai.streaming-success-quotes-escaped":                     "no finishReason",
}

// Every recorded stream is complete except for the ones listed, and none is when
// it is cut at a quarter or a half.
func TestTerminalOnRecordedTraffic(t *testing.T) {
	bodies := corpus.Files(t, "*/*/*.response.body")
	streams, open := 0, map[string]bool{}
	for _, path := range bodies {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(body, []byte("event:")) && !bytes.HasPrefix(body, []byte("data:")) {
			continue
		}
		streams++
		dir := filepath.Dir(path)
		provider := filepath.Base(filepath.Dir(dir))
		if !IsComplete(provider, sse, body) {
			open[filepath.Base(dir)] = true
		}
		for _, cut := range []int{len(body) / 4, len(body) / 2} {
			// Servers of 2023 wrote finishReason into every chunk.
			early := provider == "gemini" && bytes.Contains(body[:cut], []byte("finishReason"))
			if IsComplete(provider, sse, body[:cut]) && !early {
				t.Errorf("%s counts as complete at byte %d of %d", path, cut, len(body))
			}
		}
	}
	for name := range open {
		if unfinished[name] == "" {
			t.Errorf("%s counts as cut", name)
		}
	}
	for name, why := range unfinished {
		if !open[name] {
			t.Errorf("%s counts as complete (%s)", name, why)
		}
	}
	t.Logf("%d streams, %d of %d cases without an end", streams, len(open), len(unfinished))
}

func FuzzTerminal(f *testing.F) {
	f.Add("anthropic", sse, "data: {\"type\":\"message_stop\"}\n\n")
	f.Add("gemini", sse, "data: {}\r\n\r\n[{\"error\":{}}]")
	f.Add("gemini", "application/json", "[{\"candidates\":[{\"finishReason\":\"STOP\"}]}]")
	f.Fuzz(func(t *testing.T, provider, kind, body string) {
		before := strings.Clone(body)
		data := []byte(body)
		whole := IsComplete(provider, kind, data)
		if string(data) != before {
			t.Fatal("the body changed")
		}
		// Within SSE only a completed event can end a stream.
		if whole && strings.HasPrefix(kind, "text/event-stream") && !strings.ContainsAny(body, "\r\n{[") {
			t.Fatalf("%q has no event", body)
		}
	})
}
