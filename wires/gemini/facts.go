package gemini

import (
	"bytes"
	_ "embed" // for facts.yaml
	"encoding/json"
	"iter"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
)

//go:embed facts.yaml
var factFile []byte

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of generateContent.
func Wire() *wires.Wire {
	w := wires.Read("gemini", factFile)
	w.Clouds = []wires.Cloud{wires.Vertex("google")}
	w.Errors.Body = errorBody
	w.Errors.Event = func(status int, message string) (string, []byte) { return "", errorBody(status, message) }
	w.Ending.IsLast, w.Ending.IsWhole, w.Ending.IsWholeArray = isLastChunk, isFinishedStream, isFinishedArray
	return w
}

func errorBody(status int, message string) []byte {
	return wires.JSON(map[string]any{"error": map[string]any{"code": status, "message": message,
		"status": errorStatus(status)}})
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
