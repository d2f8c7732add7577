package gemini

import (
	"bytes"
	"encoding/json"
	"iter"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
)

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of generateContent.
func Wire() *wires.Wire {
	return &wires.Wire{Name: "gemini", Title: "Gemini generateContent", Vendor: "Gemini", Facts: wires.Facts{
		Host:     "generativelanguage.googleapis.com",
		OwnHosts: regexp.MustCompile(`^(generativelanguage\.googleapis\.com|` + wires.VertexPattern + `)$`),
		Clouds:   []wires.Cloud{wires.Vertex("google")},
		Paths:    regexp.MustCompile(`/v1beta/models(/|$)|(^|/)[^/:]*:(streamGenerateContent|generateContent|countTokens)$`),
		Routes: []wires.Route{
			{Path: regexp.MustCompile(`/models/[^/]+:streamGenerateContent$`), Operation: wires.Stream},
			{Path: regexp.MustCompile(`/models/[^/]+:generateContent$`), Operation: wires.Unary},
			{Path: regexp.MustCompile(`:countTokens$`), Operation: wires.Count},
			// Code Assist, which gemini-cli with a Google account calls.
			{Path: regexp.MustCompile(`:streamGenerateContent$`), Operation: wires.Stream, Enveloped: true},
			{Path: regexp.MustCompile(`:generateContent$`), Operation: wires.Unary, Enveloped: true},
			{Path: regexp.MustCompile(`/v1(alpha|beta)[0-9]*/interactions$`), Operation: wires.Other, API: "the Interactions API of Gemini"},
			{Path: regexp.MustCompile(`/v1(alpha|beta)?[0-9]*/(models|files|cachedContents|batches)\b`), Operation: wires.Other},
		},
		Member:        "contents",
		RequestSchema: "gemini.request", EventSchema: "gemini.chunk",
		Scripts: wires.Scripts{
			Stops:   []string{"end_turn", "tool_use", "max_tokens", "refusal", "content_filter", "blocked_prompt"},
			Greases: []string{"leading_stop", "usage_trailer"},
		},
		Habits: []wires.Habit{wires.Contents, wires.SignedParts, wires.TwoSpellings, wires.ServerParts, wires.PromptFirst, wires.QuotaIsRate},
		Rules: map[wires.Breach]string{
			wires.OutOfOrder:   "G-17",
			wires.ForeignToken: "G-18", wires.MovedToken: "G-17", wires.ContextFull: "G-29",
		},
		Stops: wires.Stops{
			Unanswered: []string{
				"MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
				"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "OTHER",
			},
			Declined: []string{"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "OTHER"}, Budget: "MAX_TOKENS",
		},
		Usage: wires.Usage{
			Path: "usageMetadata usage_metadata", Input: "promptTokenCount prompt_token_count",
			CacheRead: "cachedContentTokenCount cached_content_token_count", Output: "candidatesTokenCount candidates_token_count",
			Reasoning: "thoughtsTokenCount thoughts_token_count", ReasoningApart: true, ToolInput: "toolUsePromptTokenCount tool_use_prompt_token_count",
		},
		Tools: wires.Tools{
			Request: `{"contents":[{"role":"user","parts":[{"text":"Hello."}]}],"tools":[{"functionDeclarations":{tools}}]}`,
			List:    "tools[0].functionDeclarations", Members: []string{"description"},
			Schema: "parametersJsonSchema", OtherSchema: "parameters",
		},
		ReplyMember: "candidates",
		Credentials: wires.Credentials{
			Header: "X-Goog-Api-Key", Others: []string{"Authorization"}, Parameter: "key", Accounts: []string{"X-Goog-Api-Key"},
			RealKeys: []string{"AIza", "AQ.", "ya29."},
		},
		Environment: wires.Environment{
			Keys:      []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			AgentKeys: []string{"GEMINI_API_KEY"},
			BaseURLs:  []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"}, CloudURLs: [][2]string{{"GOOGLE_VERTEX_BASE_URL", ""}},
			Owners: []string{"GEMINI_", "GOOGLE_", "CODE_ASSIST_"},
		},
		Models: wires.Models{
			Path: "/v1beta/models/{model}:generateContent", StreamPath: "/v1beta/models/{model}:streamGenerateContent?alt=sse",
			Default: "gemini-3.5-flash", Words: []string{"google", "gemini"},
			Reply:  `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP","index":0}],"modelVersion":"{model}","responseId":"r1"}`,
			Public: regexp.MustCompile(`^gemini-[a-z0-9.-]{1,40}$`),
		},
		Body: wires.Body{
			Token:        "thoughtSignature",
			Required:     []string{"contents"},
			Conversation: []string{"contents"}, Prompt: []string{"systemInstruction", "system_instruction"}, Tools: []string{"tools"},
			Envelope:      []string{"request"}, // as Code Assist wraps a request
			Blocks:        []string{"parts", "functionCall", "function_call", "functionResponse", "function_response"},
			IDs:           []string{"id"},
			Tokens:        []string{"thoughtSignature", "thought_signature"},
			ResultMembers: []string{"functionResponse", "function_response"},
		},
		Headers: wires.Headers{
			Clear: []string{"x-cloud-trace-context", "x-gemini-service-tier", "x-goog-api-client", "x-goog-request-params", "x-goog-user-project"},
		},
		Volatile: []wires.Volatile{
			{Name: "gemini.labels", Path: []string{"labels"}},
			{Name: "gemini.request.session_id", Path: []string{"request", "session_id"}}, // of Code Assist's envelope
			{Name: "gemini.user_prompt_id", Path: []string{"user_prompt_id"}},
		},
		Errors: wires.Errors{
			Body: errorBody, Common: 503,
			Event: func(status int, message string) (string, []byte) { return "", errorBody(status, message) },
		},
		Ending: wires.Ending{Words: "a finishReason", IsLast: isLastChunk, IsWhole: isFinishedStream, IsWholeArray: isFinishedArray, MayGoOn: true},
	}}
}

func errorBody(status int, message string) []byte {
	return wires.JSON(map[string]any{"error": map[string]any{"code": status, "message": message, "status": errorStatus(status)}})
}

// errorStatus returns Google's name of a status.
func errorStatus(status int) string {
	named := map[int]string{
		401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
		429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 501: "UNIMPLEMENTED",
		503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	return wires.NameOfStatus(named, status, "INVALID_ARGUMENT", "INTERNAL")
}

// chunk is the part of a chunk that shows an ending.
type chunk struct {
	Candidates []struct {
		FinishReason string `json:"finishReason"`
		Content      struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata json.RawMessage `json:"usageMetadata"`
	Error         json.RawMessage `json:"error"`
}

func isLastChunk(data []byte) bool {
	var c chunk
	return json.Unmarshal(data, &c) == nil && c.saysEnd()
}

func isFinishedStream(body []byte, events iter.Seq[[]byte]) bool {
	var chunks []chunk
	for data := range events {
		var c chunk
		if json.Unmarshal(data, &c) == nil {
			chunks = append(chunks, c)
		}
	}
	return isLastFinish(chunks) || hasBareError(body)
}

// isFinishedArray reports whether an array of chunks reached its end. An array of which no element is a
// chunk of a model's reply is one of another endpoint of the host, and whole.
func isFinishedArray(body []byte) bool {
	var chunks []chunk
	if json.Unmarshal(body, &chunks) != nil {
		return true // the syntax decides
	}
	isModels := func(c chunk) bool { return c.Candidates != nil || c.UsageMetadata != nil || c.saysEnd() }
	return !slices.ContainsFunc(chunks, isModels) || isLastFinish(chunks)
}

// isLastFinish reports whether the stream was finished and stayed so: with code execution, content
// and another finishReason follow the first one.
func isLastFinish(chunks []chunk) (done bool) {
	for _, c := range chunks {
		done = done && !c.hasContent() || c.saysEnd()
	}
	return done
}

func (c chunk) saysEnd() bool {
	for _, candidate := range c.Candidates {
		if candidate.FinishReason != "" {
			return true
		}
	}
	return c.PromptFeedback.BlockReason != "" || len(c.Error) > 0
}

func (c chunk) hasContent() bool {
	for _, candidate := range c.Candidates {
		if len(candidate.Content.Parts) > 0 {
			return true
		}
	}
	return false
}

// hasBareError reports whether the rest of the body is an error that Gemini wrote into a stream as
// JSON without a field name.
func hasBareError(body []byte) bool {
	for _, start := range []string{"\n{", "\n["} {
		if at := bytes.LastIndex(body, []byte(start)); at >= 0 {
			text := bytes.Trim(bytes.TrimSpace(body[at:]), "[]")
			var c chunk
			if json.Unmarshal(text, &c) == nil && len(c.Error) > 0 {
				return true
			}
		}
	}
	return false
}
