package specs

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires"
)

// TestCapabilities: each row is reached by the models it is for.
func TestCapabilities(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		ok              func(Capability) bool
	}{
		{"anthropic", "claude-opus-4-5-20251101", func(c Capability) bool {
			return slices.Contains(c.Efforts, "high") && !slices.Contains(c.Thinking, "adaptive")
		}},
		{"anthropic", "claude-haiku-4-5", func(c Capability) bool { return c.Efforts != nil && len(c.Efforts) == 0 }},
		{"anthropic", "claude-3-7-sonnet-latest",
			func(c Capability) bool { return slices.Contains(c.Thinking, "enabled") }},
		{"anthropic", "claude-opus-4-7",
			func(c Capability) bool { return c.DoesRefuse("sampling") && !slices.Contains(c.Thinking, "enabled") }},
		{"anthropic", "claude-opus-5-5",
			func(c Capability) bool { return c.DoesRefuse("forced tools") && len(c.Thinking) == 1 }},
		{"anthropic", "claude-opus-5", func(c Capability) bool { return c.DoesRefuse("disabled at xhigh") }},
		{"anthropic", "claude-sonnet-5-5",
			func(c Capability) bool { return c.Efforts == nil && !c.DoesRefuse("forced tools") }},
		{"anthropic", "kimi-k2", func(c Capability) bool { return c.Thinking == nil }},
		{"openai", "gpt-4o-mini", func(c Capability) bool { return c.Reasoning == "never" }},
		{"openai", "gpt-5.2", func(c Capability) bool {
			return c.Reasoning == "off" &&
				!slices.Contains(c.Efforts, "minimal")
		}},
		{"openai", "gpt-5.2-chat-latest", func(c Capability) bool { return len(c.Efforts) == 1 }},
		{"openai", "gpt-5-nano", func(c Capability) bool { return slices.Contains(c.Efforts, "minimal") }},
		{"openai", "o4-mini", func(c Capability) bool { return c.Reasoning == "always" }},
		{"openai", "gpt-oss-120b", func(c Capability) bool { return c.Reasoning == "" }},
		{"gemini", "gemini-3-pro-preview",
			func(c Capability) bool { return !slices.Contains(c.Levels, "MINIMAL") && c.DoesRefuse("zero budget") }},
		{"gemini", "gemini-3-flash-preview", func(c Capability) bool { return slices.Contains(c.Levels, "MINIMAL") }},
		{"gemini", "gemini-2.5-flash-lite", func(c Capability) bool { return c.Budget[0] == 512 }},
		{"gemini", "gemini-2.0-flash",
			func(c Capability) bool { return c.Levels != nil && len(c.Levels) == 0 && c.Budget == nil }},
	} {
		if got := FindCapability(c.provider, c.model); !c.ok(got) {
			t.Errorf("%s: %+v", c.model, got)
		}
	}
	for provider := range capabilities() {
		if wires.Find(provider) == nil {
			t.Errorf("capabilities.yaml: %s is not the name of a wire", provider)
		}
	}
	for text, want := range map[string]string{
		"openai:\n  - {models: gpt, refuses: [air]}": `refuses[0]: "air" is not known`,
		"openai:\n  - {refuses: [prefill]}":          `key "openai[0].models" is missing`,
		"openai:\n  - {models: gpt, budget: [1]}":    "two numbers",
	} {
		if _, err := parseCapabilities("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
