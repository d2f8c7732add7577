package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Bounds of what one server may offer.
const (
	maxTools       = 512
	maxPages       = 512
	maxSchema      = 256 << 10
	maxDescription = 16 << 10
)

// Problem says what of a server is not on offer, and why.
type Problem struct {
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"` // the server's own name; "": the server itself
	Why    string `json:"why"`
}

// offer is one tool of a server as the model sees it.
type offer struct {
	def    transcript.ToolDef
	name   string // the server's own
	schema *tool.Schema
	traits tool.Traits
}

// toolList is what a server offers, in its own order.
type toolList struct {
	offers   []offer
	problems []Problem
}

// listTools reads a server's whole list of tools.
func listTools(ctx context.Context, s Server, session *sdk.ClientSession) (toolList, error) {
	var out toolList
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		out.addProblem(s, "", "it offers no tools")
		return out, nil
	}
	params, seen := &sdk.ListToolsParams{}, map[string]bool{}
	for page := 0; ; page++ {
		got, err := session.ListTools(ctx, params)
		if err != nil {
			return out, fmt.Errorf("its list of tools cannot be read: %w", err)
		}
		for _, t := range got.Tools {
			out.addTool(s, t)
		}
		switch {
		case got.NextCursor == "":
			return out, nil
		case seen[got.NextCursor] || page >= maxPages:
			return out, errors.New("its list of tools has no end")
		}
		seen[got.NextCursor] = true
		params = &sdk.ListToolsParams{Cursor: got.NextCursor}
	}
}

func (l *toolList) addProblem(s Server, name, why string) {
	l.problems = append(l.problems, Problem{Server: s.Name, Tool: name, Why: why})
}

// addTool puts one tool on offer, unless the request that carried it would be
// refused by a provider.
func (l *toolList) addTool(s Server, t *sdk.Tool) {
	if !s.allowsTool(t.Name) {
		return
	}
	o, err := readTool(s, t)
	switch {
	case err != nil:
		l.addProblem(s, t.Name, err.Error())
	case l.hasTool(o.def.Name):
		l.addProblem(s, t.Name, "it is listed twice")
	case len(l.offers) >= maxTools:
		if len(l.offers) == maxTools && !l.isTruncated() {
			l.addProblem(s, "", fmt.Sprintf(
				"it lists more than %d tools; the rest is left out, choose with allow", maxTools,
			))
		}
	default:
		l.offers = append(l.offers, o)
	}
}

func (l *toolList) isTruncated() bool {
	n := len(l.problems)
	return n > 0 && l.problems[n-1].Tool == "" && len(l.offers) == maxTools
}

func (l *toolList) hasTool(name string) bool {
	for _, o := range l.offers {
		if o.def.Name == name {
			return true
		}
	}
	return false
}

func readTool(s Server, t *sdk.Tool) (offer, error) {
	schema := exactText(t.Meta, metaSchema, t.InputSchema)
	switch {
	case t.Name == "":
		return offer{}, errors.New("it has no name")
	case len(schema) == 0:
		return offer{}, errors.New("it has no input schema")
	case len(schema) > maxSchema:
		return offer{}, fmt.Errorf("its input schema has %d bytes; %d are taken", len(schema), maxSchema)
	case onlyAsTask(t):
		return offer{}, errors.New("it runs as a task only, which is not supported")
	}
	if m, ok := t.InputSchema.(map[string]any); !ok || m["type"] != "object" {
		return offer{}, errors.New(`its input schema is not one of an object ("type": "object")`)
	}
	compiled, err := tool.Compile(schema)
	if err != nil {
		return offer{}, fmt.Errorf("its input schema %w", err)
	}
	return offer{
		def: transcript.ToolDef{
			Name: offeredName(s.Name, t.Name), Description: toolDescription(t), InputSchema: schema,
		},
		name:   t.Name,
		schema: compiled,
		traits: toolTraits(s, t),
	}, nil
}

// onlyAsTask reports whether a plain call of t would always be refused.
func onlyAsTask(t *sdk.Tool) bool {
	var running struct {
		TaskSupport string `json:"taskSupport"`
	}
	return json.Unmarshal(exactText(t.Meta, metaRunning, nil), &running) == nil && running.TaskSupport == "required"
}

func toolDescription(t *sdk.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if len(text) > maxDescription {
		text = clipText(text, maxDescription)
	}
	return text
}

// toolTraits are hints of the server (annotations); a server may lie.
func toolTraits(s Server, t *sdk.Tool) tool.Traits {
	out := tool.Traits{Timeout: s.Timeout}
	if a := t.Annotations; a != nil {
		out.ReadOnly = a.ReadOnlyHint
		out.Idempotent = a.IdempotentHint || a.ReadOnlyHint
	}
	return out
}
