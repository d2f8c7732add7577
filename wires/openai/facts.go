package openai

import (
	"encoding/json"
	"iter"
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
)

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of the Responses API.
func Wire() *wires.Wire {
	return &wires.Wire{Name: "openai", Title: "OpenAI Responses", Vendor: "OpenAI", Facts: wires.Facts{
		Host:       "api.openai.com",
		OtherHosts: []string{"chatgpt.com"}, // of codex that is logged in to ChatGPT
		OwnHosts:   regexp.MustCompile(`^(([a-z0-9-]+\.)*openai\.com|chatgpt\.com|[a-z0-9-]+\.openai\.azure\.com)$`),
		BasePath:   "/v1",
		// The second path is that of codex at chatgpt.com.
		Paths: regexp.MustCompile(`/v1/responses(/|$)|/backend-api/codex/responses(/|$)`),
		Routes: []wires.Route{
			{Path: regexp.MustCompile(`/input_tokens$`), Operation: wires.Count},
			{Path: regexp.MustCompile(`/responses$`), Operation: wires.Generate},
			{Path: regexp.MustCompile(`/responses/compact$`), Operation: wires.Compact},
			{Path: regexp.MustCompile(`/responses/resp_[^/]+$`), Operation: wires.Stored},
			{Path: regexp.MustCompile(`/v1(alpha|beta)?[0-9]*/(models|files|conversations|responses|batches|embeddings|uploads)\b`), Operation: wires.Other},
		},
		Member: "input", SocketMessage: "response.create",
		RequestSchema: "openai.request", EventSchema: "openai.event",
		Scripts: wires.Scripts{
			Stops:         []string{"end_turn", "tool_use", "max_tokens", "refusal", "content_filter"},
			RefusesInText: true, LosesReplies: true,
		},
		Habits: []wires.Habit{
			wires.ItemList, wires.EncryptedItems, wires.StoresReplies, wires.TextArguments, wires.NamesCallers, wires.Namespaces,
			wires.CacheKeys,
		},
		Rules: map[wires.Breach]string{
			wires.RepeatedCall: "O-9", wires.RepeatedItem: "O-9", wires.OutOfOrder: "O-12",
			wires.ForeignToken: "O-15", wires.ForeignCompaction: "O-15", wires.MovedToken: "O-12", wires.ContextFull: "O-27", wires.NotPDF: "O-30",
		},
		Stops: wires.Stops{
			Unanswered: []string{"incomplete"}, Budget: "incomplete", BudgetWord: "max_output_tokens", Filtered: "content_filter",
		},
		Usage: wires.Usage{
			Path: "usage response.usage", Input: "input_tokens", Output: "output_tokens",
			CacheRead: "input_tokens_details.cached_tokens", Reasoning: "output_tokens_details.reasoning_tokens",
		},
		Tools: wires.Tools{
			Request: `{"model":"gpt-5.2","input":"Hello.","tools":{tools}}`,
			List:    "tools", Type: "function", Members: []string{"description", "strict"}, Schema: "parameters",
		},
		ReplyMember: "output", EventStart: `{"type":"response.completed","sequence_number":0,"response":`,
		Credentials: wires.Credentials{
			Header: "Authorization", Prefix: "Bearer ", Accounts: []string{"Openai-Organization", "Openai-Project"},
			RealKeys: []string{"sk-", "sess-"},
			Missing:  "You didn't provide an API key.",
		},
		Environment: wires.Environment{
			Keys:      []string{"OPENAI_API_KEY"},
			AgentKeys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
			BaseURLs:  []string{"OPENAI_BASE_URL"},
			Owners:    []string{"OPENAI_", "AZURE_OPENAI_", "CODEX_"},
		},
		Models: wires.Models{
			Families: []string{"gpt", "o"},
			Path:     "/v1/responses", Words: []string{"openai", "gpt", "codex"},
			Reply:  `{"id":"resp_1","object":"response","status":"completed","model":"{model}","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}]}`,
			Public: regexp.MustCompile(`^(gpt|o[0-9]|codex|chatgpt)[a-z0-9.-]{0,40}$`),
		},
		Body: wires.Body{
			Token:        "encrypted_content",
			Required:     []string{"model"},
			Conversation: []string{"input", "messages"}, Prompt: []string{"instructions"}, Tools: []string{"tools", "functions"},
			Blocks: []string{"content"}, IDs: []string{"id", "call_id", "tool_call_id", "approval_request_id"},
			CacheMarks: []string{"prompt_cache_breakpoint"}, Tokens: []string{"encrypted_content"},
			PromptRoles: []string{"system", "developer"},
		},
		Headers: wires.Headers{
			Clear: []string{
				"azureml-model-session", "conversation_id", "openai-beta", "openai-model", "openai-processing-ms", "openai-version",
				"originator", "session_id", "x-codex-turn-metadata", "x-ms-client-request-id",
			},
			Accounts: []string{"openai-organization", "openai-project"},
			Payers:   []string{"chatgpt-account-id"},
		},
		Volatile: []wires.Volatile{
			{Name: "openai.client_metadata", Path: []string{"client_metadata"}},
			{Name: "openai.metadata", Path: []string{"metadata"}},
			{Name: "openai.prompt_cache_key", Path: []string{"prompt_cache_key"}},
			{Name: "openai.safety_identifier", Path: []string{"safety_identifier"}},
			{Name: "openai.user", Path: []string{"user"}},
		},
		Errors: wires.Errors{Body: errorBody, Event: errorEvent},
		Ending: wires.Ending{
			Words: "response.completed, incomplete or failed", Types: []string{"response.completed", "response.failed", "response.incomplete", "error"},
			IsWhole: isFinishedChatStream,
		},
	}}
}

func errorBody(status int, message string) []byte {
	kind, code := errorType(status)
	return wires.JSON(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": code}})
}

func errorEvent(status int, message string) (name string, data []byte) {
	kind, code := errorType(status)
	return "error", wires.JSON(map[string]any{"type": "error",
		"error": map[string]any{"type": kind, "code": code, "message": message, "param": nil}})
}

// errorType returns the type and the code of the errors that have a status. The code is nil where
// OpenAI has none.
func errorType(status int) (string, any) {
	switch status {
	case 401:
		return "invalid_request_error", "invalid_api_key"
	case 429:
		return "requests", "rate_limit_exceeded"
	}
	return wires.NameOfStatus(nil, status, "invalid_request_error", "server_error"), nil
}

// isFinishedChatStream reports whether a stream of chat completions, whose chunks have no type,
// reached its [DONE]. A [DONE] after typed events comes from a gateway and proves nothing: gateways
// send it after a cut as well.
func isFinishedChatStream(_ []byte, events iter.Seq[[]byte]) bool {
	chunks, done := 0, false
	for data := range events {
		var event struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(data, &event) // what is not JSON has no type
		switch {
		case done || event.Type != "":
			return false
		case string(data) == "[DONE]":
			done = true
		default:
			chunks++
		}
	}
	return done && chunks > 0
}
