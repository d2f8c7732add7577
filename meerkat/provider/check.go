package provider

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// RequestError says which field of a request the model or its provider would
// refuse.
type RequestError struct {
	Field  string
	Reason string
}

// Error names the field.
func (e *RequestError) Error() string { return e.Field + ": " + e.Reason }

// checkRequest refuses what the catalogue says the model does not take, before any
// traffic: efforts (A-32, O-23, G-24), output size, numbers that are
// none, tool definitions and the choice among them.
func checkRequest(req *Request, m catalog.Entry) error {
	if effort := m.Effort(req.Effort); effort != "" && m.Thinking != catalog.ThinkingNone &&
		!slices.Contains(m.Efforts, effort) {
		return &RequestError{
			"effort",
			fmt.Sprintf("%q is not offered by %s; use one of %s", effort, m.Model, strings.Join(m.Efforts, ", ")),
		}
	}
	if req.Compact && !m.CompactsOnDemand() {
		return &RequestError{"compact", m.Model + " does not compact a conversation on demand; ask it for a summary"}
	}
	if req.MaxOutputTokens < 0 || m.MaxOutput > 0 && req.MaxOutputTokens > m.MaxOutput {
		return &RequestError{
			"max output tokens",
			fmt.Sprintf("%d is outside 1 to %d for %s", req.MaxOutputTokens, m.MaxOutput, m.Model),
		}
	}
	if len(req.OutputSchema) > 0 && !jsontok.IsObject(req.OutputSchema) {
		return &RequestError{"output schema", "it is not a JSON object"}
	}
	if ttl := req.CacheTTL; ttl != "" && ttl != "5m" && ttl != "1h" {
		return &RequestError{"cache TTL", fmt.Sprintf("%q is not offered; use 5m or 1h", ttl)}
	}
	if req.Temperature != nil && !isFinite(*req.Temperature) {
		return &RequestError{"temperature", "it is not a number"}
	}
	if err := checkTools(req.Tools, &m); err != nil {
		return err
	}
	return checkChoice(req, m)
}

func checkTools(tools []transcript.ToolDef, m *catalog.Entry) error {
	seen := map[string]bool{}
	for _, t := range tools {
		switch {
		case !m.Traits.AllowsToolName(t.Name):
			return &RequestError{
				"tool " + fmt.Sprintf("%q", t.Name),
				m.Provider +
					" does not take this name; use up to 64 letters, digits, _ and -, not starting with a digit or -",
			}
		case seen[t.Name]:
			return &RequestError{"tool " + t.Name, "it is defined twice"}
		case t.Hosted && !slices.Contains(transcript.HostedTools(), t.Name):
			return &RequestError{
				"tool " + t.Name,
				"no provider runs it; hosted tools are " + strings.Join(transcript.HostedTools(), ", "),
			}
		case len(t.InputSchema) > 0 && !jsontok.IsObject(t.InputSchema):
			return &RequestError{"tool " + t.Name, "its input schema is not a JSON object"}
		}
		seen[t.Name] = true
	}
	return nil
}

// checkChoice applies, O-29 and G-27.
func checkChoice(req *Request, m catalog.Entry) error {
	switch req.ToolChoice {
	case "", "auto", "none":
		return nil
	case "any":
		if len(req.Tools) == 0 {
			return &RequestError{"tool choice", "any needs tools, and the request has none"}
		}
	default:
		if !slices.ContainsFunc(
			req.Tools, func(t transcript.ToolDef) bool { return t.Name == req.ToolChoice && !t.Hosted },
		) {
			return &RequestError{
				"tool choice", fmt.Sprintf("%q is not a tool of the request; %s", req.ToolChoice, adviseChoice(req)),
			}
		}
	}
	if !m.ForcedToolChoice {
		return &RequestError{
			"tool choice", fmt.Sprintf("%s cannot be forced to call a tool; use auto or none", m.Model),
		}
	}
	return nil
}

// adviseChoice names the choices that the request has.
func adviseChoice(req *Request) string {
	choices := []string{"any", "none"}
	for _, t := range req.Tools {
		if !t.Hosted {
			choices = append(choices, t.Name)
		}
	}
	return spelling.Advice(req.ToolChoice, choices)
}

// emptySchema is sent for a tool that takes no arguments.
const emptySchema = `{"type":"object","properties":{}}`

// InputSchema returns the input schema of t as it stands, or emptySchema.
func InputSchema(t transcript.ToolDef) []byte {
	if len(t.InputSchema) == 0 {
		return []byte(emptySchema)
	}
	return t.InputSchema
}

// IsBlank reports whether s is empty or white space only: text that Anthropic
// refuses.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }

// noOutput stands for the content of an error result that has none.
const noOutput = "(no output)"

// ResultText is the text of a result as it goes to the wire.
func ResultText(r *transcript.ToolResult) string {
	if r.IsError && IsBlank(r.Content) && len(r.Parts) == 0 {
		return noOutput
	}
	return r.Content
}

// splitSystem splits the system text of a request from its conversation: the
// request's own, then the system messages in front of all others. System
// messages further on stay in rest; the prefix is never rewritten.
func splitSystem(req *Request, steps []Step) (texts []string, rest []Step) {
	if !IsBlank(req.System) {
		texts = append(texts, req.System)
	}
	for len(steps) > 0 && steps[0].Message.Role == transcript.RoleSystem {
		if !IsBlank(steps[0].Message.Content) {
			texts = append(texts, steps[0].Message.Content)
		}
		steps = steps[1:]
	}
	return texts, steps
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
