package anthropic

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider/wire"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// body writes the request. The conversation comes last, so that requests of
// one session share their beginning.
func (p *plan) body() []byte {
	p.Object(func() {
		p.Key("model").Text(p.req.Model)
		p.Key("max_tokens").Int(p.tokens)
		p.Key("stream").Bool(!p.req.Unary)
		p.parameters()
		p.system()
		p.tools()
		marked := p.marked()
		p.Key("messages").Array(func() {
			for i, t := range p.turns {
				p.message(t, i == len(p.turns)-1, slices.Contains(marked, i))
			}
		})
	})
	return p.Bytes()
}

// parameters writes the thinking form that the catalogue names (D-7, A-28 to
// A-32), and sampling where it is taken.
func (p *plan) parameters() {
	m := p.target.Model
	effort := ""
	switch {
	case m.Thinking == catalog.ThinkingNone:
	case !p.thinking:
		p.Key("thinking").Object(func() { p.Key("type").Str("disabled") })
	case m.Thinking == catalog.ThinkingBudget:
		p.Key("thinking").Object(func() {
			p.Key("type").Str("enabled")
			p.Key("budget_tokens").Int(p.budget)
		})
	default:
		p.Key("thinking").Object(func() { p.Key("type").Str("adaptive") })
		effort = m.Effort(p.req.Effort)
	}
	p.outputConfig(effort)
	if p.req.Temperature != nil && m.Sampling && !p.thinking {
		p.Key("temperature").Float(*p.req.Temperature)
	}
	if len(p.req.StopSequences) > 0 {
		p.Key("stop_sequences").Array(func() {
			for _, s := range p.req.StopSequences {
				p.Text(s)
			}
		})
	}
}

// outputConfig writes how hard to think and what form the answer has.
func (p *plan) outputConfig(effort string) {
	if effort == "" && len(p.req.OutputSchema) == 0 {
		return
	}
	p.Key("output_config").Object(func() {
		if effort != "" {
			p.Key("effort").Text(effort)
		}
		if len(p.req.OutputSchema) > 0 {
			p.Key("format").Object(func() {
				p.Key("type").Str("json_schema")
				p.Key("schema").Raw(p.req.OutputSchema)
			})
		}
	})
}

// system writes one system text as a string, several or a marked one as blocks.
func (p *plan) system() {
	switch {
	case len(p.systems) == 0:
	case len(p.systems) == 1 && p.req.CacheTTL == "":
		p.Key("system").Text(p.systems[0])
	default:
		p.Key("system").Array(func() {
			for _, s := range p.systems {
				p.text(s)
			}
			p.mark()
		})
	}
}

func (p *plan) tools() {
	if len(p.req.Tools) == 0 {
		return
	}
	p.Key("tools").Array(func() {
		for _, t := range p.req.Tools {
			p.Object(func() {
				p.Key("name").Text(t.Name)
				if t.Description != "" {
					p.Key("description").Text(t.Description)
				}
				p.Key("input_schema").Raw(wire.Schema(t))
			})
		}
		if len(p.systems) == 0 {
			p.mark()
		}
	})
	switch choice := p.req.ToolChoice; choice {
	case "":
	case "auto", "any", "none":
		p.Key("tool_choice").Object(func() { p.Key("type").Str(choice) })
	default:
		p.Key("tool_choice").Object(func() {
			p.Key("type").Str("tool")
			p.Key("name").Text(choice)
		})
	}
}

// message writes one turn; marked ones end what the cache may hold.
func (p *plan) message(t turn, last, marked bool) {
	p.Object(func() {
		switch t.Message.Role {
		case transcript.RoleAssistant:
			p.Key("role").Str("assistant")
			p.Key("content").Array(func() { p.blocks(t, last) })
		case transcript.RoleToolResults:
			p.Key("role").Str("user")
			p.Key("content").Array(func() {
				for _, a := range t.Answers {
					p.result(a)
				}
				if marked {
					p.mark()
				}
			})
		default: // system and developer messages amid the conversation go as the user's (H17)
			p.Key("role").Str("user")
			p.Key("content")
			p.user(t.Message, marked)
		}
	})
}

// user writes a string, or blocks when there is more than text or a mark is
// needed: now, or in an earlier request, whose form stays (R44).
func (p *plan) user(m *transcript.Message, marked bool) {
	if len(m.Parts) == 0 && p.req.CacheTTL == "" {
		p.Text(m.Content)
		return
	}
	p.Array(func() {
		p.contents(m.Content, m.Parts)
		if marked {
			p.mark()
		}
	})
}

func (p *plan) contents(text string, parts []transcript.Part) {
	if !wire.Blank(text) {
		p.text(text)
	}
	for _, part := range parts {
		p.part(part)
	}
}

func (p *plan) text(s string) {
	p.Object(func() {
		p.Key("type").Str("text")
		p.Key("text").Text(s)
	})
}

// part writes an image or document, and says so in words when the API takes
// neither (A-46, H16).
func (p *plan) part(part transcript.Part) {
	if !p.target.Takes(&part) {
		p.text(wire.Omitted(part))
		return
	}
	kind := "image"
	if part.Type == "file" {
		kind = "document"
	}
	p.Object(func() {
		p.Key("type").Str(kind)
		p.Key("source").Object(func() {
			if part.URL != "" {
				p.Key("type").Str("url")
				p.Key("url").Text(part.URL)
				return
			}
			p.Key("type").Str("base64")
			p.Key("media_type").Text(part.MediaType)
			p.Key("data").Base64(part.Data)
		})
	})
}

// blocks writes the kept blocks of an assistant message in their order. Only
// text at the very end of the request loses trailing white space.
func (p *plan) blocks(t turn, last bool) {
	for n, i := range t.keep {
		b := &t.Message.Blocks[i]
		trim := last && n == len(t.keep)-1 && b.Type == transcript.BlockText && t.Message.StopReason != transcript.StopPauseTurn
		if trim {
			p.assistantText(b, strings.TrimRight(b.Text, " \t\r\n"))
			continue
		}
		p.block(b, t.IDs[i])
	}
}

func (p *plan) block(b *transcript.Block, id string) {
	if raw := p.target.Raw(b); raw != nil && (b.Type != transcript.BlockToolUse || id == b.ID) {
		p.Raw(raw)
		return
	}
	switch b.Type {
	case transcript.BlockReasoning:
		p.thinkingBlock(b)
	case transcript.BlockToolUse:
		p.Object(func() {
			p.Key("type").Str("tool_use")
			p.Key("id").Text(id)
			p.Key("name").Text(b.Name)
			p.Key("input").Args(b.Args)
		})
	default:
		p.assistantText(b, b.Text)
	}
}

// assistantText keeps the bytes of what this origin made and mends those of
// others.
func (p *plan) assistantText(b *transcript.Block, text string) {
	if !p.target.Made(b) {
		p.text(text)
		return
	}
	p.Object(func() {
		p.Key("type").Str("text")
		p.Key("text").Str(text)
	})
}

// thinkingBlock writes thinking with its key present even when the text is
// empty (R6), or redacted thinking (D-1). It takes no cache mark.
func (p *plan) thinkingBlock(b *transcript.Block) {
	p.Object(func() {
		if b.Meta.Provider == transcript.MetaAnthropicRedacted {
			p.Key("type").Str("redacted_thinking")
			p.Key("data").Str(b.Meta.Data)
			return
		}
		p.Key("type").Str("thinking")
		p.Key("thinking").Str(b.Text)
		p.Key("signature").Str(b.Meta.Signature)
	})
}

// result writes one tool result. Results stand alone in their message, so they
// come first in it. An error is text only and never empty.
func (p *plan) result(a wire.Answer) {
	r := a.Result
	p.Object(func() {
		p.Key("type").Str("tool_result")
		p.Key("tool_use_id").Text(a.ID)
		p.Key("content")
		switch {
		case len(r.Parts) == 0:
			p.Text(wire.ResultText(r))
		case r.IsError:
			p.Array(func() {
				if !wire.Blank(r.Content) {
					p.text(r.Content)
				}
				for _, part := range r.Parts {
					p.text(wire.Omitted(part))
				}
			})
		default:
			p.Array(func() { p.contents(r.Content, r.Parts) })
		}
		p.Key("is_error").Bool(r.IsError)
	})
}
