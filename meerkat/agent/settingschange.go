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

// The annotations that hold what the model was told last: annotationSettings is
// the Digest of the settings, annotationSystem the system prompt if it is not
// the stored one.
const (
	annotationSettings = "settings_told"
	annotationSystem   = "system_told"
)

// settingsChange is a difference between the settings that the model knows and
// those of this run: a text for the model, and the annotations to store with it.
type settingsChange struct {
	text        string
	annotations []session.Annotation
}

const (
	replacesNote = "What follows replaces what was said before about the system prompt and the tools; what it does not name is as it was when this conversation began.\n\n"
	asBeforeNote = "The system prompt and the tools are again those that this conversation began with."
)

// findChanges returns what the model must be told, nil if it knows everything.
// The stored system prompt and tools are sent unchanged, because providers bind
// their tokens to them. So the text states all that differs from them, and
// replaces earlier texts. A run without a system prompt keeps the one in force.
func (p *transition) findChanges() *settingsChange {
	asked, stored := p.state.settings.prefix, p.state.session.Prefix
	system := systemInForce(&p.state.session)
	if asked.System == "" {
		asked.System = system
	}
	digest, err := session.Digest(asked.System, arrangeLike(stored.Tools, asked.Tools), nil)
	if err != nil {
		p.err = err
		return nil
	}
	told, again := p.state.session.AnnotationValue(annotationSettings)
	if !again {
		told = stored.Hash
	}
	text := describeChanges(stored, &asked)
	switch {
	case digest == told, text == "" && !again:
		return nil
	case text == "":
		text = asBeforeNote
	case again:
		text = replacesNote + text
	}
	c := &settingsChange{text, []session.Annotation{{Name: annotationSettings, Value: digest}}}
	if asked.System != system {
		c.annotations = append(c.annotations, session.Annotation{Name: annotationSystem, Value: asked.System})
	}
	return c
}

// systemInForce returns the system prompt that the model was told last.
func systemInForce(s *session.Session) string {
	if system, ok := s.AnnotationValue(annotationSystem); ok {
		return system
	}
	return s.Prefix.System
}

// addSettingsChange appends the text after the user's message or the results,
// and the annotations.
func (p *transition) addSettingsChange(at time.Time, c *settingsChange) {
	p.addMessage(at, transcript.Developer(c.text))
	for _, m := range c.annotations {
		m.At = at
		p.addRecords(m)
	}
}

// arrangeLike returns tools in the order in which they are stored, followed by new ones,
// and those deferred that are stored so. The order in which a server lists its tools has no
// meaning, and the model is not told what is deferred: the stored tools are sent as they are.
func arrangeLike(stored, tools []transcript.ToolDef) []transcript.ToolDef {
	at := func(d transcript.ToolDef) int {
		i := slices.IndexFunc(stored, func(s transcript.ToolDef) bool { return s.Name == d.Name })
		if i < 0 {
			return len(stored)
		}
		return i
	}
	sorted := slices.Clone(tools)
	for i := range sorted {
		was := findTool(stored, sorted[i].Name)
		sorted[i].Deferred = was != nil && was.Deferred
	}
	slices.SortStableFunc(sorted, func(a, b transcript.ToolDef) int {
		if i, j := at(a), at(b); i != j {
			return i - j
		}
		return strings.Compare(a.Name, b.Name)
	})
	return sorted
}

func describeChanges(stored, asked *session.Prefix) string {
	var parts []string
	if asked.System != stored.System {
		parts = append(parts, "From here on these instructions take the place of the system prompt:\n\n"+asked.System)
	}
	var gone, changed, added []string
	for _, was := range stored.Tools {
		switch now := findTool(asked.Tools, was.Name); {
		case now == nil && was.Hosted: // nothing keeps the provider from running it
		case now == nil:
			gone = append(gone, was.Name)
		case now.Description != was.Description || !bytes.Equal(now.InputSchema, was.InputSchema):
			changed = append(changed, fmt.Sprintf(
				"The tool %s has changed. Its description: %s\nIts input schema: %s", now.Name, now.Description,
				now.InputSchema,
			))
		}
	}
	for _, d := range asked.Tools {
		if findTool(stored.Tools, d.Name) == nil {
			added = append(added, d.Name)
		}
	}
	slices.Sort(added)
	if gone != nil {
		parts = append(
			parts, "These tools are no longer available, and calls of them are refused: "+strings.Join(gone, ", ")+".",
		)
	}
	parts = append(parts, changed...)
	if added != nil {
		parts = append(
			parts, "These tools exist now, but cannot be called in this conversation: "+strings.Join(added, ", ")+".",
		)
	}
	return strings.Join(parts, "\n\n")
}

func findTool(tools []transcript.ToolDef, name string) *transcript.ToolDef {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}
