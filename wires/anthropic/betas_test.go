package anthropic

import (
	"regexp"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
)

// Members of a beta are refused without it, in the words for unknown members, at
// live too; what no table names is refused at strict only.
func TestBetaMembers(t *testing.T) {
	scoped := func(in string) string { return `"cache_control":{"type":"ephemeral","scope":` + in + `}` }
	for _, c := range []struct{ beta, members, says string }{
		{"prompt-caching-scope-2026-01-05", `"system":[{"type":"text","text":"s",` + scoped(`"global"`) + `}]`,
			"system.0.cache_control.scope"},
		{"prompt-caching-scope-2026-01-05", said(user(`{"type":"text","text":"a",` + scoped(`"global"`) + `}`)),
			"messages.0.content.0.text.cache_control.scope"},
		{"prompt-caching-evict-2026-05-12", `"cache_control":{"type":"ephemeral","evict_on_complete":true}`,
			"cache_control.evict_on_complete"},
		{"context-management-2025-06-27", `"context_management":{"edits":[]}`, "context_management"},
		{"mcp-client-2025-11-20", `"mcp_servers":[]`, "mcp_servers"},
		{"message-threads-2026-08-12", `"thread":{"type":"continue"}`, "thread"},
		{"mid-conversation-system-clear-at-2026-08-21", opus55 + "," +
			said(aPrompt, `{"role":"system","content":"x","clear_at":"next_user_message"}`), "messages.1.clear_at"},
		{"per-turn-control-2026-07-01", opus55 + "," + said(aPrompt,
			`{"role":"system","content":[],"output_config":{"effort":"low"}}`), "messages.1.output_config"},
		{"thinking-binding-controls-2026-08-01", opus55 + `,"thinking":{"type":"adaptive","block_binding":{}}`,
			"thinking.adaptive.block_binding"},
		{"task-budgets-2026-03-13", opus55 + `,"output_config":{"task_budget":{"type":"tokens","total":9}}`,
			"output_config.task_budget"},
	} {
		body := with(t, c.members)
		if got := check(body, "Anthropic-Beta: "+c.beta); got != nil {
			t.Errorf("%s: refused with its beta: %v", c.says, got)
		}
		for _, level := range []rule.Level{rule.Strict, rule.Live} {
			got := Parse(ask("/v1/messages", body, "Anthropic-Beta: claude-code-20250219"),
				[]byte(body)).Check(rule.Env{Key: env.Key, Level: level})
			if got == nil || got.Rule != "A-5" || got.Message != c.says+": Extra inputs are not permitted" {
				t.Errorf("%s at %v: %v", c.says, level, got)
			}
		}
	}
	unknown := with(t, `"brand_new":1`)
	if got := check(unknown); got == nil || got.Rule != "A-5" {
		t.Errorf("an unknown member at strict: %v", got)
	}
	if got := Parse(ask("/v1/messages", unknown), []byte(unknown)).Check(rule.Env{Key: env.Key, Level: rule.Live}); got != nil {
		t.Errorf("an unknown member at live: %v", got)
	}
}

// Values that public code sends are taken, and those that the API is known to refuse are not.
func TestPublicBetas(t *testing.T) {
	_, public, _ := strings.Cut(betaFile, "each with its source.\n")
	for line := range strings.Lines(public) {
		name, source, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got := check(with(t, ""), "Anthropic-Beta: "+name); got != nil || source == "" {
			t.Errorf("%s of %q: %v", name, source, got)
		}
	}
	for _, name := range []string{"extended-cache-ttl-2025-02-19", "citations-2024-11-01"} {
		if got := check(with(t, ""), "Anthropic-Beta: "+name); got == nil || got.Rule != "A-4" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A beta lets models take system messages that otherwise take none.
func TestSystemBeta(t *testing.T) {
	body := with(t, opus47+","+said(aPrompt, `{"role":"system","content":"x"}`))
	if got := check(body); got == nil || got.Rule != "A-9" {
		t.Errorf("without the beta: %v", got)
	}
	if got := check(body, "Anthropic-Beta: "+betaSystem); got != nil {
		t.Errorf("with the beta: %v", got)
	}
}

// Every beta is listed once, and its paths are none that another table reads.
func TestBetasAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range Betas() {
		if seen[b.Name] || !regexp.MustCompile(`^[a-z0-9-]+-20\d\d-?\d\d-?\d\d$`).MatchString(b.Name) {
			t.Errorf("%s: twice, or no name of a beta", b.Name)
		}
		seen[b.Name] = true
	}
}
