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
		"claude-sonnet-4-5": "", "claude-sonnet-4-5-20250929": "", "claude-opus-4-5": "",
		"claude-opus-4-5-20251101": "",
		"claude-opus-4-6":          "", "claude-opus-4-10": "", "claude-sonnet-5": "", "claude-opus-5-5": "",
		"claude-fable-5-1": "", "claude-mythos-5": "",
		"gpt-5.2": "", "gpt-5.2-2025-12-11": "", "gpt-5.2-pro": "", "gpt-5.2-codex": "", "gpt-5.4-mini": "",
		"gpt-5.10": "", "gpt-6-astra": "", "gpt-6.1-sol": "",
		"gemini-3-pro-preview": "", "gemini-3-flash-preview": "", "gemini-3.1-pro-preview": "", "gemini-3.5-flash": "",
		"gemini-4-argon": "", "gemini-3.5-flash-001": "", "gemini-3.5-flash-preview-09-2026": "",
		"gpt-5.4-mini-2026-03-17": "",

		"claude-opus-4-20250514": "version 4.0 is below", "claude-sonnet-4-0": "version 4.0 is below",
		"claude-opus-4-1":            "version 4.1 is below",
		"claude-3-7-sonnet-20250219": "no family", "claude-haiku-4-5": "no family", "claude-sonet-4-5": "no family",
		"claude-mythos-preview":    "no family",
		"claude-opus-4-5-20991399": "no family", "claude-opus-4-5-20251301": "no family",
		"claude-opus-4-5-20990101": "no family", "claude-opus-45": "no family", "claude-opus-4-20": "no family",
		"gpt-5.20": "no family", "gpt-52": "no family", "gpt-5.2-2099-12-11": "no family",
		"gpt-5.2-20251211": "no family", "gemini-3.20-flash": "no family",
		"gemini-3-flash-preview-13-2025": "no family",
		"gpt-5":                          "version 5.0 is below", "gpt-5.1": "version 5.1 is below",
		"gpt-4o":  "no family",
		"gpt-4.1": "version 4.1 is below", "o3": "no family",
		"gpt-5.2-chat-latest": `leaves out "chat"`, "gpt-5.2-search-preview": `leaves out "search"`,
		"gemini-2.5-pro": "version 2.5 is below", "gemini-3-pro-image": `leaves out "image"`,
		"gemini-flash-latest": "no family", "gemini-3": "no family",
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
		"models: []": "models: is an empty list",
		"models: [{name: a, pattern: '(', minimum: '1.0'}]":    "models[0].pattern: is not a regular expression of RE2: missing closing )",
		"models: [{name: a, pattern: 'x(1)', minimum: '1.0'}]": "models[0].pattern: captures 1 groups",
		"models: [{name: a, pattern: '(1)(2)', minimum: '1'}]": `models[0].minimum: "1" is not major.minor`,
		"models: [{name: a, patern: x}]":                       `key "models[0].patern" is not known; did you mean pattern?`,
	} {
		if _, err := ParseModelPolicy("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A user's allowlist holds names and predicates beside rules in full.
func TestAllowlist(t *testing.T) {
	list := []string{"claude-opus-4-6", "gpt >= 5.5 !mini", " gemini-3.5-flash "}
	built, err := NewModelPolicy(list)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseModelPolicy("p.yaml", []byte(`models:
  - claude-opus-4-6
  - gpt >= 5.5 !mini
  - "gemini-3.5-flash"
  - {name: Local, pattern: '^local-(\d+)(?:\.(\d+))?$', minimum: "2.0"}
`))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]bool{
		"claude-opus-4-6": true, "claude-opus-4-6-20260101": true, "us.anthropic.claude-opus-4-6-v1:0": true,
		"claude-opus-4-60": false, "claude-opus-4-7": false,
		"gpt-5.5": true, "gpt-5.5-2026-01-02": true, "gpt-6": true, "gpt-5.4": false, "gpt-5.5-mini": false,
		"gpt":              false,
		"gemini-3.5-flash": true, "models/gemini-3.5-flash": true, "gemini-3.5-flash-lite": false, "": false,
		"local-1": false,
	} {
		if ok, reason := built.Allows(model); ok != want || ok == (reason != "") {
			t.Errorf("%q: %t %q", model, ok, reason)
		}
		if ok, _ := read.Allows(model); ok != want {
			t.Errorf("%q by the file: %t", model, ok)
		}
	}
	if ok, _ := read.Allows("local-2.1"); !ok {
		t.Error("a rule in full beside names is not read")
	}
	for text, want := range map[string]string{"": "without a name", "claud >= 4": "is not a family",
		"claude >=": "no version"} {
		if _, err := NewModelPolicy([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := NewModelPolicy(nil); err == nil {
		t.Error("an empty allowlist is accepted")
	}
	if _, err := ParseModelPolicy("p.yaml", []byte("models:\n  - claud >= 4\n")); err == nil ||
		!strings.Contains(err.Error(), "p.yaml:2:5: models[0]: ") {
		t.Errorf("%v does not name the line", err)
	}
}
