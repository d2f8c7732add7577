package simulator

import (
	"maps"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Note says that a request was accepted although the strictest level refuses it.
type Note struct {
	// Provider is the name of the wire, Path what was asked.
	Provider, Path string
	// Rule is the id of the rule, Words are those of the refusal.
	Rule, Words string
}

// NoteHeader is the header of a reply that holds the notes on its request,
// "RULE: WORDS", separated by " | ".
const NoteHeader = "X-Simulator-Note"

// The most notes on one request, and the most bytes of one.
const (
	maxNotes    = 8
	maxNoteText = 300
)

// strictNotes are what rule.Strict would refuse, one for each rule. Only rule.Live
// notes: at other levels it is refused, or not asked for.
func (h *handler) strictNotes(c *call) []Note {
	if h.Level != rule.Live {
		return nil
	}
	env, asked := c.env, c.Parse(c.Request, c.body)
	env.Level, env.Off = rule.Strict, maps.Clone(c.env.Off)
	var notes []Note
	for len(notes) < maxNotes {
		refusal := asked.Check(env)
		if refusal == nil {
			break
		}
		env.Off[refusal.Rule] = true
		words := refusal.Message
		if len(words) > maxNoteText {
			words = strings.ToValidUTF8(words[:maxNoteText], "") + "…"
		}
		notes = append(notes, Note{c.Wire.Name, c.path, refusal.Rule, words})
	}
	if h.Note != nil {
		for _, n := range notes {
			h.Note(n)
		}
	}
	return notes
}

// withNotes is the plan with the notes in its header.
func withNotes(p script.Plan, notes []Note) script.Plan {
	if len(notes) == 0 {
		return p
	}
	var said []string
	for _, n := range notes {
		said = append(said, n.Rule+": "+n.Words)
	}
	header := maps.Clone(p.Header)
	header[NoteHeader] = []string{strings.Join(said, " | ")}
	p.Header = header
	return p
}
