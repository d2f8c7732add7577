package openai

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/provider/wire"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// step writes the input items of one message.
func (p *plan) step(s wire.Step) {
	switch s.Message.Role {
	case transcript.RoleAssistant:
		p.assistant(s)
	case transcript.RoleToolResults:
		for _, a := range s.Answers {
			p.output(a)
		}
	case transcript.RoleSystem, transcript.RoleDeveloper: // amid the conversation (H17)
		p.say("developer", s.Message.Content)
	default:
		p.user(s.Message)
	}
}

// say writes an easy message of text.
func (p *plan) say(role, text string) {
	p.message(role, func() { p.Text(text) })
}

func (p *plan) message(role string, content func()) {
	p.Object(func() {
		p.Key("type").Str("message")
		p.Key("role").Str(role)
		p.Key("content")
		content()
	})
}

func (p *plan) user(m *transcript.Message) {
	if len(m.Parts) == 0 {
		p.say("user", m.Content)
		return
	}
	p.message("user", func() { p.contents(m.Content, m.Parts) })
}

func (p *plan) contents(text string, parts []transcript.Part) {
	p.Array(func() {
		if text != "" {
			p.inputText(text)
		}
		for _, part := range parts {
			p.part(part)
		}
	})
}

func (p *plan) inputText(text string) {
	p.Object(func() {
		p.Key("type").Str("input_text")
		p.Key("text").Text(text)
	})
}

// part writes an image or a file, and says so in words when the API takes
// neither (O-30, H16).
func (p *plan) part(part transcript.Part) {
	switch {
	case !p.target.Takes(&part):
		p.inputText(wire.Omitted(part))
	case part.Type == "image":
		p.Object(func() {
			p.Key("type").Str("input_image")
			p.Key("detail").Str("auto")
			p.Key("image_url")
			p.source(part)
		})
	case part.URL != "":
		p.Object(func() {
			p.Key("type").Str("input_file")
			p.Key("file_url").Text(part.URL)
		})
	default:
		p.Object(func() {
			p.Key("type").Str("input_file")
			p.Key("filename").Str("file.pdf")
			p.Key("file_data")
			p.source(part)
		})
	}
}

func (p *plan) source(part transcript.Part) {
	if part.URL != "" {
		p.Text(part.URL)
		return
	}
	p.DataURL(part.MediaType, part.Data)
}

// output writes a tool result. There is no error flag: the text says it.
func (p *plan) output(a wire.Answer) {
	p.Object(func() {
		p.Key("type").Str("function_call_output")
		p.Key("call_id").Text(a.ID)
		p.Key("output")
		if len(a.Result.Parts) == 0 {
			p.Text(wire.ResultText(a.Result))
			return
		}
		p.contents(a.Result.Content, a.Result.Parts)
	})
}

// assistant writes the items of one reply. Items keep the form and ids they
// came with only when all reasoning of the reply goes along: an id without its
// reasoning is refused (O-13, H9).
func (p *plan) assistant(s wire.Step) {
	blocks := p.followed(s.Message.Blocks, true)
	intact := true
	for i := range blocks {
		intact = intact && (blocks[i].Type != transcript.BlockReasoning || p.replayable(&blocks[i]))
	}
	if !intact {
		blocks = p.followed(blocks, false)
	}
	for i := range blocks {
		p.item(&blocks[i], s.IDs[i], intact)
	}
}

// followed cuts off reasoning that no item follows (O-12, D-16).
func (p *plan) followed(blocks []transcript.Block, intact bool) []transcript.Block {
	for n := len(blocks); n > 0; n-- {
		if p.follows(&blocks[n-1], intact) {
			return blocks[:n]
		}
	}
	return nil
}

// follows reports whether b becomes an item that reasoning may stand before.
func (p *plan) follows(b *transcript.Block, intact bool) bool {
	switch b.Type {
	case transcript.BlockReasoning:
		return false
	case transcript.BlockOpaque:
		return intact && p.target.Raw(b) != nil
	case transcript.BlockText:
		return b.Text != "" || intact && p.target.Raw(b) != nil
	default:
		return true
	}
}

// replayable reports whether a reasoning item may go back: made here, with
// encrypted content, for a bare id means nothing while store is false (O-14,
// R16).
func (p *plan) replayable(b *transcript.Block) bool {
	return b.Meta != nil && b.Meta.EncryptedContent != nil && *b.Meta.EncryptedContent != "" && p.target.Made(b)
}

func (p *plan) item(b *transcript.Block, id string, intact bool) {
	raw := p.target.Raw(b)
	if !intact && b.Type != transcript.BlockReasoning {
		raw = nil
	}
	switch b.Type {
	case transcript.BlockReasoning:
		if p.replayable(b) {
			p.rawOr(raw, func() { p.reasoning(b) })
		}
	case transcript.BlockToolUse:
		if id != b.ID || raw != nil && cut(raw) {
			raw = nil
		}
		p.rawOr(raw, func() { p.call(b, id) })
	case transcript.BlockOpaque:
		if raw != nil {
			p.Raw(raw)
		}
	default:
		if raw != nil || b.Text != "" {
			p.rawOr(raw, func() { p.text(b) })
		}
	}
}

// cut reports whether a call broke off. It is replayed as the call that was
// answered, not as an incomplete one (D-16).
func cut(raw []byte) bool { return bytes.Equal(wire.Member(raw, "status"), []byte(`"incomplete"`)) }

func (p *plan) rawOr(raw []byte, fields func()) {
	if raw != nil {
		p.Raw(raw)
		return
	}
	p.Object(fields)
}

// reasoning writes the item with its own id, which its encrypted content is
// bound to (O-15, D-15), and its summary parts as they came, [] when it had
// none (R18, D-13).
func (p *plan) reasoning(b *transcript.Block) {
	p.Key("type").Str("reasoning")
	if b.Meta.ID != "" {
		p.Key("id").Str(b.Meta.ID)
	}
	parts := b.Meta.Summary
	if parts == nil && b.Text != "" {
		parts = []string{b.Text}
	}
	p.Key("summary").Array(func() {
		for _, text := range parts {
			p.Object(func() {
				p.Key("type").Str("summary_text")
				p.Key("text").Str(text)
			})
		}
	})
	p.Key("encrypted_content").Str(*b.Meta.EncryptedContent)
}

// call writes a function call without an item id, which is legal everywhere
// (OAI-I5), and its arguments as a string of the exact bytes.
func (p *plan) call(b *transcript.Block, id string) {
	p.Key("type").Str("function_call")
	p.Key("call_id").Text(id)
	p.Key("name").Text(b.Name)
	args := b.Args
	if len(args) == 0 {
		args = []byte("{}")
	}
	p.Key("arguments").Str(string(args))
}

// text writes an assistant message, with its phase when it came with one
// (R20, D-17).
func (p *plan) text(b *transcript.Block) {
	p.Key("type").Str("message")
	p.Key("role").Str("assistant")
	if !p.target.Made(b) {
		p.Key("content").Text(b.Text)
		return
	}
	p.Key("content").Str(b.Text)
	if b.Meta != nil && b.Meta.Phase != "" {
		p.Key("phase").Str(b.Meta.Phase)
	}
}
