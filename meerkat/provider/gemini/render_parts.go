package gemini

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/provider/wire"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// skipValidator stands where a signature is demanded and none of ours exists:
// on a call that another origin made (G-20, H10). It is documented for that
// and is never another vendor's token.
const skipValidator = "skip_thought_signature_validator"

func (p *plan) content(c content) {
	p.Object(func() {
		if c.model {
			p.Key("role").Str("model")
		} else {
			p.Key("role").Str("user")
		}
		p.Key("parts").Array(func() {
			if c.model {
				p.reply(c.steps)
				return
			}
			p.user(c.steps[0])
		})
	})
}

func (p *plan) user(s wire.Step) {
	m := s.Message
	if m.Role == transcript.RoleToolResults {
		for _, a := range s.Answers {
			p.response(a)
		}
		return
	}
	if m.Content != "" {
		p.text(m.Content)
	}
	for _, part := range m.Parts {
		p.part(part)
	}
}

func (p *plan) text(s string) {
	p.Object(func() { p.Key("text").Text(s) })
}

func (p *plan) part(part transcript.Part) {
	switch {
	case !p.target.Takes(&part):
		p.text(wire.Omitted(part))
	case part.URL != "":
		p.Object(func() {
			p.Key("fileData").Object(func() {
				if part.MediaType != "" {
					p.Key("mimeType").Text(part.MediaType)
				}
				p.Key("fileUri").Text(part.URL)
			})
		})
	default:
		p.Object(func() { p.inline(part) })
	}
}

func (p *plan) inline(part transcript.Part) {
	p.Key("inlineData").Object(func() {
		p.Key("mimeType").Text(part.MediaType)
		p.Key("data").Base64(part.Data)
	})
}

// signature returns the thoughtSignature of a block that this origin made, ""
// when it has none that can go back: tokens of others (H11) and text that is
// not base64 would fail the request (G-18, G-19).
func (p *plan) signature(b *transcript.Block) string {
	if b.Meta == nil || !p.target.Made(b) || !wire.IsBase64(b.Meta.ThoughtSignature) {
		return ""
	}
	return b.Meta.ThoughtSignature
}

// sent reports whether b becomes a part. Empty text goes only with its
// signature (D-21, G-7). Thoughts do not go back (D-23), except one that
// carries a signature, which must return where it came (R23).
func (p *plan) sent(b *transcript.Block) bool {
	switch b.Type {
	case transcript.BlockText:
		return b.Text != "" || p.signature(b) != ""
	case transcript.BlockReasoning:
		return p.signature(b) != ""
	case transcript.BlockOpaque:
		return p.target.Raw(b) != nil
	default:
		return true
	}
}

// reply writes the parts of one model content in their order. Its first call
// must be signed (G-17); the rule is applied to every turn, not only the
// current one, so that old contents keep their bytes (R44, GEM-S6).
func (p *plan) reply(steps []wire.Step) {
	first := true
	for _, s := range steps {
		for i := range s.Message.Blocks {
			b := &s.Message.Blocks[i]
			if !p.sent(b) {
				continue
			}
			if b.Type != transcript.BlockToolUse {
				p.block(b)
				continue
			}
			p.call(b, s.IDs[i], first && p.target.Model.Signatures)
			first = false
		}
	}
}

// raw returns the part of b as it came, unless its signature cannot go back.
func (p *plan) raw(b *transcript.Block) []byte {
	if b.Meta != nil && b.Meta.ThoughtSignature != "" && p.signature(b) == "" {
		return nil
	}
	return p.target.Raw(b)
}

// block writes a text, thought or opaque part with the signature it came with.
func (p *plan) block(b *transcript.Block) {
	if raw := p.raw(b); raw != nil {
		p.Raw(raw)
		return
	}
	if b.Type == transcript.BlockOpaque {
		p.Raw(b.Raw)
		return
	}
	p.Object(func() {
		p.Key("text")
		if p.target.Made(b) {
			p.Str(b.Text)
		} else {
			p.Text(b.Text)
		}
		if b.Type == transcript.BlockReasoning {
			p.Key("thought").Bool(true)
		}
		p.sign(p.signature(b))
	})
}

func (p *plan) sign(signature string) {
	if signature != "" {
		p.Key("thoughtSignature").Str(signature)
	}
}

// call writes a functionCall part; the signature is its sibling, not its
// member (G-3). Without signatures of our own, the first call gets the
// documented stand-in.
func (p *plan) call(b *transcript.Block, id string, mustSign bool) {
	signature := p.signature(b)
	withID := p.hasID(b)
	if raw := p.raw(b); raw != nil && (id == b.ID || !withID) && (signature != "" || !mustSign) {
		p.Raw(raw)
		return
	}
	if signature == "" && mustSign {
		signature = skipValidator
	}
	p.Object(func() {
		p.Key("functionCall").Object(func() {
			if withID {
				p.Key("id").Text(id)
			}
			p.Key("name").Text(b.Name)
			p.Key("args").Args(b.Args)
		})
		p.sign(signature)
	})
}

// hasID reports whether a call has its id on the wire: call and response carry
// it both or neither (G-32). A call that came without one keeps to that, and
// its made-up id stays at home (D-24).
func (p *plan) hasID(b *transcript.Block) bool {
	raw := p.target.Raw(b)
	return raw == nil || wire.Member(wire.Member(raw, "functionCall"), "id") != nil
}

// response writes a functionResponse part. It never carries a signature
// (seed 000 §2.3, D-26) and has the name of its call (R25, D-25).
func (p *plan) response(a wire.Answer) {
	r := a.Result
	p.Object(func() {
		p.Key("functionResponse").Object(func() {
			if p.hasID(a.Call) {
				p.Key("id").Text(a.ID)
			}
			p.Key("name").Text(a.Call.Name)
			p.Key("response").Object(func() {
				p.Key("content").Text(p.resultText(r))
				p.Key("error").Bool(r.IsError)
			})
			p.media(r.Parts)
		})
	})
}

// media writes the images and files of a result as parts of the response,
// which may hold nothing else.
func (p *plan) media(parts []transcript.Part) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part transcript.Part) bool { return !p.target.Takes(&part) })
	if len(parts) == 0 {
		return
	}
	p.Key("parts").Array(func() {
		for _, part := range parts {
			p.part(part)
		}
	})
}

// resultText is the text of a result, with a word for each part that cannot
// be carried (H16).
func (p *plan) resultText(r *transcript.ToolResult) string {
	text := wire.ResultText(r)
	for _, part := range r.Parts {
		if !p.target.Takes(&part) {
			text = strings.TrimPrefix(text+"\n"+wire.Omitted(part), "\n")
		}
	}
	return text
}
