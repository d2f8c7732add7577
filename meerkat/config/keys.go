package config

import (
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
)

// key is one setting that can be made.
type key struct {
	name  string
	read  reader
	basic any // the default; nil: none
	// variables set it, beside RKAT_ and the name in capitals.
	variables []string
	secret    bool // its value is never shown
	path      bool // ~/ at its beginning is the user's home
	// risk says what a project that is not trusted could do with it.
	risk string
}

const (
	leaks  = "it decides where an API key goes"
	starts = "it starts programs or speaks to servers"
	keyed  = "a key does not belong into a project"
	kept   = "it decides where conversations are kept"
	lifts  = "it decides which tools may run"
)

// keys are all settings, in the order in which they are shown. The defaults
// are those of seed 001 §11, except where it disagrees with itself: the model
// is the provider's default (X4).
var keys = slices.Concat([]key{
	{name: "agent.model", read: text, variables: []string{"RKAT_MODEL"}},
	{name: "agent.system_prompt", read: text},
	{name: "agent.system_prompt_file", read: text, path: true, risk: "it sends a file of this machine to a provider"},
	{name: "agent.effort", read: oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max")},
	{name: "agent.max_tokens_per_turn", read: count, variables: []string{"RKAT_MAX_OUTPUT_TOKENS"}},
	{name: "agent.temperature", read: between(0, 2)},
	{name: "agent.checkpoint_interval", read: count, basic: 5},
	{name: "agent.budget_warning_threshold", read: between(0, 1), basic: 0.8},
	{name: "agent.max_turns", read: count, variables: []string{"RKAT_MAX_TURNS"}},
	{name: "agent.on_interrupted", read: oneOf("ask-model", "retry-idempotent", "fail"), basic: "ask-model"},
	{name: "agent.requests_per_minute", read: count},
	{name: "agent.cache_ttl", read: oneOf("5m", "1h")},
	{name: "provider.type", read: oneOf(catalog.ProviderNames()...), variables: []string{"RKAT_PROVIDER"}, risk: leaks},
	{name: "provider.api_key", read: text, secret: true, risk: keyed},
	{name: "provider.base_url", read: text, risk: leaks},
}, providerKeys(), []key{
	{name: "tools.mcp_servers", read: servers, risk: starts},
	{name: "tools.default_timeout", read: duration, basic: 10 * time.Minute},
	{name: "tools.tool_timeouts", read: durations},
	{name: "tools.max_concurrent", read: count, basic: 10},
	{name: "tools.allow", read: texts, risk: lifts},
	{name: "tools.deny", read: texts, risk: lifts},
	{name: "storage.backend", read: oneOf("jsonl", "sqlite", "memory"), basic: "jsonl", risk: kept},
	{name: "storage.directory", read: text, path: true, variables: []string{"RKAT_SESSION_DIR"}, risk: kept},
	{name: "storage.fsync", read: oneOf("always", "interval", "never"), basic: "always"},
	{name: "budget.max_tokens", read: tokens, variables: []string{"RKAT_MAX_TOKENS"}},
	{name: "budget.max_duration", read: duration, variables: []string{"RKAT_MAX_DURATION"}},
	{name: "budget.max_tool_calls", read: count, variables: []string{"RKAT_MAX_TOOL_CALLS"}},
	{name: "budget.max_turns", read: count},
	{name: "retry.max_retries", read: count, basic: 3},
	{name: "retry.initial_delay", read: duration, basic: 500 * time.Millisecond},
	{name: "retry.max_delay", read: duration, basic: time.Minute}, // Gemini asks for up to 60 s
	{name: "retry.multiplier", read: between(1, 100), basic: 2.0},
	{name: "compaction.threshold", read: between(0, 1), basic: 0.8},
	{name: trustedProjects, read: texts, path: true, risk: "a project cannot vouch for itself"},
})

// providerKeys are the settings that each provider has.
func providerKeys() []key {
	var all []key
	for _, p := range catalog.Providers() {
		section := "providers." + p.Name
		all = append(all,
			key{name: section + ".api_key", read: text, secret: true, risk: keyed, variables: p.KeyVariables},
			key{name: section + ".base_url", read: text, risk: leaks, variables: p.BaseURLVariables})
	}
	return all
}

const trustedProjects = "trusted_projects"

// lookup returns the key of that name.
func lookup(name string) (key, bool) {
	if i := slices.IndexFunc(keys, func(k key) bool { return k.name == name }); i >= 0 {
		return keys[i], true
	}
	return key{}, false
}

// environment lists the variables that set k; the first that is not empty
// counts.
func (k key) environment() []string {
	return append(slices.Clone(k.variables), "RKAT_"+strings.ToUpper(strings.ReplaceAll(k.name, ".", "_")))
}

// nearest returns the known key that name was perhaps meant to be: one with
// the same last word, or in the same section.
func nearest(name string) string {
	last := name[strings.LastIndex(name, ".")+1:]
	for _, k := range keys {
		if k.name[strings.LastIndex(k.name, ".")+1:] == last {
			return k.name
		}
	}
	section, _, _ := strings.Cut(name, ".")
	var near []string
	for _, k := range keys {
		if strings.HasPrefix(k.name, section+".") {
			near = append(near, strings.TrimPrefix(k.name, section+"."))
		}
	}
	if len(near) == 0 {
		return ""
	}
	return section + "." + strings.Join(near, ", ")
}
