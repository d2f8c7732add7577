package handoff

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Takes reports whether t takes a part in a message of the user or in a result.
// What it does not take is sent as Omitted.
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
// take.
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

// replaceMedia puts words in the place of parts where the renderers put none, and
// reports every part that the target does not get.
func (b *builder) replaceMedia(messages []placed) {
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case transcript.RoleUser:
			for k := range m.Parts {
				if !b.target.Takes(&m.Parts[k]) {
					b.omitPart(m.at, k, "", &m.Parts[k])
				}
			}
		case transcript.RoleSystem, transcript.RoleDeveloper:
			// Replace the parts of a message that is not the user's by text.
			for k := range m.Parts {
				b.omitPart(m.at, k, "", &m.Parts[k])
				m.Content = strings.TrimPrefix(m.Content+"\n"+Omitted(&m.Parts[k]), "\n")
			}
			m.Parts = nil
		case transcript.RoleAssistant, transcript.RoleToolResults: // see describeParts and checkResultParts
		}
	}
}

func (b *builder) omitPart(at, index int, callID string, p *transcript.Part) {
	b.degrade(
		ruleUnsupportedMedia, at, index, callID,
		b.target.Provider+" does not take it; in its place stands "+Omitted(p),
	)
}

// checkResultParts is replaceMedia for the result at an index of a message.
func (b *builder) checkResultParts(at, index int, r *transcript.ToolResult) {
	for n := range r.Parts {
		if !b.target.TakesIn(r, &r.Parts[n]) {
			b.omitPart(at, index, r.ToolUseID, &r.Parts[n])
		}
	}
}

// describeParts returns the texts that stand for the parts of a whole reply.
func (r *reply) describeParts(parts []transcript.Part) []transcript.Block {
	var all []transcript.Block
	for k := range parts {
		r.omitPart(r.at, k, "", &parts[k])
		all = append(all, transcript.Text(Omitted(&parts[k])))
	}
	return all
}

// describePicture returns the text that stands for what the model itself drew.
func describePicture(b *transcript.Block) transcript.Block {
	var words []string
	for k := range b.Parts {
		words = append(words, Omitted(&b.Parts[k]))
	}
	return transcript.Text(strings.Join(slices.Compact(words), "\n"))
}

// isVoid reports whether a block is nothing on the wire of the target: text that it
// does not take, or empty text without a token (D-21).
func (b *builder) isVoid(block *transcript.Block) bool {
	if block.Type != transcript.BlockText {
		return false
	}
	if b.target.Model.Traits.RefusesBlankText {
		return !b.target.TakesText(block)
	}
	return block.Text == "" && tokenOf(block) == "" && b.target.Raw(block) == nil
}

// TakesText reports whether t takes the text of a reply where it refuses blank text:
// white space goes back only when t issued it.
func (t Target) TakesText(b *transcript.Block) bool {
	return strings.TrimSpace(b.Text) != "" || b.Text != "" && b.Origin != nil && t.Made(b)
}
