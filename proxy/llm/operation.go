package llm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Operation is what a request asks a provider for.
type Operation string

// The operations. Everything else is Other.
const (
	Stream Operation = "stream" // a generated reply in pieces
	Unary  Operation = "unary"  // a generated reply in one piece
	Count  Operation = "count"  // tokens of a would-be request
	Models Operation = "models" // the list of models, or one of them
	Other  Operation = "other"
)

// OperationOf returns what a request asks for. Anthropic and OpenAI say only in
// the body whether the reply is streamed; Gemini says so in the path.
func OperationOf(method string, u *url.URL, body []byte) Operation {
	path := strings.TrimSuffix(u.Path, "/")
	if method == http.MethodGet {
		return getOperation(path, u.Query())
	}
	if method != http.MethodPost {
		return Other
	}
	switch Provider(u.Host, path) {
	case Anthropic:
		return anthropicOperation(path, body)
	case OpenAI:
		return openAIOperation(path, body)
	case Gemini:
		return geminiOperation(path)
	}
	return Other
}

// getOperation covers lists of models, and a stored OpenAI response that is
// resumed as a stream.
func getOperation(path string, query url.Values) Operation {
	switch {
	case hasSegments(path, "/models"):
		return Models
	case hasSegments(path, "/v1/responses") && query.Get("stream") == "true":
		return Stream
	}
	return Other
}

func anthropicOperation(path string, body []byte) Operation {
	switch {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, "/count-tokens:rawPredict"):
		return Count
	case strings.HasSuffix(path, ":streamRawPredict"):
		return Stream
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, ":rawPredict"):
		return generateOperation(body)
	}
	return Other
}

func openAIOperation(path string, body []byte) Operation {
	switch {
	case strings.HasSuffix(path, "/responses/input_tokens"):
		return Count
	case strings.HasSuffix(path, "/responses"):
		return generateOperation(body)
	}
	return Other
}

// IsResponses reports whether a path is that of OpenAI's Responses API, which takes
// WebSockets as well.
func IsResponses(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(path, "/"), "/responses")
}

func geminiOperation(path string) Operation {
	switch geminiVerb(path) {
	case "streamGenerateContent":
		return Stream
	case "generateContent":
		return Unary
	case "countTokens":
		return Count
	}
	return Other
}

// geminiVerb returns what follows the colon of a path like models/x:countTokens.
func geminiVerb(path string) string {
	_, verb, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	switch verb {
	case "streamGenerateContent", "generateContent", "countTokens":
		return verb
	}
	return ""
}

// createMessage is the type of a request that came as a WebSocket message, whose reply is
// always a stream.
const createMessage = "response.create"

func generateOperation(body []byte) Operation {
	var request struct {
		Type   string `json:"type"`
		Stream bool   `json:"stream"`
	}
	if json.Unmarshal(body, &request) == nil && (request.Stream || request.Type == createMessage) {
		return Stream
	}
	return Unary
}
