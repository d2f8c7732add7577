package openai

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// writeStep writes the input items of one message.
func (w *requestWriter) writeStep(s provider.Step) {
	switch s.Message.Role {
	case transcript.RoleAssistant:
		// Write the items of one reply. Items keep the form and ids they
		// came with only when all reasoning of the reply goes along: an id without its
		// reasoning is refused (O-13, repeated-token).
		blocks, intact := w.blocksOf(s)
		for i := range blocks {
			w.writeItem(&blocks[i], s.IDs[i], intact)
		}
	case transcript.RoleToolResults:
		for _, a := range s.Answers {
			// Write a tool result. There is no error flag: the text says it.
			w.Object(func() {
				w.Key("type").Str("function_call_output")
				w.Key("call_id").Text(a.ID)
				w.Key("output")
				if len(a.Result.Parts) == 0 {
					w.Text(provider.ResultText(a.Result))
					return
				}
				w.writeTextAndParts(a.Result.Content, a.Result.Parts)
			})
		}
	case transcript.RoleSystem, transcript.RoleDeveloper: // further on in the conversation
		w.writeTextMessage("developer", s.Message.Content)
	default:
		w.writeUserMessage(s.Message)
	}
}

// writeTextMessage writes an easy message of text.
func (w *requestWriter) writeTextMessage(role, text string) {
	w.writeMessage(role, func() { w.Text(text) })
}

func (w *requestWriter) writeMessage(role string, content func()) {
	w.Object(func() {
		w.Key("type").Str("message")
		w.Key("role").Str(role)
		w.Key("content")
		content()
	})
}

func (w *requestWriter) writeUserMessage(m *transcript.Message) {
	if len(m.Parts) == 0 {
		w.writeTextMessage("user", m.Content)
		return
	}
	w.writeMessage("user", func() { w.writeTextAndParts(m.Content, m.Parts) })
}

func (w *requestWriter) writeTextAndParts(text string, parts []transcript.Part) {
	w.Array(func() {
		if text != "" {
			w.writeInputText(text)
		}
		for _, part := range parts {
			w.writePart(part)
		}
	})
}

func (w *requestWriter) writeInputText(text string) {
	w.Object(func() {
		w.Key("type").Str("input_text")
		w.Key("text").Text(text)
	})
}

// writePart writes an image or a file, and says so in words when the API takes
// neither (O-30, unsupported-media).
func (w *requestWriter) writePart(part transcript.Part) {
	switch {
	case !w.Target.Takes(&part):
		w.writeInputText(handoff.Omitted(&part))
	case part.Type == "image":
		w.Object(func() {
			w.Key("type").Str("input_image")
			w.Key("detail").Str("auto")
			w.Key("image_url")
			w.writeSource(part)
		})
	case part.URL != "":
		w.Object(func() {
			w.Key("type").Str("input_file")
			w.Key("file_url").Text(part.URL)
		})
	default:
		w.Object(func() {
			w.Key("type").Str("input_file")
			w.Key("filename").Str("file.pdf")
			w.Key("file_data")
			w.writeSource(part)
		})
	}
}

func (w *requestWriter) writeSource(part transcript.Part) {
	if part.URL != "" {
		w.Text(part.URL)
		return
	}
	w.DataURL(part.MediaType, part.Data)
}

// blocksOf are the blocks of a reply that go along, and whether in the form that they came in.
func (w *requestWriter) blocksOf(s provider.Step) (blocks []transcript.Block, intact bool) {
	blocks = w.cutTrailingReasoning(s.Message.Blocks, true)
	for i := range blocks {
		if blocks[i].Type == transcript.BlockReasoning && !w.isReplayableReasoning(&blocks[i]) {
			return w.cutTrailingReasoning(blocks, false), false
		}
	}
	return blocks, true
}

// deferredTools are the tools that the model searches for. One that the conversation calls
// in another form than it came in is loaded: such a call names no namespace, and finds its
// tool in the default one only (O-32).
func (w *requestWriter) deferredTools() map[string]bool {
	deferred := map[string]bool{}
	for _, t := range w.Tools {
		if t.Deferred && w.Target.Model.ToolSearch && w.ToolChoice != t.Name {
			deferred[t.Name] = true
		}
	}
	for _, s := range w.Steps {
		if s.Message.Role != transcript.RoleAssistant {
			continue
		}
		blocks, intact := w.blocksOf(s)
		for i := range blocks {
			if b := &blocks[i]; b.Type == transcript.BlockToolUse && w.rawCall(b, s.IDs[i], intact) == nil {
				delete(deferred, b.Name)
			}
		}
	}
	return deferred
}

// rawCall is a call in the form that it came in, nil where it has to be written again.
func (w *requestWriter) rawCall(b *transcript.Block, id string, intact bool) []byte {
	raw := w.Target.Raw(b)
	if !intact || id != b.ID || raw != nil && isCutCall(raw) {
		return nil
	}
	return raw
}

// cutTrailingReasoning cuts off reasoning that no item follows (O-12).
func (w *requestWriter) cutTrailingReasoning(blocks []transcript.Block, intact bool) []transcript.Block {
	for n := len(blocks); n > 0; n-- {
		if w.becomesItem(&blocks[n-1], intact) {
			return blocks[:n]
		}
	}
	return nil
}

// becomesItem reports whether b becomes an item that reasoning may stand before.
func (w *requestWriter) becomesItem(b *transcript.Block, intact bool) bool {
	switch b.Type {
	case transcript.BlockReasoning:
		return false
	case transcript.BlockOpaque:
		return intact && w.Target.Raw(b) != nil
	case transcript.BlockText:
		return b.Text != "" || intact && w.Target.Raw(b) != nil
	default:
		return true
	}
}

// isReplayableReasoning reports whether a reasoning item may go back: made here, with
// encrypted content, for a bare id means nothing while store is false (O-14).
func (w *requestWriter) isReplayableReasoning(b *transcript.Block) bool {
	return b.Meta != nil && b.Meta.EncryptedContent != nil && *b.Meta.EncryptedContent != "" && w.Target.Made(b)
}

func (w *requestWriter) writeItem(b *transcript.Block, id string, intact bool) {
	raw := w.Target.Raw(b)
	if !intact && b.Type != transcript.BlockReasoning {
		raw = nil
	}
	switch b.Type {
	case transcript.BlockReasoning:
		if w.isReplayableReasoning(b) {
			w.writeRawOr(raw, func() { w.writeReasoning(b) })
		}
	case transcript.BlockToolUse:
		w.writeRawOr(w.rawCall(b, id, intact), func() { w.writeCall(b, id) })
	case transcript.BlockOpaque:
		if raw != nil {
			w.Raw(raw)
		}
	default:
		if raw != nil || b.Text != "" {
			w.writeRawOr(raw, func() { w.writeAssistantText(b) })
		}
	}
}

// isCutCall reports whether a call broke off. It is replayed as the call that was
// answered, not as an incomplete one.
func isCutCall(raw []byte) bool {
	return bytes.Equal(jsontok.MemberOf(raw, "status"), []byte(`"incomplete"`))
}

func (w *requestWriter) writeRawOr(raw []byte, fields func()) {
	if raw != nil {
		w.Raw(raw)
		return
	}
	w.Object(fields)
}

// writeReasoning writes the item with its own id, which its encrypted content is
// bound to (O-15), and its summary parts as they came, [] when it had
// none.
func (w *requestWriter) writeReasoning(b *transcript.Block) {
	w.Key("type").Str("reasoning")
	if b.Meta.ID != "" {
		w.Key("id").Str(b.Meta.ID)
	}
	parts := b.Meta.Summary
	if parts == nil && b.Text != "" {
		parts = []string{b.Text}
	}
	w.Key("summary").Array(func() {
		for _, text := range parts {
			w.Object(func() {
				w.Key("type").Str("summary_text")
				w.Key("text").Str(text)
			})
		}
	})
	w.Key("encrypted_content").Str(*b.Meta.EncryptedContent)
}

// writeCall writes a function call without an item id, which is legal
// everywhere, and its arguments as a string of the exact bytes.
func (w *requestWriter) writeCall(b *transcript.Block, id string) {
	w.Key("type").Str("function_call")
	w.Key("call_id").Text(id)
	w.Key("name").Text(b.Name)
	args := b.Args
	if len(args) == 0 {
		args = []byte("{}")
	}
	w.Key("arguments").Str(string(args))
}

// writeAssistantText writes an assistant message, with its phase when it came with one.
func (w *requestWriter) writeAssistantText(b *transcript.Block) {
	w.Key("type").Str("message")
	w.Key("role").Str("assistant")
	if !w.Target.Made(b) {
		w.Key("content").Text(b.Text)
		return
	}
	w.Key("content").Str(b.Text)
	if b.Meta != nil && b.Meta.Phase != "" {
		w.Key("phase").Str(b.Meta.Phase)
	}
}
