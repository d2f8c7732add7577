// Package chat is the wire of Chat Completions, which OpenAI made and many providers, gateways and local
// engines speak in dialects of their own.
//
// [Wire] has its facts, dialects.go the dialects as data. The rules C-1 and following and the wire format are
// in specs/wire-rules.md, section 5.4.
package chat

import (
	"bytes"
	"iter"
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of Chat Completions.
func Wire() *wires.Wire {
	return &wires.Wire{Name: "chat", Title: "Chat Completions", Vendor: "Chat Completions", Facts: wires.Facts{
		Host:      "api.openai.com",
		MoreHosts: publicHosts(),
		OwnHosts:  ownHosts(),
		BasePath:  "/v1",
		Paths:     regexp.MustCompile(`/chat/completions(/|$)`),
		Routes:    []wires.Route{{Path: regexp.MustCompile(`/chat/completions$`), Operation: wires.Generate}},
		Member:    "messages",
		Scripts:   wires.Scripts{Unplayed: true, Stops: []string{"end_turn", "tool_use", "max_tokens", "refusal", "content_filter"}, RefusesInText: true},
		Habits:    []wires.Habit{wires.TextArguments, wires.CacheKeys},
		Rules: map[wires.Breach]string{
			wires.RepeatedCall: "C-20", wires.ContextFull: "C-90",
		},
		Stops: wires.Stops{Unanswered: []string{"length", "content_filter", "error"}, Budget: "length", Filtered: "content_filter"},
		Usage: wires.Usage{
			Path: "usage", Input: "prompt_tokens", Output: "completion_tokens", Reasoning: "completion_tokens_details.reasoning_tokens",
			CacheRead:  "prompt_tokens_details.cached_tokens prompt_cache_hit_tokens",
			CacheWrite: "prompt_tokens_details.cache_write_tokens",
		},
		Tools: wires.Tools{
			Request: `{"model":"gpt-4.1","messages":[{"role":"user","content":"Hello."}],"tools":{tools}}`,
			List:    "tools", Type: "function", Inside: "function", Members: []string{"description", "strict"}, Schema: "parameters",
		},
		ReplyMember: "choices",
		Credentials: wires.Credentials{
			Header: "Authorization", Prefix: "Bearer ", Others: []string{"Api-Key"},
			RealKeys: []string{"sk-", "gsk_", "xai-"}, Missing: "You didn't provide an API key.",
		},
		Environment: wires.Environment{
			Keys:      []string{"CHAT_API_KEY", "OPENAI_API_KEY"},
			AgentKeys: []string{"OPENAI_API_KEY"},
			BaseURLs:  []string{"OPENAI_API_BASE"},
			Owners:    []string{"OPENAI_", "AZURE_OPENAI_", "OPENROUTER_", "DEEPSEEK_", "MISTRAL_", "GROQ_", "XAI_"},
		},
		Models: wires.Models{
			Path: "/v1/chat/completions", Words: []string{"chat"},
			Reply:  `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"{model}","choices":[{"index":0,"message":{"role":"assistant","content":"ok","refusal":null},"logprobs":null,"finish_reason":"stop"}]}`,
			Public: regexp.MustCompile(`^[a-zA-Z0-9._:/-]{1,80}$`),
		},
		Body: wires.Body{
			Required:     []string{"model", "messages"},
			Conversation: []string{"messages"}, Tools: []string{"tools", "functions"},
			Blocks: []string{"content", "tool_calls", "reasoning_details"}, IDs: []string{"id", "tool_call_id"},
			Tokens: []string{"thought_signature", "signature", "data"}, PromptRoles: []string{"system", "developer"},
		},
		Headers: wires.Headers{
			Clear:    []string{"openai-model", "openai-processing-ms", "openai-version", "x-groq-region", "x-inference-provider"},
			Accounts: []string{"openai-organization", "openai-project"},
		},
		Volatile: []wires.Volatile{
			{Name: "chat.metadata", Path: []string{"metadata"}},
			{Name: "chat.prompt_cache_key", Path: []string{"prompt_cache_key"}},
			{Name: "chat.safety_identifier", Path: []string{"safety_identifier"}},
			{Name: "chat.user", Path: []string{"user"}},
		},
		Errors: wires.Errors{Body: errorBody, Event: func(status int, message string) (string, []byte) { return "", errorBody(status, message) }},
		Ending: wires.Ending{Words: "a finish_reason or [DONE]", IsLast: isDone, IsWhole: isWhole},
	}}
}

func errorBody(status int, message string) []byte {
	kind := wires.NameOfStatus(map[int]string{429: "requests"}, status, "invalid_request_error", "server_error")
	return wires.JSON(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}})
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == rule.Done }

// isWhole reports whether a stream has [DONE], or says why the model stopped.
func isWhole(_ []byte, events iter.Seq[[]byte]) (whole bool) {
	for data := range events {
		if isDone(data) {
			return true
		}
		if bytes.Contains(data, []byte("finish_reason")) {
			chunk, _ := tree.Parse(data) // what is not JSON ends nothing
			for _, c := range chunk.Get("choices").List() {
				whole = whole || c.Get("finish_reason").Text() != ""
			}
		}
	}
	return whole
}
