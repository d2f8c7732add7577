package anthropic

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// Beta is one name of the header anthropic-beta and what a request may do with
// it. Without the beta its members are unknown to the API.
type Beta struct {
	// Name is the value of the header, "fast-mode-2026-02-01".
	Name string
	// Members are the paths that it brings, as the API writes them in refusals,
	// with * for any one step: "messages.*.clear_at". A path that begins with a
	// dot may stand at any depth. Nil: the beta changes what is done, not what
	// may be asked.
	Members []string
	// Headers are the request headers that go with it.
	Headers []string
	// Models are those that the members are for; "" is all.
	Models string
}

// betaOf returns a beta that brings these members.
func betaOf(name string, members ...string) Beta { return Beta{Name: name, Members: members} }

// betas are the beta names that are known: those of the official SDKs and of the
// documentation, those that recorded requests were answered with, and those that
// the vendor's own agent knows (Claude Code 2.1.330). A member that became a
// part of the API proper is not listed.
var betas = slices.Concat([]Beta{
	betaOf(betaBinding, "thinking.*.block_binding"),
	betaOf(betaCompact, "context_management", "compaction"),
	betaOf("compact-2026-09-04", "context_management", "compaction"),
	betaOf("context-hint-2026-04-09", "context_hint"),
	betaOf("context-management-2025-06-27", "context_management"),
	betaOf("dangerous-tool-use-2026-09-03", "safeguards"),
	betaOf("fallback-credit-2026-06-01", "fallback_credit_token"),
	betaOf("fallback-credit-2026-07-01", "fallback_credit_token"),
	betaOf("mcp-client-2025-04-04", "mcp_servers"),
	betaOf("mcp-client-2025-11-20", "mcp_servers"),
	betaOf("mcp-client-2026-09-15", "mcp_servers"),
	betaOf("mcp-servers-2025-12-04", "mcp_servers"),
	betaOf("message-threads-2026-08-12", "thread"),
	{Name: betaSystem, Models: "before Opus 4.8: messages of role system"},
	betaOf("mid-conversation-effort-2026-08-01", "messages.*.output_config"),
	betaOf("mid-conversation-output-config-2026-07-01", "messages.*.output_config"),
	betaOf("mid-conversation-system-clear-at-2026-08-21", "messages.*.clear_at"),
	betaOf("per-turn-control-2026-07-01", "messages.*.output_config"),
	betaOf("program-use-case-ids-2026-09-17", "program_use_case_id"),
	betaOf("prompt-caching-evict-2026-05-12", ".cache_control.evict_on_complete"),
	betaOf("prompt-caching-scope-2026-01-05", ".cache_control.scope"),
	betaOf("request-tags-2026-08-21", "request_tags"),
	betaOf("resumption-2026-10-08", "resumption"),
	betaOf("server-side-fallback-2026-06-01", "fallbacks"),
	betaOf("server-side-fallback-2026-07-01", "fallbacks"),
	betaOf("structured-outputs-2025-09-17", "output_format"),
	betaOf("structured-outputs-2025-11-13", "output_format"),
	betaOf("structured-outputs-2025-12-15", "output_format"),
	betaOf("task-budgets-2026-03-13", "output_config.task_budget"),
	betaOf("thinking-resumption-2026-07-17", "resumption"),
	betaOf("timing-2026-09-09", "messages.*.output_config"),
	{Name: "user-profiles-2026-03-24", Headers: []string{"anthropic-user-profile-id"}},
	{Name: "user-profiles-2026-08-18", Headers: []string{"anthropic-user-profile-id"}},
	{Name: "user-profiles-2026-09-04", Headers: []string{"anthropic-user-profile-id"}},
}, plainBetas(`
	advanced-tool-use-2025-11-20 advisor-tool-2026-03-01 afk-mode-2026-01-31 agent-memory-2026-07-22
	auto-mode-classifier-2026-07-16 cache-diagnosis-2026-04-07 cache-keepalive-2026-09-03 ccr-byoc-2025-07-29
	ccr-triggers-2026-01-30 ce-plugins-2026-09-01 ce-user-management-2026-07-13 claude-code-20250219
	claude-code-side-query-2026-09-29 code-execution-2025-05-22 code-execution-2025-08-25 computer-use-2024-10-22
	computer-use-2025-01-24 computer-use-2025-11-24 context-1m-2025-08-07 dev-full-thinking-2025-05-14 dreaming-2026-04-21
	effort-2025-11-24 environments-2025-11-01 extended-cache-ttl-2025-04-11 fast-mode-2026-02-01 files-api-2025-04-14
	fine-grained-tool-streaming-2025-05-14 inline-tools-2026-09-15 interleaved-thinking-2025-05-14 managed-agents-2026-04-01
	mcp-tunnels-2026-06-22 message-batches-2024-09-24 mid-conversation-tool-changes-2026-07-01
	model-context-window-exceeded-2025-08-26 oauth-2025-04-20 oidc-federation-2026-04-01 output-128k-2025-02-19
	output-300k-2026-03-24 pdfs-2024-09-25 prompt-caching-2024-07-31 redact-thinking-2026-02-12 skills-2025-10-02
	spend-limit-reads-2026-09-26 telemetry-destinations-2026-08-11 thinking-display-updates-2026-08-18
	thinking-token-count-2026-05-13 token-counting-2024-11-01 token-efficient-tools-2025-02-19 tool-provenance-2026-10-26
	tool-search-tool-2025-10-19 tools-2024-04-04 tools-2024-05-16 web-fetch-2025-09-10 web-search-2025-03-05
	web-search-results-only-2026-11-15 webhooks-2026-10-07`), sourcedBetas())

// publicBetas are values that public code sends and the API accepts, one a line, each with its
// source.
//
//go:embed betas.txt
var publicBetas string

func sourcedBetas() []Beta {
	var names []string
	for line := range strings.Lines(publicBetas) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return plainBetas(strings.Join(names, " "))
}

// plainBetas are betas that bring no members.
func plainBetas(names string) []Beta {
	var all []Beta
	for name := range strings.FieldsSeq(names) {
		all = append(all, Beta{Name: name})
	}
	return all
}

// Betas states the betas that are known, by name.
func Betas() []Beta {
	return slices.SortedFunc(slices.Values(betas), func(a, b Beta) int { return strings.Compare(a.Name, b.Name) })
}

func isKnownBeta(name string) bool {
	return slices.ContainsFunc(betas, func(b Beta) bool { return b.Name == name })
}

// betaMembers are the paths that betas bring, by their last step.
var betaMembers = func() map[string][]betaMember {
	by := map[string][]betaMember{}
	for _, b := range betas {
		for _, path := range b.Members {
			steps := strings.Split(path, ".")
			last := steps[len(steps)-1]
			by[last] = append(by[last], betaMember{beta: b.Name, steps: steps})
		}
	}
	return by
}()

// betaMember is one path of a beta. Its first step is "" when it may stand at
// any depth.
type betaMember struct {
	beta  string
	steps []string
}

// covers reports whether the member is the one at these steps.
func (m betaMember) covers(at []string) bool {
	want := m.steps
	if want[0] == "" && len(at) >= len(want)-1 {
		want, at = want[1:], at[len(at)-len(want)+1:]
	}
	return slices.EqualFunc(want, at, func(w, got string) bool { return w == "*" || w == got })
}

// The states of a member towards the betas.
type betaState uint8

const (
	ofNoBeta   betaState = iota // no beta brings it
	undeclared                  // the request does not name the beta that does
	declared
)

// betaStateOf says whether betas bring the member of this name, and whether the
// request names one of those.
func (in *inspector) betaStateOf(at *tree.Path, name string) betaState {
	state := ofNoBeta
	for _, m := range betaMembers[name] {
		if m.covers(strings.Split(in.paths.Member(at, name).Dotted(), ".")) {
			if slices.Contains(in.betas, m.beta) {
				return declared
			}
			state = undeclared
		}
	}
	return state
}
