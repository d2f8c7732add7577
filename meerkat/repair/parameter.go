package repair

import (
	"regexp"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// parameter is one that a request can be sent without.
type parameter struct {
	name  string
	words *regexp.Regexp // of refusals that mean it
	isSet func(*provider.Request) bool
	clear func(*provider.Request)
}

// CompactAt names the parameter that asks the provider to compact the conversation.
const CompactAt = "compact_at"

// parameters are in the order in which they are tried.
var parameters = []parameter{
	{"temperature", regexp.MustCompile(`(?i)temperature`),
		func(r *provider.Request) bool { return r.Temperature != nil },
		func(r *provider.Request) { r.Temperature = nil }},
	{"max_output_tokens", regexp.MustCompile(`(?i)max_?(output_?)?tokens`),
		func(r *provider.Request) bool { return r.MaxOutputTokens != 0 },
		func(r *provider.Request) { r.MaxOutputTokens = 0 }},
	{"stop_sequences", regexp.MustCompile(`(?i)stop_?sequences?`),
		func(r *provider.Request) bool { return len(r.StopSequences) > 0 },
		func(r *provider.Request) { r.StopSequences = nil }},
	{"tool_choice", regexp.MustCompile(`(?i)tool[_ ]choice|function calling config|tool_?config`),
		func(r *provider.Request) bool { return r.ToolChoice != "" }, func(r *provider.Request) { r.ToolChoice = "" }},
	{"output_schema", regexp.MustCompile(`(?i)json_?schema|output_config\.format|text\.format|response_?mime`),
		func(r *provider.Request) bool { return len(r.OutputSchema) > 0 },
		func(r *provider.Request) { r.OutputSchema = nil }},
	{"cache_ttl", regexp.MustCompile(`(?i)cache_control`),
		func(r *provider.Request) bool { return r.CacheTTL != "" }, func(r *provider.Request) { r.CacheTTL = "" }},
	{"cache_key", regexp.MustCompile(`(?i)prompt_cache_key`),
		func(r *provider.Request) bool { return r.CacheKey != "" }, func(r *provider.Request) { r.CacheKey = "" }},
	{CompactAt, regexp.MustCompile(`(?i)context_management|compact_?threshold|compact[-_]2026`),
		func(r *provider.Request) bool { return r.CompactAt != 0 }, func(r *provider.Request) { r.CompactAt = 0 }},
	{"effort", regexp.MustCompile(`(?i)effort|thinking|budget`),
		func(r *provider.Request) bool { return r.Effort != "" }, func(r *provider.Request) { r.Effort = "" }},
}

// parametersNamed returns the parameters that a refusal may mean.
func (r *Refused) parametersNamed() (names []string) {
	said := r.Err.Message + " " + r.Err.Param
	for _, p := range parameters {
		if p.words.MatchString(said) {
			names = append(names, p.name)
		}
	}
	return names
}

func isSet(req *provider.Request, name string) bool {
	for _, p := range parameters {
		if p.name == name {
			return p.isSet(req)
		}
	}
	return false
}

// Apply takes the tools and parameters out of req that the repairs name, and returns
// what was lost. Its slices are replaced, never changed. What repairs say of messages,
// handoff.Build does.
func Apply(req *provider.Request, repairs []handoff.Repair, t handoff.Target) (lost []handoff.Degradation) {
	lose := func(rule, what string) {
		lost = append(lost, handoff.Degradation{
			Rule: rule, Message: -1, Block: -1, Reason: what + ": " + t.Provider + " refused it",
		})
	}
	for _, fix := range repairs {
		if !fix.AppliesTo(t) {
			continue
		}
		switch fix.Kind {
		case handoff.RepairTool:
			if hasTool(req.Tools, fix.Name) {
				req.Tools = withoutTool(req.Tools, fix.Name)
				lose(handoff.RuleRefusedTool, "the tool "+fix.Name+" is not offered")
			}
		case handoff.RepairParameter:
			for _, p := range parameters {
				if p.name == fix.Name && p.isSet(req) {
					p.clear(req)
					lose(handoff.RuleRefusedParameter, p.name+" is not sent")
				}
			}
		case handoff.RepairTokens, handoff.RepairOpaque, handoff.RepairMedia, handoff.RepairMessages:
		}
	}
	if len(req.Tools) == 0 || req.ToolChoice != "" && req.ToolChoice != "auto" && req.ToolChoice != "any" &&
		req.ToolChoice != "none" && !hasTool(req.Tools, req.ToolChoice) {
		req.ToolChoice = ""
	}
	return lost
}

func withoutTool(tools []transcript.ToolDef, name string) (kept []transcript.ToolDef) {
	for _, t := range tools {
		if t.Name != name {
			kept = append(kept, t)
		}
	}
	return kept
}
