package provider

import (
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// ToolProblem says why a tool cannot be offered to a model.
type ToolProblem struct {
	Tool   string
	Reason string
}

// Error names the tool and says why.
func (p *ToolProblem) Error() string {
	return fmt.Sprintf("tool %q cannot be offered: %s", p.Tool, p.Reason)
}

// FitTools returns the tools that a model takes, in their order, each with a schema in
// the words of its provider, and those that it would refuse. A schema that the provider
// takes as it stands keeps its bytes. It is a pure function, and fitting twice changes
// nothing.
func FitTools(tools []transcript.ToolDef, m catalog.Entry) (fit []transcript.ToolDef, problems []ToolProblem) {
	seen := map[string]bool{}
	for _, t := range tools {
		schema, err := fitToolSchema(t.InputSchema, m.Traits.ToolSchema)
		switch {
		case !m.Traits.AllowsToolName(t.Name):
			problems = append(problems, ToolProblem{
				t.Name,
				m.Provider +
					" does not take this name; use up to 64 letters, digits, _ and -, not starting with a digit or -",
			})
			continue
		case seen[t.Name]:
			problems = append(problems, ToolProblem{t.Name, "another tool has the same name"})
			continue
		case err != nil:
			problems = append(problems, ToolProblem{t.Name, "its schema " + err.Error()})
			continue
		}
		seen[t.Name] = true
		t.InputSchema = schema
		fit = append(fit, t)
	}
	return fit, problems
}
