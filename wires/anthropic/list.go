package anthropic

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

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
