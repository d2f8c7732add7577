package anthropic

import (
	_ "embed" // for betas.txt
	"slices"
	"strings"
	"sync"
)

// betaBinding is the beta that lets a request say what happens to thinking that
// is bound to another conversation.
const betaBinding = "thinking-binding-controls-2026-08-01"

// betaSystem lets models take system messages in the conversation that did not from
// the start.
const betaSystem = "mid-conversation-system-2026-04-07"

// betaInterleaved lets models with a thinking budget think between calls.
const betaInterleaved = "interleaved-thinking-2025-05-14"

// Beta is one name of the header anthropic-beta and what a request may do with
// it. Without the beta its members are unknown to the API.
type Beta struct {
	// Name is the value of the header, "fast-mode-2026-02-01".
	Name string
	// Members are those that it brings, as object.member; nil: the beta changes what is
	// done, not what may be asked.
	Members []string
	// Headers are the request headers that go with it.
	Headers []string
	// Models are those that the members are for; "" is all.
	Models string
}

// knownBetas are the names of the official SDKs and of the documentation, those that recorded
// requests were answered with, and those that the vendor's own agent knows (Claude Code 2.1.330).
const knownBetas = `
	advanced-tool-use-2025-11-20 advisor-tool-2026-03-01 afk-mode-2026-01-31 agent-memory-2026-07-22
	auto-mode-classifier-2026-07-16 cache-diagnosis-2026-04-07 cache-keepalive-2026-09-03 ccr-byoc-2025-07-29
	ccr-triggers-2026-01-30 ce-plugins-2026-09-01 ce-user-management-2026-07-13 claude-code-20250219
	claude-code-side-query-2026-09-29 code-execution-2025-05-22 code-execution-2025-08-25 compact-2026-01-12
	compact-2026-09-04 computer-use-2024-10-22 computer-use-2025-01-24 computer-use-2025-11-24
	context-1m-2025-08-07 context-hint-2026-04-09 context-management-2025-06-27 dangerous-tool-use-2026-09-03
	dev-full-thinking-2025-05-14 dreaming-2026-04-21 effort-2025-11-24 environments-2025-11-01
	extended-cache-ttl-2025-04-11 fallback-credit-2026-06-01 fallback-credit-2026-07-01 fast-mode-2026-02-01
	files-api-2025-04-14 fine-grained-tool-streaming-2025-05-14 inline-tools-2026-09-15
	interleaved-thinking-2025-05-14 managed-agents-2026-04-01 mcp-client-2025-04-04 mcp-client-2025-11-20
	mcp-client-2026-09-15 mcp-servers-2025-12-04 mcp-tunnels-2026-06-22 message-batches-2024-09-24
	message-threads-2026-08-12 mid-conversation-effort-2026-08-01 mid-conversation-output-config-2026-07-01
	mid-conversation-system-2026-04-07 mid-conversation-system-clear-at-2026-08-21
	mid-conversation-tool-changes-2026-07-01 model-context-window-exceeded-2025-08-26 oauth-2025-04-20
	oidc-federation-2026-04-01 output-128k-2025-02-19 output-300k-2026-03-24 pdfs-2024-09-25
	per-turn-control-2026-07-01 program-use-case-ids-2026-09-17 prompt-caching-2024-07-31
	prompt-caching-evict-2026-05-12 prompt-caching-scope-2026-01-05 redact-thinking-2026-02-12
	request-tags-2026-08-21 resumption-2026-10-08 server-side-fallback-2026-06-01 server-side-fallback-2026-07-01
	skills-2025-10-02 spend-limit-reads-2026-09-26 structured-outputs-2025-09-17 structured-outputs-2025-11-13
	structured-outputs-2025-12-15 task-budgets-2026-03-13 telemetry-destinations-2026-08-11
	thinking-binding-controls-2026-08-01 thinking-display-updates-2026-08-18 thinking-resumption-2026-07-17
	thinking-token-count-2026-05-13 timing-2026-09-09 token-counting-2024-11-01 token-efficient-tools-2025-02-19
	tool-provenance-2026-10-26 tool-search-tool-2025-10-19 tools-2024-04-04 tools-2024-05-16
	user-profiles-2026-03-24 user-profiles-2026-08-18 user-profiles-2026-09-04 web-fetch-2025-09-10
	web-search-2025-03-05 web-search-results-only-2026-11-15 webhooks-2026-10-07`

// publicBetas are values that public code sends and the API accepts, one a line, each with its
// source.
//
//go:embed betas.txt
var publicBetas string

// Betas states the betas that are known, by name. A member that became a part of the API
// proper is not listed.
func Betas() []Beta {
	var all []Beta
	for name := range strings.FieldsSeq(knownBetas) {
		all = append(all, Beta{Name: name, Members: Members().BetaMembers(name)})
	}
	for line := range strings.Lines(publicBetas) {
		name, _, _ := strings.Cut(line, " ")
		all = append(all, Beta{Name: name})
	}
	for i := range all {
		switch b := &all[i]; {
		case b.Name == betaSystem:
			b.Models = "before Opus 4.8: messages of role system"
		case strings.HasPrefix(b.Name, "user-profiles-2026-0"):
			b.Headers = []string{"anthropic-user-profile-id"}
		}
	}
	slices.SortFunc(all, func(a, b Beta) int { return strings.Compare(a.Name, b.Name) })
	return all
}

var betaNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, b := range Betas() {
		names[b.Name] = true
	}
	return names
})
