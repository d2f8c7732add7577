package handoff

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Takes reports whether t takes a part in a message of the user or in a result.
// What it does not take goes out as Omitted (H16).
func (t Target) Takes(p *transcript.Part) bool {
	if p.URL == "" && len(p.Data) == 0 {
		return false
	}
	if p.URL != "" {
		return t.Model.Traits.TakesPart(p.Type)
	}
	return t.Model.Traits.TakesMedia(p.Type, p.MediaType, base64.StdEncoding.EncodedLen(len(p.Data)))
}

// TakesIn is Takes for a part of a result: some providers take nothing but text
// in one that is an error.
func (t Target) TakesIn(r *transcript.ToolResult, p *transcript.Part) bool {
	return t.Takes(p) && (!r.IsError || !t.Model.Traits.TextOnlyErrors)
}

// Omitted is the text that takes the place of a part that a target does not
// take (H16).
func Omitted(p *transcript.Part) string {
	kind, media := p.Type, p.MediaType
	if kind == "" {
		kind = "part"
	}
	if media == "" {
		media = "unknown type"
	}
	return fmt.Sprintf("(%s omitted: %s)", kind, media)
}

// media puts words in the place of parts where the renderers put none, and
// tells of every part that the target does not get (H16).
func (b *builder) media(messages []placed) {
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case transcript.RoleUser:
			for k := range m.Parts {
				if !b.target.Takes(&m.Parts[k]) {
					b.omit(m.at, k, "", &m.Parts[k])
				}
			}
		case transcript.RoleSystem, transcript.RoleDeveloper:
			b.wordsOnly(m)
		case transcript.RoleAssistant, transcript.RoleToolResults: // see pictures and resultParts
		}
	}
}

func (b *builder) omit(at, index int, callID string, p *transcript.Part) {
	b.lose("H16", at, index, callID, b.target.Provider+" does not take it; in its place stands "+Omitted(p))
}

// resultParts is media for the result at an index of a message.
func (b *builder) resultParts(at, index int, r *transcript.ToolResult) {
	for n := range r.Parts {
		if !b.target.TakesIn(r, &r.Parts[n]) {
			b.omit(at, index, r.ToolUseID, &r.Parts[n])
		}
	}
}

// wordsOnly leaves the text of a message that is not the user's.
func (b *builder) wordsOnly(m *placed) {
	for k := range m.Parts {
		b.omit(m.at, k, "", &m.Parts[k])
		m.Content = strings.TrimPrefix(m.Content+"\n"+Omitted(&m.Parts[k]), "\n")
	}
	m.Parts = nil
}

// pictures are the texts that stand for the parts of a whole reply.
func (r *reply) pictures(parts []transcript.Part) []transcript.Block {
	var all []transcript.Block
	for k := range parts {
		r.omit(r.at, k, "", &parts[k])
		all = append(all, transcript.Text(Omitted(&parts[k])))
	}
	return all
}

// picture is the text that stands for what the model itself drew.
func (r *reply) picture(b *transcript.Block) transcript.Block {
	var words []string
	for k := range b.Parts {
		words = append(words, Omitted(&b.Parts[k]))
	}
	return transcript.Text(strings.Join(slices.Compact(words), "\n"))
}

// void reports whether a block is nothing on the wire of the target: text
// without a word in it, unless it carries a token (A-11, D-21).
func (b *builder) void(block *transcript.Block) bool {
	if block.Type != transcript.BlockText {
		return false
	}
	if b.target.Model.Traits.RefusesBlankText {
		return strings.TrimSpace(block.Text) == ""
	}
	return block.Text == "" && token(block) == "" && b.target.Raw(block) == nil
}
