package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// IsComplete reports whether a reply body is all that the provider meant to send:
// a stream that reached the provider's terminal event, or one whole JSON
// document. Otherwise the connection ended too early. A body of a type that no
// provider sends counts as complete, because nothing in it shows where it ends.
// The stream of an unknown provider may end as any provider's does.
func IsComplete(provider, contentType string, body []byte) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case slices.Contains(jsonLines, media):
		return areWholeDocuments(body)
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		// Errors come as plain JSON even under text/event-stream, and Gemini
		// streams a JSON array when no client asks for SSE.
		return isWholeDocument(provider, body)
	case media == eventStream:
		return streamReachedEnd(provider, body)
	}
	return media != "application/json"
}

// jsonLines are the content types of one JSON document a line, such as the
// results of a batch. They have no terminal event and may end after any line.
var jsonLines = []string{"application/x-ndjson", "application/ndjson", "application/x-jsonl", "application/jsonl", "application/x-jsonlines"}

func areWholeDocuments(body []byte) bool {
	for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
		var one json.RawMessage
		if err := decoder.Decode(&one); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// isWholeDocument reports whether a JSON document is whole. An array of which no element is a
// chunk of a model's reply is one of another endpoint of Gemini's host.
func isWholeDocument(provider string, body []byte) bool {
	var chunks []chunk
	if provider != Gemini || json.Unmarshal(body, &chunks) != nil {
		return jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	}
	isModels := func(c chunk) bool { return c.Candidates != nil || c.UsageMetadata != nil || c.saysEnd() }
	return !slices.ContainsFunc(chunks, isModels) || isLastFinish(chunks)
}

func streamReachedEnd(provider string, body []byte) bool {
	switch provider {
	case OpenAI:
		return hasEventOfType(body, lastTypes[OpenAI]...) || isFinishedChatStream(body)
	case Anthropic:
		return hasEventOfType(body, lastTypes[Anthropic]...)
	case Gemini:
		return isFinishedGeminiStream(body)
	}
	return streamReachedEnd(Anthropic, body) || streamReachedEnd(OpenAI, body) || streamReachedEnd(Gemini, body)
}

// lastTypes are the types of the events that end a stream.
var lastTypes = map[string][]string{
	Anthropic: {"message_stop", "error"},
	OpenAI:    {"response.completed", "response.failed", "response.incomplete", "error"},
}

// IsTerminalEvent reports whether an event with this data ends a stream of its
// provider. Gemini may continue after such an event (see IsComplete). The stream
// of an unknown provider may end as any provider's does.
func IsTerminalEvent(provider string, data []byte) bool {
	switch provider {
	case Anthropic, OpenAI:
		return slices.ContainsFunc(lastTypes[provider], func(t string) bool { return isType(data, t) })
	case Gemini:
		var c chunk
		return json.Unmarshal(data, &c) == nil && c.saysEnd()
	}
	return IsTerminalEvent(Anthropic, data) || IsTerminalEvent(OpenAI, data) || IsTerminalEvent(Gemini, data)
}

func isType(data []byte, t string) bool {
	return bytes.Contains(data, []byte(t)) && typeOf(data) == t
}

// hasEventOfType reports whether an event of one of the types occurs. It need
// not be the last: gateways add a [DONE], and OpenAI sends response.failed after
// error.
func hasEventOfType(body []byte, types ...string) bool {
	for data := range completeEvents(body) {
		for _, t := range types {
			if isType(data, t) {
				return true
			}
		}
	}
	return false
}

// isFinishedChatStream reports whether a stream of chat completions, whose
// chunks have no type, reached its [DONE]. A [DONE] after typed events comes
// from a gateway and proves nothing: gateways send it after a cut as well.
func isFinishedChatStream(body []byte) bool {
	chunks, done := 0, false
	for data := range completeEvents(body) {
		switch {
		case done || typeOf(data) != "":
			return false
		case string(data) == "[DONE]":
			done = true
		default:
			chunks++
		}
	}
	return done && chunks > 0
}

func typeOf(data []byte) string {
	var event struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &event) // what is not JSON has no type
	return event.Type
}

// chunk is the part of a Gemini chunk that shows an ending.
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

func isFinishedGeminiStream(body []byte) bool {
	var chunks []chunk
	for data := range completeEvents(body) {
		var c chunk
		if json.Unmarshal(data, &c) == nil {
			chunks = append(chunks, c)
		}
	}
	return isLastFinish(chunks) || hasBareError(body)
}

// isLastFinish reports whether the stream was finished and stayed so: with code
// execution, content and another finishReason follow the first one.
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

// hasBareError reports whether the rest of the body is an error that Gemini
// wrote into a stream as JSON without a field name.
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
