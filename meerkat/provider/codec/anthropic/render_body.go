package anthropic

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// body writes the request. The conversation comes last, so that requests of
// one session share their beginning.
func (w *requestWriter) body() []byte {
	w.Object(func() {
		w.Key("model").Text(w.Model)
		w.Key("max_tokens").Int(w.tokens)
		w.Key("stream").Bool(!w.Unary)
		w.parameters()
		w.system()
		w.tools()
		marked := w.marked()
		w.Key("messages").Array(func() {
			for i, t := range w.turns {
				w.message(t, i == len(w.turns)-1, slices.Contains(marked, i))
			}
		})
	})
	return w.Bytes()
}

// parameters writes the thinking form that the catalogue names (D-7, A-28 to
// A-32), and sampling where it is taken.
func (w *requestWriter) parameters() {
	m := w.Target.Model
	effort := ""
	switch {
	case m.Thinking == catalog.ThinkingNone:
	case !w.thinking:
		w.Key("thinking").Object(func() { w.Key("type").Str("disabled") })
	case m.Thinking == catalog.ThinkingBudget:
		w.Key("thinking").Object(func() {
			w.Key("type").Str("enabled")
			w.Key("budget_tokens").Int(w.budget)
		})
	default:
		w.Key("thinking").Object(func() { w.Key("type").Str("adaptive") })
		effort = m.Effort(w.Effort)
	}
	w.outputConfig(effort)
	if w.Temperature != nil && m.Sampling && !w.thinking {
		w.Key("temperature").Float(*w.Temperature)
	}
	if len(w.StopSequences) > 0 {
		w.Key("stop_sequences").Array(func() {
			for _, s := range w.StopSequences {
				w.Text(s)
			}
		})
	}
}

// outputConfig writes how hard to think and what form the answer has.
func (w *requestWriter) outputConfig(effort string) {
	if effort == "" && len(w.OutputSchema) == 0 {
		return
	}
	w.Key("output_config").Object(func() {
		if effort != "" {
			w.Key("effort").Text(effort)
		}
		if len(w.OutputSchema) > 0 {
			w.Key("format").Object(func() {
				w.Key("type").Str("json_schema")
				w.Key("schema").Raw(w.OutputSchema)
			})
		}
	})
}

// system writes one system text as a string, several or a marked one as blocks.
func (w *requestWriter) system() {
	switch {
	case len(w.Systems) == 0:
	case len(w.Systems) == 1 && w.CacheTTL == "":
		w.Key("system").Text(w.Systems[0])
	default:
		w.Key("system").Array(func() {
			for _, s := range w.Systems {
				w.text(s)
			}
			w.mark()
		})
	}
}

func (w *requestWriter) tools() {
	if len(w.Tools) == 0 {
		return
	}
	w.Key("tools").Array(func() {
		for _, t := range w.Tools {
			w.Object(func() {
				w.Key("name").Text(t.Name)
				if t.Description != "" {
					w.Key("description").Text(t.Description)
				}
				w.Key("input_schema").Raw(provider.InputSchema(t))
			})
		}
		if len(w.Systems) == 0 {
			w.mark()
		}
	})
	switch choice := w.ToolChoice; choice {
	case "":
	case "auto", "any", "none":
		w.Key("tool_choice").Object(func() { w.Key("type").Str(choice) })
	default:
		w.Key("tool_choice").Object(func() {
			w.Key("type").Str("tool")
			w.Key("name").Text(choice)
		})
	}
}

// message writes one turn; marked ones end what the cache may hold.
func (w *requestWriter) message(t turn, last, marked bool) {
	w.Object(func() {
		switch t.Message.Role {
		case transcript.RoleAssistant:
			w.Key("role").Str("assistant")
			w.Key("content").Array(func() { w.blocks(t, last) })
		case transcript.RoleToolResults:
			w.Key("role").Str("user")
			w.Key("content").Array(func() {
				for _, a := range t.Answers {
					w.result(a)
				}
				if marked {
					w.mark()
				}
			})
		default: // system and developer messages amid the conversation go as the user's
			w.Key("role").Str("user")
			w.Key("content")
			w.user(t.Message, marked)
		}
	})
}

// user writes a string, or blocks when there is more than text or a mark is
// needed: now, or in an earlier request, whose form stays (R44).
func (w *requestWriter) user(m *transcript.Message, marked bool) {
	if len(m.Parts) == 0 && w.CacheTTL == "" {
		w.Text(m.Content)
		return
	}
	w.Array(func() {
		w.contents(m.Content, m.Parts)
		if marked {
			w.mark()
		}
	})
}

func (w *requestWriter) contents(text string, parts []transcript.Part) {
	if !provider.IsBlank(text) {
		w.text(text)
	}
	for _, part := range parts {
		w.part(part)
	}
}

func (w *requestWriter) text(s string) {
	w.Object(func() {
		w.Key("type").Str("text")
		w.Key("text").Text(s)
	})
}

// part writes an image or document, and says so in words when the API takes
// neither (A-46, unsupported-media).
func (w *requestWriter) part(part transcript.Part) {
	if !w.Target.Takes(&part) {
		w.text(handoff.Omitted(&part))
		return
	}
	kind := "image"
	if part.Type == "file" {
		kind = "document"
	}
	w.Object(func() {
		w.Key("type").Str(kind)
		w.Key("source").Object(func() {
			if part.URL != "" {
				w.Key("type").Str("url")
				w.Key("url").Text(part.URL)
				return
			}
			w.Key("type").Str("base64")
			w.Key("media_type").Text(part.MediaType)
			w.Key("data").Base64(part.Data)
		})
	})
}

// blocks writes the kept blocks of an assistant message in their order. Only
// text at the very end of the request loses trailing white space.
func (w *requestWriter) blocks(t turn, last bool) {
	for n, i := range t.keep {
		b := &t.Message.Blocks[i]
		trim := last && n == len(t.keep)-1 && b.Type == transcript.BlockText && t.Message.StopReason != transcript.StopPauseTurn
		if trim {
			w.assistantText(b, strings.TrimRight(b.Text, " \t\r\n"))
			continue
		}
		w.block(b, t.IDs[i])
	}
}

func (w *requestWriter) block(b *transcript.Block, id string) {
	if raw := w.Target.Raw(b); raw != nil && (b.Type != transcript.BlockToolUse || id == b.ID) {
		w.Raw(raw)
		return
	}
	switch b.Type {
	case transcript.BlockReasoning:
		w.thinkingBlock(b)
	case transcript.BlockToolUse:
		w.Object(func() {
			w.Key("type").Str("tool_use")
			w.Key("id").Text(id)
			w.Key("name").Text(b.Name)
			w.Key("input").Args(b.Args)
		})
	default:
		w.assistantText(b, b.Text)
	}
}

// assistantText keeps the bytes of what this origin made and mends those of
// others.
func (w *requestWriter) assistantText(b *transcript.Block, text string) {
	if !w.Target.Made(b) {
		w.text(text)
		return
	}
	w.Object(func() {
		w.Key("type").Str("text")
		w.Key("text").Str(text)
	})
}

// thinkingBlock writes thinking with its key present even when the text is
// empty (R6), or redacted thinking (D-1). It takes no cache mark.
func (w *requestWriter) thinkingBlock(b *transcript.Block) {
	w.Object(func() {
		if b.Meta.Provider == transcript.MetaAnthropicRedacted {
			w.Key("type").Str("redacted_thinking")
			w.Key("data").Str(b.Meta.Data)
			return
		}
		w.Key("type").Str("thinking")
		w.Key("thinking").Str(b.Text)
		w.Key("signature").Str(b.Meta.Signature)
	})
}

// result writes one tool result. Results stand alone in their message, so they
// come first in it. An error is text only and never empty.
func (w *requestWriter) result(a provider.Answer) {
	r := a.Result
	w.Object(func() {
		w.Key("type").Str("tool_result")
		w.Key("tool_use_id").Text(a.ID)
		w.Key("content")
		switch {
		case len(r.Parts) == 0:
			w.Text(provider.ResultText(r))
		case r.IsError:
			w.Array(func() {
				if !provider.IsBlank(r.Content) {
					w.text(r.Content)
				}
				for _, part := range r.Parts {
					w.text(handoff.Omitted(&part))
				}
			})
		default:
			w.Array(func() { w.contents(r.Content, r.Parts) })
		}
		w.Key("is_error").Bool(r.IsError)
	})
}
