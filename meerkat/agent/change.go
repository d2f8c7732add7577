package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// markTold is the name of the mark that says which settings the model was last
// told of; its value is their Digest.
const markTold = "settings_told"

// change is a difference between what the session was started with and what the
// run was asked for, in words for the model.
type change struct {
	text   string
	digest string
}

// changes returns what the model is to be told, nil if it knows. The stored
// system prompt and tools go out as they are (DESIGN §3.5), so the text says
// what holds instead of them, all of it: it replaces earlier ones.
func (p *plan) changes() *change {
	asked, stored := p.state.settings.prefix, p.state.session.Prefix
	if asked.System == "" {
		asked.System = stored.System
	}
	digest, err := session.Digest(asked.System, inOrder(stored.Tools, asked.Tools), nil)
	if err != nil {
		p.err = err
		return nil
	}
	told, ok := p.state.session.Marked(markTold)
	if !ok {
		told = stored.Hash
	}
	if digest == told {
		return nil
	}
	text := describe(stored, &asked)
	if text == "" {
		text = "The system prompt and the tools are again those that this conversation began with."
	}
	return &change{text, digest}
}

// tellModel appends what has changed, behind the user's words or results.
func (p *plan) tellModel(at time.Time, c *change) {
	if c == nil {
		return
	}
	p.message(at, transcript.Developer(c.text))
	p.add(session.Mark{At: at, Name: markTold, Value: c.digest})
	p.checkpoint(at, session.ReasonPrompt)
}

// inOrder returns tools in the order in which they are stored, new ones behind:
// the order in which servers list their tools means nothing.
func inOrder(stored, tools []transcript.ToolDef) []transcript.ToolDef {
	at := func(d transcript.ToolDef) int {
		i := slices.IndexFunc(stored, func(s transcript.ToolDef) bool { return s.Name == d.Name })
		if i < 0 {
			return len(stored)
		}
		return i
	}
	sorted := slices.Clone(tools)
	slices.SortStableFunc(sorted, func(a, b transcript.ToolDef) int {
		if i, j := at(a), at(b); i != j {
			return i - j
		}
		return strings.Compare(a.Name, b.Name)
	})
	return sorted
}

func describe(stored, asked *session.Prefix) string {
	var parts []string
	if asked.System != stored.System {
		parts = append(parts, "From here on these instructions take the place of the system prompt:\n\n"+asked.System)
	}
	var gone, changed, added []string
	for _, was := range stored.Tools {
		switch now := find(asked.Tools, was.Name); {
		case now == nil:
			gone = append(gone, was.Name)
		case now.Description != was.Description || !bytes.Equal(now.InputSchema, was.InputSchema):
			changed = append(changed, fmt.Sprintf("The tool %s has changed. Its description: %s\nIts input schema: %s", now.Name, now.Description, now.InputSchema))
		}
	}
	for _, d := range asked.Tools {
		if find(stored.Tools, d.Name) == nil {
			added = append(added, d.Name)
		}
	}
	slices.Sort(added)
	if gone != nil {
		parts = append(parts, "These tools are no longer available, and calls of them are refused: "+strings.Join(gone, ", ")+".")
	}
	parts = append(parts, changed...)
	if added != nil {
		parts = append(parts, "These tools exist now, but cannot be called in this conversation: "+strings.Join(added, ", ")+".")
	}
	return strings.Join(parts, "\n\n")
}

func find(tools []transcript.ToolDef, name string) *transcript.ToolDef {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}
