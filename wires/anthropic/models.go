package anthropic

import (
	_ "embed" // for models.yaml and betas.txt
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
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

//go:embed models.yaml
var modelFile []byte

// model is a row of models.yaml, which explains the keys; specs/capabilities.yaml says which parameters the
// model takes.
type model struct {
	ID         string   `yaml:"id" data:"required"`
	Alias      string   `yaml:"alias"`
	Name       string   `yaml:"name" data:"required"`
	Created    string   `yaml:"created" data:"required"`
	Deprecated string   `yaml:"deprecated"`
	Retires    string   `yaml:"retires"`
	Context    int      `yaml:"context" data:"required"`
	Family     string   `yaml:"family" data:"required,one=classic fable-5 opus-5.5 fable-5.1"`
	Reads      []string `yaml:"reads" data:"one=classic fable-5 opus-5.5"`
	Can        []string `yaml:"can" data:"one=think hide bind"`
}

// What only some models do.
const (
	canThink = "think"
	canHide  = "hide"
	canBind  = "bind"
)

// models are those served.
var models = datafile.Embedded[[]model]("wires/anthropic/models.yaml", modelFile, datafile.Options{})

// hasTrait reports whether the model, if it is known, does what only some models do.
func (m *model) hasTrait(trait string) bool { return m != nil && slices.Contains(m.Can, trait) }

// modelOf finds a model by its id or alias, nil if none is served.
func modelOf(name string) *model {
	for i := range models {
		if m := &models[i]; name != "" && (m.ID == name || m.Alias == name) {
			return m
		}
	}
	return nil
}

// readsThinkingOf reports whether m reads the thinking of other, as A-42 has it.
func (m *model) readsThinkingOf(other *model) bool {
	return m.Family == other.Family || slices.Contains(m.Reads, other.Family)
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
	from, to := 0, len(models)
	if i := indexOf(after); after != "" && i >= 0 {
		from = i + 1
	}
	if i := indexOf(before); before != "" && i >= 0 {
		to, from = i, max(from, i-limit)
	}
	end := min(from+limit, to)
	data, first, last := script.Array{}, any(nil), any(nil)
	for i := from; i < end; i++ {
		data = append(data, models[i].modelDocument())
		if last = models[i].ID; i == from {
			first = last
		}
	}
	return script.JSON(script.Object{"data", data, "has_more", end < len(models) && before == "" ||
		before != "" && from > 0,
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
	return slices.IndexFunc(models, func(m model) bool { return m.ID == id })
}

func (m *model) modelDocument() script.Object {
	lifecycle := "active"
	if m.Deprecated != "" {
		lifecycle = "deprecated"
	}
	_, line, _ := strings.Cut(m.ID, "-")
	line, _, _ = strings.Cut(line, "-")
	return script.Object{
		"type", "model", "id", m.ID, "display_name", m.Name, "created_at", startOfDay(m.Created),
		"lifecycle", lifecycle,
		"line", line, "max_input_tokens", m.Context, "max_tokens", specs.FindCapability("anthropic", m.ID).MaxOutput,
		"deprecated_at", startOfDay(m.Deprecated), "retires_at", startOfDay(m.Retires), "capabilities",
		m.capabilities(),
	}
}

func startOfDay(day string) any {
	if day == "" {
		return nil
	}
	return day + "T00:00:00Z"
}

func (m *model) capabilities() script.Object {
	takes := specs.FindCapability("anthropic", m.ID)
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
			"supported", true, "clear_thinking_20251015", can(true), "clear_tool_uses_20250919", can(true),
			"compact_20260112", can(true)},
		"effort", effort,
		"image_input", can(true), "pdf_input", can(true),
		"server_tools", script.Object{"supported", true, "code_execution", can(true), "web_search", can(true)},
		"structured_outputs", can(true),
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

//go:embed betas.txt
var betaFile string

// Betas states the betas that are known, by name. A member that became a part of the API
// proper is not listed.
func Betas() []Beta {
	var all []Beta
	for line := range strings.Lines(betaFile) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "#" {
			all = append(all, Beta{Name: name, Members: Members().BetaMembers(name)})
		}
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
