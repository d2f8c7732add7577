package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/gateway"
	"github.com/meerkat-go/conformance/wires"
)

// counters are those of a provider's cache: all that was read, and the part that came from the cache.
type counters struct{ input, cached float64 }

// countingGateway is one between Messages and Chat Completions that carries texts in one piece, with the counters that
// count leaves.
type countingGateway struct {
	front, upstream string
	count           func(counters) counters
}

type object = map[string]any

func (g countingGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked object
	_ = json.NewDecoder(r.Body).Decode(&asked)
	path, id := "/chat/v1/chat/completions", "Request-Id"
	header := http.Header{"Authorization": {"Bearer test-upstream-key"}}
	messages := asked["messages"].([]any)
	switch g.front {
	case "anthropic":
		if asked["system"] != nil {
			messages = append([]any{object{"role": "system", "content": asked["system"]}}, messages...)
		}
		asked = object{"model": "deepseek-v4-pro", "max_tokens": asked["max_tokens"]}
	case "chat":
		path, id = "/anthropic/v1/messages", "X-Request-Id"
		header = http.Header{"X-Api-Key": {"test-upstream-key"}, "Anthropic-Version": {"2023-06-01"}}
		asked = object{"model": "claude-opus-4-6", "max_tokens": 4096}
		if first := messages[0].(object); first["role"] == "system" {
			asked["system"], messages = first["content"], messages[1:]
		}
	}
	for i, m := range messages {
		messages[i] = object{"role": m.(object)["role"], "content": textIn(m.(object)["content"])}
	}
	asked["messages"] = messages
	body, _ := json.Marshal(asked)
	out, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, g.upstream+path, bytes.NewReader(body))
	out.Header = header
	out.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, _ := io.ReadAll(resp.Body)
	var said object
	_ = json.Unmarshal(data, &said)
	w.Header().Set(id, resp.Header.Get("X-Request-Id")+resp.Header.Get("Request-Id"))
	w.Header().Set("Content-Type", "application/json")
	if resp.StatusCode != http.StatusOK {
		w.WriteHeader(resp.StatusCode)
	} else if g.front == "anthropic" {
		said = g.asMessage(said)
	} else {
		said = g.asCompletion(said)
	}
	_ = json.NewEncoder(w).Encode(said)
}

func (g countingGateway) asMessage(said object) object {
	message := said["choices"].([]any)[0].(object)["message"].(object)
	u := said["usage"].(object)
	n := g.count(counters{u["prompt_tokens"].(float64), u["prompt_tokens_details"].(object)["cached_tokens"].(float64)})
	return object{"id": "msg_1", "type": "message", "role": "assistant", "model": said["model"], "stop_reason": "end_turn",
		"stop_sequence": nil, "content": []any{
			object{"type": "thinking", "thinking": message["reasoning_content"], "signature": ""},
			object{"type": "text", "text": message["content"]}},
		"usage": object{"input_tokens": n.input - n.cached, "cache_read_input_tokens": n.cached,
			"cache_creation_input_tokens": 0, "output_tokens": u["completion_tokens"]}}
}

func (g countingGateway) asCompletion(said object) object {
	u := said["usage"].(object)
	read := u["cache_read_input_tokens"].(float64)
	n := g.count(counters{u["input_tokens"].(float64) + u["cache_creation_input_tokens"].(float64) + read, read})
	output := u["output_tokens"].(float64)
	return object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": said["model"],
		"choices": []any{object{"index": 0, "finish_reason": "stop",
			"message": object{"role": "assistant", "content": textIn(said["content"])}}},
		"usage": object{"prompt_tokens": n.input, "completion_tokens": output, "total_tokens": n.input + output,
			"prompt_tokens_details": object{"cached_tokens": n.cached}}}
}

// textIn is the text of a content in whatever form.
func textIn(content any) string {
	if text, isText := content.(string); isText {
		return text
	}
	var texts []string
	for _, block := range content.([]any) {
		if text, isText := block.(object)["text"].(string); isText {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// TestCachedTokens holds that a gateway between two wires that drops, adds up or makes up tokens of the cache is found
// with the counters of both sides, and that one that converts them is not.
func TestCachedTokens(t *testing.T) {
	for _, tt := range []struct {
		front, behind, name string
		count               func(counters) counters
		want                string // the first finding
	}{
		{"anthropic", "chat", "converts", func(n counters) counters { return n }, ""},
		{"anthropic", "chat", "drops", func(n counters) counters { return counters{n.input, 0} },
			"the upstream read 1536 of 1612 tokens of input from its cache, and the client reads 0"},
		{"anthropic", "chat", "leaves out", func(n counters) counters { return counters{n.input - n.cached, 0} },
			"the upstream counted 1612 (1536 from the cache) tokens of input, and the client reads 76"},
		{"anthropic", "chat", "adds up", func(n counters) counters { return counters{n.input + n.cached, n.cached} },
			"the upstream counted 1612 (1536 from the cache) tokens of input, and the client reads 3148 (1536 from the cache)"},
		{"chat", "anthropic", "converts", func(n counters) counters { return n }, ""},
		{"chat", "anthropic", "drops", func(n counters) counters { return counters{n.input, 0} },
			"the upstream read 1543 of 1570 tokens of input from its cache, and the client reads 0"},
		{"chat", "anthropic", "leaves out", func(n counters) counters { return counters{n.input - n.cached, 0} },
			"the upstream counted 1570 (1543 from the cache) tokens of input, and the client reads 27"},
		{"chat", "anthropic", "adds up", func(n counters) counters { return counters{n.input + n.cached, n.cached} },
			"the upstream counted 1570 (1543 from the cache) tokens of input, and the client reads 3113 (1543 from the cache)"},
		{"chat", "anthropic", "makes up", func(n counters) counters { return counters{n.input, n.cached + 9} },
			"the upstream read 0 of 1543 tokens of input from its cache, and the client reads 9"},
	} {
		t.Run(tt.front+" "+tt.name, func(t *testing.T) {
			up, err := gateway.Open("")
			if err != nil {
				t.Fatal(err)
			}
			defer up.Close()
			front := httptest.NewServer(countingGateway{tt.front, up.URL, tt.count})
			defer front.Close()
			out, err := gateway.Judge(context.Background(), gateway.Config{
				Wire: wires.Find(tt.front), UpstreamWire: wires.Find(tt.behind), Upstream: up, Base: front.URL,
				ClientKey: "test-client-key", UpstreamKey: "test-upstream-key",
				Only: func(name string) bool {
					return name == "cached-prompt/"+tt.front+"-to-"+tt.behind+"/unary"
				}})
			if err != nil {
				t.Fatal(err)
			}
			got, isUsageSeen := "", false
			for _, c := range out.Cases {
				for _, r := range c.Results() {
					for _, f := range r.Findings {
						if f.Check == "GW-24" && got == "" {
							got = f.Message
						}
					}
					isUsageSeen = isUsageSeen || r.Requirement == "GW-24"
				}
			}
			if !isUsageSeen || got != tt.want {
				t.Errorf("got %q, want %q; usage was seen: %v", got, tt.want, isUsageSeen)
			}
		})
	}
}
