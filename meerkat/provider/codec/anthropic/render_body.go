package anthropic

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// writeBody writes the request. The conversation comes last, so that requests of
// one session share their beginning.
func (w *requestWriter) writeBody() []byte {
	w.Object(func() {
		w.Key("model").Text(w.Model)
		w.Key("max_tokens").Int(w.tokens)
		w.Key("stream").Bool(!w.Unary)
		w.writeParameters()
		// Write one system text as a string, several or a marked one as blocks.
		switch {
		case len(w.Systems) == 0:
		case len(w.Systems) == 1 && w.CacheTTL == "":
			w.Key("system").Text(w.Systems[0])
		default:
			w.Key("system").Array(func() {
				for _, s := range w.Systems {
					w.writeText(s)
				}
				w.markLastBlock()
			})
		}
		w.writeTools()
		marked := w.cacheMarkedTurns()
		w.Key("messages").Array(func() {
			for i, t := range w.turns {
				w.writeMessage(t, i == len(w.turns)-1, slices.Contains(marked, i))
			}
		})
	})
	return w.Bytes()
}

// writeParameters writes the thinking form that the catalogue names (A-28 to
// A-32), and sampling where it is taken.
func (w *requestWriter) writeParameters() {
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
	w.writeOutputConfig(effort)
	w.writeCompaction()
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

// writeOutputConfig writes how hard to think and what form the answer has.
func (w *requestWriter) writeOutputConfig(effort string) {
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

// writeCompaction asks for a compaction of a conversation that is longer than the
// threshold.
func (w *requestWriter) writeCompaction() {
	threshold := w.CompactTokens()
	if threshold == 0 {
		return
	}
	w.Key("context_management").Object(func() {
		w.Key("edits").Array(func() {
			w.Object(func() {
				w.Key("type").Str("compact_20260112")
				w.Key("trigger").Object(func() {
					w.Key("type").Str("input_tokens")
					w.Key("value").Int(threshold)
				})
			})
		})
	})
}

// hostedTypes are the versions of the tools that the API runs.
var hostedTypes = map[string]string{
	transcript.HostedSearch: "web_search_20250305",
	transcript.HostedCode:   "code_execution_20250825",
}

// toolSearch finds deferred tools. It stands ahead of them, and is never deferred itself.
const toolSearch = `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`

func (w *requestWriter) writeTools() {
	if len(w.Tools) == 0 {
		return
	}
	w.Key("tools").Array(func() {
		if slices.ContainsFunc(w.Tools, func(t transcript.ToolDef) bool { return t.Deferred }) {
			w.Raw([]byte(toolSearch))
		}
		for _, t := range w.Tools {
			w.Object(func() {
				if t.Hosted {
					w.Key("type").Str(hostedTypes[t.Name])
					w.Key("name").Text(t.Name)
					return
				}
				w.Key("name").Text(t.Name)
				if t.Description != "" {
					w.Key("description").Text(t.Description)
				}
				w.Key("input_schema").Raw(provider.InputSchema(t))
				if t.Deferred {
					w.Key("defer_loading").Bool(true)
				}
			})
		}
		if last := len(w.Tools) - 1; len(w.Systems) == 0 && !w.Tools[last].Deferred {
			w.markLastBlock()
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

// writeMessage writes one turn; marked ones end what the cache may hold.
func (w *requestWriter) writeMessage(t turn, last, marked bool) {
	w.Object(func() {
		switch t.Message.Role {
		case transcript.RoleAssistant:
			w.Key("role").Str("assistant")
			w.Key("content").Array(func() { w.writeAssistantBlocks(t, last) })
		case transcript.RoleToolResults:
			w.Key("role").Str("user")
			w.Key("content").Array(func() {
				for _, a := range t.Answers {
					w.writeResult(a)
				}
				if marked {
					w.markLastBlock()
				}
			})
		default: // system and developer messages further on go as the user's
			w.Key("role").Str("user")
			w.Key("content")
			w.writeUserContent(t.Message, marked)
		}
	})
}

// writeUserContent writes a string, or blocks when there is more than text or a mark is
// needed: now, or in an earlier request, whose form stays.
func (w *requestWriter) writeUserContent(m *transcript.Message, marked bool) {
	if len(m.Parts) == 0 && w.CacheTTL == "" {
		w.Text(m.Content)
		return
	}
	w.Array(func() {
		w.writeTextAndParts(m.Content, m.Parts)
		if marked {
			w.markLastBlock()
		}
	})
}

func (w *requestWriter) writeTextAndParts(text string, parts []transcript.Part) {
	if !provider.IsBlank(text) {
		w.writeText(text)
	}
	for _, part := range parts {
		w.writePart(part)
	}
}

func (w *requestWriter) writeText(s string) {
	w.Object(func() {
		w.Key("type").Str("text")
		w.Key("text").Text(s)
	})
}

// writePart writes an image or document, and says so in words when the API takes
// neither (A-46, unsupported-media).
func (w *requestWriter) writePart(part transcript.Part) {
	if !w.Target.Takes(&part) {
		w.writeText(handoff.Omitted(&part))
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

// writeAssistantBlocks writes the kept blocks of an assistant message in their
// order. Only text at the very end of the request loses trailing white space
//
func (w *requestWriter) writeAssistantBlocks(t turn, last bool) {
	for n, i := range t.keep {
		b := &t.Message.Blocks[i]
		trim := last && n == len(t.keep)-1 && b.Type == transcript.BlockText &&
			t.Message.StopReason != transcript.StopPauseTurn
		if trim {
			w.writeAssistantText(b, strings.TrimRight(b.Text, " \t\r\n"))
			continue
		}
		w.writeBlock(b, t.IDs[i])
	}
}

func (w *requestWriter) writeBlock(b *transcript.Block, id string) {
	if raw := w.Target.Raw(b); raw != nil && (b.Type != transcript.BlockToolUse || id == b.ID) {
		w.Raw(raw)
		return
	}
	switch b.Type {
	case transcript.BlockReasoning:
		// Write thinking with its key present even when the text is
		// empty, or redacted thinking. It takes no cache mark.
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
	case transcript.BlockToolUse:
		w.Object(func() {
			w.Key("type").Str("tool_use")
			w.Key("id").Text(id)
			w.Key("name").Text(b.Name)
			w.Key("input").Args(b.Args)
		})
	default:
		w.writeAssistantText(b, b.Text)
	}
}

// writeAssistantText keeps the bytes of what this origin made and mends those of
// others.
func (w *requestWriter) writeAssistantText(b *transcript.Block, text string) {
	if !w.Target.Made(b) {
		w.writeText(text)
		return
	}
	w.Object(func() {
		w.Key("type").Str("text")
		w.Key("text").Str(text)
	})
}

// writeResult writes one tool result. Results stand alone in their message, so they
// come first in it. An error is text only and never empty.
func (w *requestWriter) writeResult(a provider.Answer) {
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
					w.writeText(r.Content)
				}
				for _, part := range r.Parts {
					w.writeText(handoff.Omitted(&part))
				}
			})
		default:
			w.Array(func() { w.writeTextAndParts(r.Content, r.Parts) })
		}
		w.Key("is_error").Bool(r.IsError)
	})
}
