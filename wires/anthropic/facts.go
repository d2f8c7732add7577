package anthropic

import (
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
)

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of the Messages API.
func Wire() *wires.Wire {
	return &wires.Wire{Name: "anthropic", Title: "Anthropic Messages", Vendor: "Anthropic", Facts: wires.Facts{
		Host:     "api.anthropic.com",
		OwnHosts: regexp.MustCompile(`^(([a-z0-9-]+\.)*anthropic\.com|` + wires.VertexPattern + `)$`),
		Clouds:   []wires.Cloud{wires.Vertex("anthropic")},
		Paths:    regexp.MustCompile(`/v1/messages(/|$)`),
		Routes: []wires.Route{
			{Path: regexp.MustCompile(`/count_tokens$|/publishers/anthropic/models/count-tokens:rawPredict$`), Operation: wires.Count},
			{Path: regexp.MustCompile(`/v1/messages$`), Operation: wires.Generate},
			{Path: regexp.MustCompile(`/publishers/anthropic/models/[^/]+:streamRawPredict$`), Operation: wires.Stream},
			{Path: regexp.MustCompile(`/publishers/anthropic/models/[^/]+:rawPredict$|/model/[^/]*anthropic[^/]*/invoke$`), Operation: wires.Generate},
			{Path: regexp.MustCompile(`/v1(alpha|beta)?[0-9]*/(models|files|messages/batches)\b`), Operation: wires.Other},
		},
		Header: "Anthropic-Version", Member: "messages",
		Required:      map[string]string{"Anthropic-Version": "2023-06-01"},
		RequestSchema: "anthropic.request", EventSchema: "anthropic.event",
		Scripts: wires.Scripts{
			Stops:   []string{"end_turn", "tool_use", "max_tokens", "refusal", "pause_turn", "model_context_window_exceeded"},
			Greases: []string{"duplicate_start"},
		},
		Habits: []wires.Habit{
			wires.Blocks, wires.SignedThinking, wires.MarksErrors, wires.ResultsTogether, wires.ResultsInTurn,
			wires.NamesCallers, wires.ServerTools, wires.Citations, wires.MarksCache, wires.Betas,
			wires.KeepsDeclining,
		},
		Rules: map[wires.Breach]string{
			wires.RepeatedCall: "A-18",
			wires.OutOfOrder:   "A-37", wires.ForeignToken: "A-34", wires.SignedText: "A-37", wires.ContextFull: "A-45",
			wires.NotPDF: "A-46", wires.NotUnicode: "ANT-X10", wires.MovedToken: "A-37",
		},
		Stops: wires.Stops{
			Unanswered: []string{"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"},
			Declined:   []string{"refusal"}, Budget: "max_tokens",
		},
		Usage: wires.Usage{
			Path: "usage message.usage", Input: "input_tokens", Output: "output_tokens",
			CacheRead: "cache_read_input_tokens", CacheWrite: "cache_creation_input_tokens", CacheApart: true,
		},
		Tools: wires.Tools{
			Request: `{"model":"claude-opus-4-6","max_tokens":1024,"messages":[{"role":"user","content":"Hello."}],"tools":{tools}}`,
			List:    "tools", Members: []string{"description", "strict"}, Schema: "input_schema",
		},
		BetaHeader:  "anthropic-beta",
		ReplyMember: "content", EventStart: `{"type":"message_start","message":`, Events: messageEvents,
		Credentials: wires.Credentials{
			Header: "X-Api-Key", Others: []string{"Authorization"}, Accounts: []string{"X-Api-Key"},
			RealKeys: []string{"sk-"},
			Missing:  "x-api-key header is required",
		},
		Environment: wires.Environment{
			Keys:      []string{"ANTHROPIC_API_KEY"},
			AgentKeys: []string{"ANTHROPIC_API_KEY"},
			BaseURLs:  []string{"ANTHROPIC_BASE_URL"}, CloudURLs: [][2]string{{"ANTHROPIC_VERTEX_BASE_URL", "/v1"}},
			Owners: []string{"ANTHROPIC_", "CLAUDE_"},
		},
		Models: wires.Models{
			Path: "/v1/messages", Words: []string{"anthropic", "claude", "opus", "sonnet", "haiku", "fable"},
			Reply:  `{"id":"msg_1","type":"message","role":"assistant","model":"{model}","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
			Public: regexp.MustCompile(`^claude-[a-z0-9.@-]{1,40}$`),
		},
		Body: wires.Body{
			Token:        "signature",
			Required:     []string{"model", "messages", "max_tokens"},
			Conversation: []string{"messages"}, Prompt: []string{"system"}, Tools: []string{"tools", "mcp_servers"},
			Blocks: []string{"content"}, IDs: []string{"id", "tool_use_id"}, CacheMarks: []string{"cache_control"},
			Tokens: []string{"signature", "data"}, PromptRoles: []string{"system"}, ResultTypes: []string{"tool_result"},
		},
		Headers: wires.Headers{
			Clear: []string{
				"anthropic-beta", "anthropic-dangerous-direct-browser-access", "anthropic-version", "request-id", "x-app",
				"x-claude-code-session-id",
			},
			ClearPrefixes: []string{"anthropic-ratelimit-"},
			Accounts:      []string{"anthropic-organization-id", "anthropic-workspace-id"},
			Payers:        []string{"anthropic-user-profile-id"},
		},
		Volatile: []wires.Volatile{
			// Claude Code describes itself in the first block of its system prompt, with a checksum that
			// differs in each request.
			{Name: "anthropic.system.billing-header", Path: []string{"system", "[]"}, Text: "x-anthropic-billing-header:"},
			{Name: "anthropic.metadata", Path: []string{"metadata"}},
		},
		Errors: wires.Errors{
			Body: errorBody, Common: 529, PingName: "ping", PingData: `{"type": "ping"}`,
			Event: func(status int, message string) (string, []byte) { return "error", errorBody(status, message) },
		},
		Ending: wires.Ending{Words: "message_stop", Types: []string{"message_stop", "error"}},
	}}
}

func errorBody(status int, message string) []byte {
	return wires.JSON(map[string]any{"type": "error", "error": map[string]any{"type": errorType(status), "message": message}})
}

// errorType returns the type of the errors that have a status.
func errorType(status int) string {
	named := map[int]string{
		401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 409: "conflict_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}
	return wires.NameOfStatus(named, status, "invalid_request_error", "api_error")
}
