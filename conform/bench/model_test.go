package bench

import (
	"regexp"
	"strconv"
	"strings"
)

// The names of models by maker. Their groups are the two parts of the version.
var (
	claudeForm = regexp.MustCompile(`^claude-(?:(?:opus|sonnet|haiku|fable|mythos)-)?(\d+)(?:[-.](\d{1,2}))?(?:-|$)`)
	gptForm    = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)
	geminiForm = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?`)
)

// versionOf is the version in a model's name, e.g. 4.7, 0 for models of other names.
func versionOf(model string, form *regexp.Regexp) float64 {
	m := form.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	version, err := strconv.ParseFloat(m[1]+"."+m[2]+"0", 64)
	if err != nil {
		return 0
	}
	return version
}

func isClaudeManual(model string) bool {
	v := versionOf(model, claudeForm)
	return v > 0 && v <= 4.5
}

func isClaudeAdaptiveOnly(model string) bool { return versionOf(model, claudeForm) >= 4.7 }

// isReasoningGPT holds for models that reason; chat variants are left out.
func isReasoningGPT(model string) bool {
	return versionOf(model, gptForm) >= 5 && !strings.Contains(model, "chat")
}
