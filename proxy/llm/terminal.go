package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"
)

// Terminal reports whether a reply's body is all that the provider meant to
// send: a stream that reached the provider's terminal event, or one whole JSON
// document. Only then was an end of file an end and not a cut (reference §3).
// A body of a type no provider replies with is taken as complete: nothing in
// it could tell. An unknown provider's stream may end in any of their ways.
func Terminal(provider, contentType string, body []byte) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case slices.Contains(jsonLines, media):
		return documents(body)
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		// Errors come as plain JSON even under text/event-stream, and Gemini
		// streams a JSON array when nobody asks for SSE.
		return document(provider, body)
	case media == eventStream:
		return stream(provider, body)
	}
	return media != "application/json"
}

// jsonLines are the names under which JSON documents come one a line, as the
// results of a batch do: they have no terminal event, and end after any line.
var jsonLines = []string{"application/x-ndjson", "application/ndjson", "application/x-jsonl", "application/jsonl", "application/x-jsonlines"}

func documents(body []byte) bool {
	for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
		var one json.RawMessage
		if err := decoder.Decode(&one); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func document(provider string, body []byte) bool {
	var chunks []chunk
	if provider != Gemini || json.Unmarshal(body, &chunks) != nil {
		return json.Valid(body)
	}
	return lastFinish(chunks)
}

func stream(provider string, body []byte) bool {
	switch provider {
	case OpenAI:
		return typed(body, lastTypes[OpenAI]...) || chatStream(body)
	case Anthropic:
		return typed(body, lastTypes[Anthropic]...)
	case Gemini:
		return geminiStream(body)
	}
	return stream(Anthropic, body) || stream(OpenAI, body) || stream(Gemini, body)
}

// lastTypes are the types of the events that end a stream.
var lastTypes = map[string][]string{
	Anthropic: {"message_stop", "error"},
	OpenAI:    {"response.completed", "response.failed", "response.incomplete", "error"},
}

// Ends reports whether a stream is over, as its provider means it, with an
// event of this data. Gemini may go on after such an event (see Terminal). An
// unknown provider's stream may end in any of their ways.
func Ends(provider string, data []byte) bool {
	switch provider {
	case Anthropic, OpenAI:
		return slices.ContainsFunc(lastTypes[provider], func(t string) bool { return isType(data, t) })
	case Gemini:
		var c chunk
		return json.Unmarshal(data, &c) == nil && c.ends()
	}
	return Ends(Anthropic, data) || Ends(OpenAI, data) || Ends(Gemini, data)
}

func isType(data []byte, t string) bool {
	return bytes.Contains(data, []byte(t)) && typeOf(data) == t
}

// typed reports whether an event of one of the types occurs. It need not be
// the last: gateways add a [DONE], and OpenAI sends response.failed after error.
func typed(body []byte, types ...string) bool {
	for data := range events(body) {
		for _, t := range types {
			if isType(data, t) {
				return true
			}
		}
	}
	return false
}

// chatStream reports whether a stream of chat completions, whose chunks have no
// type, came to its [DONE]. Beside typed events a [DONE] is a gateway's and
// proves nothing: gateways send it after a cut, too.
func chatStream(body []byte) bool {
	chunks, done := 0, false
	for data := range events(body) {
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
	_ = json.Unmarshal(data, &event) // what is no JSON has no type
	return event.Type
}

// chunk is what of a Gemini chunk speaks of endings.
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
	Error json.RawMessage `json:"error"`
}

func geminiStream(body []byte) bool {
	var chunks []chunk
	for data := range events(body) {
		var c chunk
		if json.Unmarshal(data, &c) == nil {
			chunks = append(chunks, c)
		}
	}
	return lastFinish(chunks) || bareError(body)
}

// lastFinish reports whether the stream was finished and stayed so: with code
// execution, content and another finishReason follow the first one.
func lastFinish(chunks []chunk) (done bool) {
	for _, c := range chunks {
		done = done && !c.speaks() || c.ends()
	}
	return done
}

func (c chunk) ends() bool {
	for _, candidate := range c.Candidates {
		if candidate.FinishReason != "" {
			return true
		}
	}
	return c.PromptFeedback.BlockReason != "" || len(c.Error) > 0
}

func (c chunk) speaks() bool {
	for _, candidate := range c.Candidates {
		if len(candidate.Content.Parts) > 0 {
			return true
		}
	}
	return false
}

// bareError finds the error that Gemini may write into a stream as JSON without
// a field name: the rest of the body from there.
func bareError(body []byte) bool {
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
