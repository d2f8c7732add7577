package anthropic

import (
	_ "embed" // for betas.txt
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// The forms of thinking that a request may ask for.
const (
	thinkEnabled  = "enabled"
	thinkAdaptive = "adaptive"
	thinkDisabled = "disabled"
	thinkBetween  = "between_tools"
)

// generation is who reads whose thinking (reference §6.1, A-42): a model drops
// the blocks of one it cannot read.
type generation uint8

const (
	classic   generation = iota // Opus, Sonnet and Haiku up to 5
	fableFive                   // Fable 5, Mythos 5
	opusNew                     // Opus, Sonnet, Haiku 5.5
	fableNew                    // Fable 5.1, Mythos 5.1
)

// reads says whose thinking a generation reads beside its own.
var reads = map[generation][]generation{
	fableFive: {classic},
	opusNew:   {classic},
	fableNew:  {classic, fableFive, opusNew},
}

// model is what one model does; specs/capabilities.yaml says which parameters it takes.
type model struct {
	id, alias, name, line string
	created               string
	deprecated, retires   string
	context               int  // in tokens
	on                    bool // thinks without being asked
	hides                 bool // withholds the text of thoughts by default
	interleaves           bool // by the header, with a thinking budget
	binds                 bool // binds thinking to its prefix
	generation            generation
}

const k200, m1 = 200_000, 1_000_000

// catalogue is the models that are served, newest first as the API lists them
// (reference §6.1). Retired ones are unknown, as they are to the API.
var catalogue = []model{
	newestModel("claude-haiku-5-5", "Claude Haiku 5.5", "haiku", "2026-10-14", opusNew),
	newestModel("claude-sonnet-5-5", "Claude Sonnet 5.5", "sonnet", "2026-09-29", opusNew),
	newestModel("claude-fable-5-1", "Claude Fable 5.1", "fable", "2026-08-31", fableNew),
	newestModel("claude-mythos-5-1", "Claude Mythos 5.1", "mythos", "2026-08-31", fableNew),
	newestModel("claude-opus-5-5", "Claude Opus 5.5", "opus", "2026-08-31", opusNew),
	{id: "claude-opus-5", name: "Claude Opus 5", line: "opus", created: "2026-07-23", context: m1, on: true, hides: true},
	{id: "claude-fable-5", name: "Claude Fable 5", line: "fable", created: "2026-06-30", context: m1, on: true, hides: true, generation: fableFive},
	{id: "claude-mythos-5", name: "Claude Mythos 5", line: "mythos", created: "2026-06-30", context: m1, on: true, hides: true, generation: fableFive},
	{id: "claude-sonnet-5", name: "Claude Sonnet 5", line: "sonnet", created: "2026-06-25", context: m1, on: true, hides: true},
	{id: "claude-opus-4-8", name: "Claude Opus 4.8", line: "opus", created: "2026-05-20", context: m1, hides: true},
	{id: "claude-opus-4-7", name: "Claude Opus 4.7", line: "opus", created: "2026-04-14", context: m1, hides: true},
	{id: "claude-sonnet-4-6", name: "Claude Sonnet 4.6", line: "sonnet", created: "2026-02-17", context: m1, interleaves: true},
	{id: "claude-opus-4-6", name: "Claude Opus 4.6", line: "opus", created: "2026-02-04", context: m1},
	budgetModel("claude-opus-4-5-20251101", "claude-opus-4-5", "Claude Opus 4.5", "opus", "2025-11-24"),
	budgetModel("claude-haiku-4-5-20251001", "claude-haiku-4-5", "Claude Haiku 4.5", "haiku", "2025-10-15"),
	budgetModel("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", "Claude Sonnet 4.5", "sonnet", "2025-09-29"),
}

// newestModel is a model that thinks without being asked and binds its thinking to the
// conversation before it.
func newestModel(id, name, line, created string, g generation) model {
	return model{id: id, name: name, line: line, created: created, context: m1,
		on: true, hides: true, binds: true, generation: g}
}

// budgetModel is a model of the 4.5 family.
func budgetModel(id, alias, name, line, created string) model {
	m := model{id: id, alias: alias, name: name, line: line, created: created, context: k200, interleaves: line != "haiku"}
	if line == "sonnet" {
		m.deprecated, m.retires = "2026-09-29", "2026-11-30"
	}
	return m
}

// modelOf finds a model by its id or alias, nil if none is served.
func modelOf(name string) *model {
	for i := range catalogue {
		if m := &catalogue[i]; name != "" && (m.id == name || m.alias == name) {
			return m
		}
	}
	return nil
}

// readsThinkingOf reports whether m reads the thinking of other, as A-42 has it.
func (m *model) readsThinkingOf(other *model) bool {
	return m.generation == other.generation || slices.Contains(reads[m.generation], other.generation)
}

const (
	pageSize    = 20
	maxPageSize = 1000
)

// Models is the body of GET /v1/models: so many models, 0 for the API's own
// number, behind or else before the one named (reference §1.1).
func Models(limit int, after, before string) []byte {
	if limit <= 0 {
		limit = pageSize
	}
	limit = min(limit, maxPageSize)
	from, to := 0, len(catalogue)
	if i := indexOf(after); after != "" && i >= 0 {
		from = i + 1
	}
	if i := indexOf(before); before != "" && i >= 0 {
		to, from = i, max(from, i-limit)
	}
	end := min(from+limit, to)
	data, first, last := script.Array{}, any(nil), any(nil)
	for i := from; i < end; i++ {
		data = append(data, catalogue[i].modelDocument())
		if last = catalogue[i].id; i == from {
			first = last
		}
	}
	return script.JSON(script.Object{"data", data, "has_more", end < len(catalogue) && before == "" || before != "" && from > 0,
		"first_id", first, "last_id", last})
}

// Model is the body of GET /v1/models/{id}, which takes aliases too; ok is false
// when the model is not served.
func Model(id string) (body []byte, ok bool) {
	m := modelOf(id)
	if m == nil {
		return nil, false
	}
	return script.JSON(m.modelDocument()), true
}

func indexOf(id string) int {
	return slices.IndexFunc(catalogue, func(m model) bool { return m.id == id })
}

func (m *model) modelDocument() script.Object {
	lifecycle := "active"
	if m.deprecated != "" {
		lifecycle = "deprecated"
	}
	return script.Object{
		"type", "model", "id", m.id, "display_name", m.name, "created_at", startOfDay(m.created), "lifecycle", lifecycle,
		"line", m.line, "max_input_tokens", m.context, "max_tokens", specs.FindCapability("anthropic", m.id).MaxOutput,
		"deprecated_at", startOfDay(m.deprecated), "retires_at", startOfDay(m.retires), "capabilities", m.capabilities(),
	}
}

func startOfDay(day string) any {
	if day == "" {
		return nil
	}
	return day + "T00:00:00Z"
}

func (m *model) capabilities() script.Object {
	takes := specs.FindCapability("anthropic", m.id)
	can := func(is bool) script.Object { return script.Object{"supported", is} }
	effort := append(script.Object{}, can(takes.Efforts == nil || len(takes.Efforts) > 0)...)
	for _, level := range []string{"low", "medium", "high", "xhigh", "max"} {
		effort = append(effort, level, can(takes.Efforts == nil || slices.Contains(takes.Efforts, level)))
	}
	types := script.Object{}
	for _, form := range []string{thinkAdaptive, thinkBetween, thinkDisabled, thinkEnabled} {
		types = append(types, form, can(slices.Contains(takes.Thinking, form)))
	}
	return script.Object{
		"batch", can(true), "citations", can(true), "code_execution", can(true), "context_management", script.Object{
			"supported", true, "clear_thinking_20251015", can(true), "clear_tool_uses_20250919", can(true), "compact_20260112", can(true)},
		"effort", effort,
		"image_input", can(true), "pdf_input", can(true),
		"server_tools", script.Object{"supported", true, "code_execution", can(true), "web_search", can(true)}, "structured_outputs", can(true),
		"thinking", script.Object{"supported", true, "types", types},
	}
}

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
