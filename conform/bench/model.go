package bench

import (
	"regexp"
	"strconv"
	"strings"
)

var claudeForm = regexp.MustCompile(`^claude-(?:(opus|sonnet|haiku|fable|mythos)-)?(\d+)(?:[-.](\d{1,2}))?(?:-|$)`)

// claudeVersion is the version in a model's name, e.g. 4.7, 0 when it has none.
func claudeVersion(model string) float64 {
	m := claudeForm.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	version, err := strconv.ParseFloat(m[2]+"."+m[3]+"0", 64)
	if err != nil {
		return 0
	}
	return version
}

func isClaudeManual(model string) bool {
	v := claudeVersion(model)
	return v > 0 && v <= 4.5
}

func isClaudeAdaptiveOnly(model string) bool {
	v := claudeVersion(model)
	return v >= 4.7
}

var gptForm = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)

// gptVersion is the version in a model's name, 0 for models of other names.
func gptVersion(model string) float64 {
	m := gptForm.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1]+"."+m[2]+"0", 64)
	if err != nil {
		return 0
	}
	return v
}

// isReasoningGPT holds for models that reason; chat variants are left out.
func isReasoningGPT(model string) bool {
	return gptVersion(model) >= 5 && !strings.Contains(model, "chat")
}

var geminiForm = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?`)

func geminiVersion(model string) float64 {
	m := geminiForm.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1]+"."+m[2]+"0", 64)
	if err != nil {
		return 0
	}
	return v
}
