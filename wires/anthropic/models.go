package anthropic

import "slices"

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
