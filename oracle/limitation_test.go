package oracle

import (
	"regexp"
	"strings"
)

// limitations names the recordings a judge cannot decide, and why. A reason
// states what the SDK does with these bytes, not what we do.
var limitations = map[string]string{
	"gemini/ai__google.google-stream-no-args-tool-call.chunks/01":                                        partialArgs,
	"gemini/ai__google.google-stream-tool-call-arguments.chunks/01":                                      partialArgs,
	"gemini/ai__google.google-stream-tool-call-array-arguments-missing-terminal-function-call.chunks/01": partialArgs,
	"gemini/ai__google.google-vertex-stream-tool-call-arguments-nested.1.chunks/01":                      partialArgs,
}

const partialArgs = "Vertex streams the arguments as partialArgs; genai hands the pieces out one by one and never assembles a call"

// unfinished names the recordings without a finishReason: genai reads to the
// end of the bytes and never asks for one. All are fixtures that their authors
// cut short or edited.
var unfinished = map[string]string{
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-empty-content/01":     "edited: one chunk with empty content",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-invalid-json/01":      "edited: JSON of another shape",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-malformed-content/01": "edited: parts misspelt",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-success-quotes-escaped/01":    "no chunk names a finishReason",
}

func limitation(r recording) string { return limitations[r.provider+"/"+r.name] }

var placeholder = regexp.MustCompile(`signature_REDACTED_\d+`)

// judgeable makes the placeholders that one source put in place of signatures
// base64 again, so that genai, which decodes them, can read the rest.
func judgeable(body []byte) []byte {
	return placeholder.ReplaceAllFunc(body, func(m []byte) []byte {
		s := strings.ReplaceAll(string(m), "_", "/")
		return []byte(s + strings.Repeat("A", (4-len(s)%4)%4))
	})
}
