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

// listing is what a server offers, in its own order.
type listing struct {
	offers   []offer
	problems []Problem
}

// discover reads a server's whole list of tools.
func discover(ctx context.Context, s Server, session *sdk.ClientSession) (listing, error) {
	var out listing
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		out.leave(s, "", "it offers no tools")
		return out, nil
	}
	params, seen := &sdk.ListToolsParams{}, map[string]bool{}
	for page := 0; ; page++ {
		got, err := session.ListTools(ctx, params)
		if err != nil {
			return out, fmt.Errorf("its list of tools cannot be read: %w", err)
		}
		for _, t := range got.Tools {
			out.add(s, t)
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

func (l *listing) leave(s Server, name, why string) {
	l.problems = append(l.problems, Problem{Server: s.Name, Tool: name, Why: why})
}

// add puts one tool on offer, unless the request that carried it would be
// refused by a provider.
func (l *listing) add(s Server, t *sdk.Tool) {
	if !s.offers(t.Name) {
		return
	}
	o, err := read(s, t)
	switch {
	case err != nil:
		l.leave(s, t.Name, err.Error())
	case l.has(o.def.Name):
		l.leave(s, t.Name, "it is listed twice")
	case len(l.offers) >= maxTools:
		if len(l.offers) == maxTools && !l.full() {
			l.leave(s, "", fmt.Sprintf("it lists more than %d tools; the rest is left out, choose with allow", maxTools))
		}
	default:
		l.offers = append(l.offers, o)
	}
}

func (l *listing) full() bool {
	n := len(l.problems)
	return n > 0 && l.problems[n-1].Tool == "" && len(l.offers) == maxTools
}

func (l *listing) has(name string) bool {
	for _, o := range l.offers {
		if o.def.Name == name {
			return true
		}
	}
	return false
}

func read(s Server, t *sdk.Tool) (offer, error) {
	schema := exact(t.Meta, metaSchema, t.InputSchema)
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
		def:    transcript.ToolDef{Name: Name(s.Name, t.Name), Description: describe(t), InputSchema: schema},
		name:   t.Name,
		schema: compiled,
		traits: traits(s, t),
	}, nil
}

// onlyAsTask reports whether a plain call of t would always be refused.
func onlyAsTask(t *sdk.Tool) bool {
	var running struct {
		TaskSupport string `json:"taskSupport"`
	}
	return json.Unmarshal(exact(t.Meta, metaRunning, nil), &running) == nil && running.TaskSupport == "required"
}

func describe(t *sdk.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if len(text) > maxDescription {
		text = clip(text, maxDescription)
	}
	return text
}

// traits are hints of the server (annotations); a server may lie.
func traits(s Server, t *sdk.Tool) tool.Traits {
	out := tool.Traits{Timeout: s.Timeout}
	if a := t.Annotations; a != nil {
		out.ReadOnly = a.ReadOnlyHint
		out.Idempotent = a.IdempotentHint || a.ReadOnlyHint
	}
	return out
}
