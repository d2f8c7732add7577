package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
)

// neglectful are the recordings that show a neglected duty: somebody edited their bytes, a recorder
// lost some, or another server answered under the provider's name.
var neglectful = map[string]string{
	"anthropic/rig__anthropic.prompt_caching.streaming_prompt_caching_reuses_tool_cache":           "SV-H4",
	"gemini/prism__Fixtures.gemini.generate-text-with-a-prompt-with-no-thinking-budget-1":          "SV-G7",
	"gemini/prism__Fixtures.gemini.generate-text-with-a-prompt-with-thinking-budget-1":             "SV-G7",
	"gemini/prism__Fixtures.gemini.image-detection-1":                                              "SV-G7",
	"gemini/prism__Fixtures.gemini.media-detection":                                                "SV-G7",
	"gemini/vertexai-sdk-test-data__googleai.streaming-failure-prompt-blocked-safety":              "SV-H4",
	"gemini/vertexai-sdk-test-data__googleai.streaming-success-finish-message":                     "SV-H4 SV-G7",
	"gemini/vertexai-sdk-test-data__googleai.streaming-success-no-content-parts":                   "SV-H4",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-empty-content":                      "SV-G3",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-invalid-json":                       "SV-G3",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-malformed-content":                  "SV-G3",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-failure-prompt-blocked-safety-with-message": "SV-H4",
	"gemini/vertexai-sdk-test-data__vertexai.streaming-success-quotes-escaped":                     "SV-H4 SV-G3",
	"gemini/vertexai-sdk-test-data__vertexai.unary-failure-invalid-response":                       "SV-H10",
	"gemini/vertexai-sdk-test-data__vertexai.unary-success-empty-text-part":                        "SV-G3",
	"openai/ai__openai.github-copilot-id-rotation.1.chunks":                                        "SV-O6 SV-O11",
}

// TestProvidersKeepTheirDuties holds the rules of replies against all that the providers themselves
// were recorded to send.
func TestProvidersKeepTheirDuties(t *testing.T) {
	root, recordings := readCorpus(t)
	rules := report.ServerRules()
	seen := map[string]bool{}
	for _, rec := range recordings {
		judged := report.JudgeRecording(rules, rec)
		name := strings.TrimPrefix(strings.ReplaceAll(rec.Path, "\\", "/"), root)
		for _, f := range judged.Findings {
			if seen[name] = true; !strings.Contains(neglectful[name]+" ", f.Requirement+" ") {
				t.Errorf("%s: %s, %s", name, f.Requirement, f.Message)
			}
		}
	}
	for name := range neglectful {
		if !seen[name] {
			t.Errorf("%s: nothing is found there any more", name)
		}
	}
}
