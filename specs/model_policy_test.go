package specs

import (
	"strings"
	"testing"
)

func TestModelPolicy(t *testing.T) {
	m, err := Models()
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"claude-sonnet-4-5": "", "claude-sonnet-4-5-20250929": "", "claude-opus-4-5": "", "claude-opus-4-5-20251101": "",
		"claude-opus-4-6": "", "claude-opus-4-10": "", "claude-sonnet-5": "", "claude-opus-5-5": "", "claude-fable-5-1": "", "claude-mythos-5": "",
		"gpt-5.2": "", "gpt-5.2-2025-12-11": "", "gpt-5.2-pro": "", "gpt-5.2-codex": "", "gpt-5.4-mini": "", "gpt-5.10": "", "gpt-6-astra": "", "gpt-6.1-sol": "",
		"gemini-3-pro-preview": "", "gemini-3-flash-preview": "", "gemini-3.1-pro-preview": "", "gemini-3.5-flash": "", "gemini-4-argon": "",

		"claude-opus-4-20250514": "version 4.0 is below", "claude-sonnet-4-0": "version 4.0 is below", "claude-opus-4-1": "version 4.1 is below",
		"claude-3-7-sonnet-20250219": "no family", "claude-haiku-4-5": "no family", "claude-sonet-4-5": "no family", "claude-mythos-preview": "no family",
		"gpt-5": "version 5.0 is below", "gpt-5.1": "version 5.1 is below", "gpt-4o": "no family", "gpt-4.1": "version 4.1 is below", "o3": "no family",
		"gpt-5.2-chat-latest": `leaves out "chat"`, "gpt-5.2-search-preview": `leaves out "search"`,
		"gemini-2.5-pro": "version 2.5 is below", "gemini-3-pro-image": `leaves out "image"`, "gemini-flash-latest": "no family", "gemini-3": "no family",
		"": "no family", "GPT-5.2": "no family", "gpt-5.2 ": "no family",
	} {
		ok, reason := m.Allows(model)
		if ok != (want == "") || !strings.Contains(reason, want) {
			t.Errorf("%q: %v %q, want %q", model, ok, reason, want)
		}
	}
}

func TestModelPolicyRefused(t *testing.T) {
	for text, want := range map[string]string{
		"models: []": "no rule",
		"models: [{name: a, pattern: '(', minimum: '1.0'}]":    "a: error parsing regexp",
		"models: [{name: a, pattern: 'x(1)', minimum: '1.0'}]": "captures 1 groups",
		"models: [{name: a, pattern: '(1)(2)', minimum: '1'}]": "not major.minor",
		"models: [{name: a, patern: x}]":                       "patern",
		"models: {":                                            "p.yaml",
	} {
		if _, err := parseModelPolicy("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
