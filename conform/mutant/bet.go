package mutant

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// betaMutants lose betas, and write for clouds what only the public API takes.
var betaMutants = []Mutant{
	{"drop-history-beta", "keeps the blocks of a beta and drops its header", []string{"BET-001"}, changeBetas("mcp-client-2025-11-20", "", func(e *editor) bool {
		return strings.Contains(string(e.x.Request.Body), `"mcp_tool_use"`)
	})},
	{"other-tool-beta", "asks for the beta of another version of a tool", []string{"BET-002"}, changeBetas("computer-use-2025-01-24", "computer-use-2024-10-22", always)},
	{"no-cloud-version", "sends a cloud no version in the body", []string{"BET-003"}, changeCloud(func(e *editor) bool { return dropMember(e.doc, "anthropic_version") })},
	{"model-to-cloud", "sends a cloud the model in the body", []string{"BET-003"}, changeCloud(func(e *editor) bool {
		return setMember(e.doc, "model", jsonString("claude-opus-4-5"))
	})},
	{"drop-turn-beta", "drops the header for thinking between calls in a turn", []string{"BET-004"}, changeBetas("interleaved-thinking-2025-05-14", "", func(e *editor) bool { return e.n > 0 })},
}

func always(*editor) bool { return true }

// changeBetas makes a mutant that takes a beta from the header of the first request for
// which fits returns true, and puts another in its place.
func changeBetas(old, replacement string, fits func(e *editor) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeHeaders(func(e *editor) bool {
		var kept []string
		has := false
		for _, b := range strings.Split(e.header("Anthropic-Beta"), ",") {
			if strings.TrimSpace(b) != old {
				kept = append(kept, b)
				continue
			}
			has = true
			if replacement != "" {
				kept = append(kept, replacement)
			}
		}
		if !has || !fits(e) || len(kept) == 0 {
			return false
		}
		e.x.Request.Header.Set("Anthropic-Beta", strings.Join(kept, ","))
		return true
	})
}

func changeCloud(change func(e *editor) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		isCloud := strings.Contains(e.x.Request.URL, "aiplatform.googleapis.com") || strings.Contains(e.x.Request.URL, "bedrock-runtime")
		return isCloud && change(e)
	}, evidence.Anthropic)
}
