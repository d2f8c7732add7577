package specs

import "testing"

// TestIsServedAs: snapshots, clouds, previews and what latest means are the model that was
// asked for; another size, version or family is not.
func TestIsServedAs(t *testing.T) {
	for _, pair := range [][2]string{
		{"gpt-5", "gpt-5-2025-08-07"}, {"gpt-4", "gpt-4-0613"}, {"gpt-5.6", "gpt-5.6-sol"},
		{"o3-pro", "o3-pro-2025-06-10"},
		{"claude-opus-4-0", "claude-opus-4-20250514"}, {"claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"},
		{"us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"}, {"claude-opus-4-6[1m]", "claude-opus-4-6"},
		{"anthropic/claude-sonnet-4.5", "anthropic/claude-4.5-sonnet-20250929"},
		{"claude-haiku-4-5@20251001", "claude-haiku-4-5-20251001"},
		{"models/gemini-2.0-flash", "gemini-2.0-flash"}, {"gemini-2.5-pro-preview-03-25", "models/gemini-2.5-pro"},
		{"gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"}, {"gemini-3-pro-preview", "gemini-3.1-pro-preview"},
		{"gpt-35-turbo", "gpt-3.5-turbo-0125"}, {"gpt-4-vision-preview", "gpt-4-1106-vision-preview"},
		{"us.anthropic.claude-3-sonnet-20240229-v1:0", "claude-3-sonnet-28k-20240229"},
		{"gemini-2.0-flash", "gemini-2.0-flash-001"}, {"openai/gpt-5.2:free", "gpt-5.2-2025-12-11"},
	} {
		if !IsServedAs(pair[0], pair[1]) {
			t.Errorf("%s is not served as %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{"gpt-5.3-codex", "gpt-5.2"}, {"gpt-5", "gpt-5-mini-2025-08-07"}, {"gpt-6-astra", "gpt-5.5-2026-04-23"},
		{"gpt-5.6", "gpt-5.6-luna"},
		{"claude-fable-5", "claude-opus-4-8"}, {"claude-opus-4-5", "claude-opus-4-6"},
		{"claude-opus-4-5", "claude-sonnet-4-5"},
		{"gemini-3-pro-preview", "gemini-3-flash-preview"}, {"gemini-flash-latest", "gemini-2.5-flash-lite"},
		{"gemini-2.5-pro", "gemini-2.5-flash"}, {"gpt-5.2", "deepseek-v3"},
	} {
		if IsServedAs(pair[0], pair[1]) {
			t.Errorf("%s is served as %s", pair[0], pair[1])
		}
	}
}
