// Package catalog knows the models that an agent may use, what each of them
// takes, and by which rules their providers differ. It is data, in models.yaml
// and providers.yaml, and a few rules about model names; it never asks a
// provider.
//
//	entry, err := catalog.Lookup("claude-opus-4-6")  // an *UnsupportedModel names the nearest
//	entry.Thinks("high")                             // does this effort make it think?
//	entry.Traits.RefusesBlankText                    // a rule of its provider
//
// [Lookup] takes the names in the catalogue, their dated snapshots and the next
// versions of a line. [Unlisted] takes any model of a known provider. [Providers]
// lists the providers; a new one is an entry of providers.yaml and a codec.
//
// Entries share slices and maps with the catalogue: treat them as read-only.
package catalog

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// The providers, as Entry.Provider names them.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Gemini    = "gemini"
)

// Thinking is the form in which a model is asked to think.
type Thinking string

// The forms of thinking.
const (
	ThinkingNone     Thinking = "none"      // no control over it
	ThinkingBudget   Thinking = "enabled"   // Anthropic: type enabled with budget_tokens
	ThinkingAdaptive Thinking = "adaptive"  // Anthropic: type adaptive with output_config.effort
	ThinkingAlwaysOn Thinking = "always_on" // as adaptive, but disabled is refused
	ThinkingEffort   Thinking = "effort"    // OpenAI: reasoning.effort
	ThinkingLevel    Thinking = "level"     // Gemini: thinkingConfig.thinkingLevel
)

// Entry says what one model takes.
type Entry struct {
	// Model is the name as asked for; it goes to the wire.
	Model string `yaml:"-"`
	// Base is the name without its snapshot date: two models with the same Base
	// are the same model.
	Base string `yaml:"-"`
	// Name is the catalogue's own name of the entry that answers for Model. It
	// differs from Base when Inferred or Unlisted is set.
	Name     string `yaml:"name"`
	Provider string `yaml:"provider"`
	// Named is true for the names that users are shown first.
	Named bool `yaml:"named"`
	// Inferred is true for a later version of a line, without an entry of its
	// own, that has the flags of the nearest lower one.
	Inferred bool `yaml:"-"`
	// Unlisted is true for models that only Unlisted lets through.
	Unlisted bool `yaml:"-"`
	// Retires is the announced end as YYYY-MM-DD; empty when none is known.
	Retires string `yaml:"retires"`
	// Snapshots are the dates of the model's dated names, as its provider writes them.
	Snapshots []string `yaml:"snapshots"`

	Thinking Thinking `yaml:"thinking"`
	// Efforts lists what Request.Effort may be. DefaultEffort stands for "";
	// when it is empty too, the provider chooses.
	Efforts       []string `yaml:"efforts"`
	DefaultEffort string   `yaml:"default_effort"`
	// Budgets gives the thinking tokens of each effort for ThinkingBudget.
	Budgets map[string]int `yaml:"budgets"`

	Prefill           bool `yaml:"prefill"`            // may end with an assistant message
	ForcedToolChoice  bool `yaml:"forced_tool_choice"` // takes tool_choice any and by name
	Sampling          bool `yaml:"sampling"`           // takes temperature while not thinking (A-31, O-24)
	PrefixBinding     bool `yaml:"prefix_binding"`     // signatures are bound to the prefix
	Include           bool `yaml:"include"`            // takes include reasoning.encrypted_content (O-21)
	InterleavedHeader bool `yaml:"interleaved_header"` // gets the interleaved-thinking beta while thinking
	Phase             bool `yaml:"phase"`              // marks messages with a phase
	ToolSearch        bool `yaml:"tool_search"`        // searches for tools that are deferred
	Signatures        bool `yaml:"signatures"`         // refuses an unsigned first call (G-17)
	DefaultOutput     int  `yaml:"default_output"`     // tokens asked for by default; 0 asks for none
	MaxOutput         int  `yaml:"max_output"`         // largest output in tokens; 0 when unknown
	// ContextWindow is how many tokens a request may hold for sure; 0 when
	// unknown (A-45, O-27, G-29).
	ContextWindow int `yaml:"context_window"`
	// CompactFrom is the smallest number of tokens from which the provider can be asked
	// to compact a conversation; 0 when it does not compact (A-7, O-6).
	CompactFrom int `yaml:"compact_from"`
	// Traits are those of the provider.
	Traits Traits `yaml:"-"`
	// ReadsFrom lists other models, by Base, whose thinking this one can read.
	ReadsFrom []string `yaml:"reads_from"`
}

// Thinks reports whether effort, after the default is filled in, makes the
// model think.
func (e Entry) Thinks(effort string) bool {
	switch e.Thinking {
	case ThinkingNone, "":
		return false
	case ThinkingAlwaysOn:
		return true
	default:
		return e.Effort(effort) != "none"
	}
}

// CompactsOnDemand reports whether a call of its own returns a conversation compacted.
func (e Entry) CompactsOnDemand() bool { return e.CompactFrom > 0 && e.Traits.CompactsOnDemand }

// TakesTemperature reports whether the model takes a temperature with this effort
// (A-31, O-24).
func (e Entry) TakesTemperature(effort string) bool {
	return e.Sampling && (e.Thinking == ThinkingLevel || !e.Thinks(effort))
}

// Effort returns effort or, when it is empty, the default.
func (e Entry) Effort(effort string) string {
	if effort == "" {
		return e.DefaultEffort
	}
	return effort
}

// Reads reports whether continuity tokens made by model mean anything to e: its
// own, those of another snapshot of it, and those of ReadsFrom (hand-off rules
// other-account and other-model). An empty model is unknown and taken as
// readable.
func (e Entry) Reads(model string) bool {
	base := withoutDate(model)
	return model == "" || base == e.Base || slices.Contains(e.ReadsFrom, base)
}

//go:embed models.yaml
var modelFile []byte

type table struct {
	Minimum  map[string]version `yaml:"minimum"`
	Flags    []yaml.Node        `yaml:"flags"` // anchors only
	Models   []Entry            `yaml:"models"`
	Rejected []rejection        `yaml:"rejected"`
	Unlisted []Entry            `yaml:"unlisted"`
}

// rejection gives the reason for names with a prefix or a word between dashes.
type rejection struct {
	Prefix string `yaml:"prefix"`
	Word   string `yaml:"word"`
	Reason string `yaml:"reason"`
}

func (r rejection) matchesName(base string) bool {
	if r.Prefix != "" && !strings.HasPrefix(base, r.Prefix) {
		return false
	}
	return r.Word == "" || slices.Contains(strings.Split(base, "-"), r.Word)
}

// catalogue parses the embedded file once; it is part of the program, so a
// fault in it is a fault of the build.
var catalogue = sync.OnceValue(func() *table {
	var t table
	if err := yaml.Unmarshal(modelFile, &t); err != nil {
		panic("catalog: models.yaml: " + err.Error())
	}
	for i := range t.Models {
		t.Models[i].Model, t.Models[i].Base = t.Models[i].Name, t.Models[i].Name
	}
	for _, entries := range [][]Entry{t.Models, t.Unlisted} {
		for i := range entries {
			entries[i].Traits = ProviderNamed(entries[i].Provider).Traits
		}
	}
	return &t
})
