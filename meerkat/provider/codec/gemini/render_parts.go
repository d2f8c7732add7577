package gemini

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// skipValidator stands where a signature is demanded and none of ours exists:
// on a call that another origin made (G-20, missing-signature). It is
// documented for that and is never another vendor's token.
const skipValidator = "skip_thought_signature_validator"

func (w *requestWriter) writeUserParts(s provider.Step) {
	m := s.Message
	if m.Role == transcript.RoleToolResults {
		for _, a := range s.Answers {
			w.writeResponse(a)
		}
		return
	}
	if m.Content != "" {
		w.writeText(m.Content)
	}
	for _, part := range m.Parts {
		w.writePart(part)
	}
}

func (w *requestWriter) writeText(s string) {
	w.Object(func() { w.Key("text").Text(s) })
}

func (w *requestWriter) writePart(part transcript.Part) {
	switch {
	case !w.Target.Takes(&part):
		w.writeText(handoff.Omitted(&part))
	case part.URL != "":
		w.Object(func() {
			w.Key("fileData").Object(func() {
				if part.MediaType != "" {
					w.Key("mimeType").Text(part.MediaType)
				}
				w.Key("fileUri").Text(part.URL)
			})
		})
	default:
		w.Object(func() { w.writeInlineData(part) })
	}
}

func (w *requestWriter) writeInlineData(part transcript.Part) {
	w.Key("inlineData").Object(func() {
		w.Key("mimeType").Text(part.MediaType)
		w.Key("data").Base64(part.Data)
	})
}

// replayableSignature returns the thoughtSignature of a block that this origin made, ""
// when it has none that can go back: tokens of others (foreign-token) and text that is
// not base64 would fail the request (G-18, G-19).
func (w *requestWriter) replayableSignature(b *transcript.Block) string {
	if b.Meta == nil || !w.Target.Made(b) || !handoff.IsBase64(b.Meta.ThoughtSignature) {
		return ""
	}
	return b.Meta.ThoughtSignature
}

// isSent reports whether b becomes a part. Empty text goes only with its
// signature (G-7). Thoughts do not go back, except one that
// carries a signature, which must return where it came.
func (w *requestWriter) isSent(b *transcript.Block) bool {
	switch b.Type {
	case transcript.BlockText:
		return b.Text != "" || w.replayableSignature(b) != ""
	case transcript.BlockReasoning:
		return w.replayableSignature(b) != ""
	case transcript.BlockOpaque:
		return w.Target.Raw(b) != nil
	default:
		return true
	}
}

// writeReply writes the parts of one model content in their order. Its first call
// must be signed (G-17); the rule is applied to every turn, not only the
// current one, so that old contents keep their bytes.
func (w *requestWriter) writeReply(steps []provider.Step) {
	first := true
	for _, s := range steps {
		for i := range s.Message.Blocks {
			b := &s.Message.Blocks[i]
			if !w.isSent(b) {
				continue
			}
			if b.Type != transcript.BlockToolUse {
				w.writeBlock(b)
				continue
			}
			w.writeCall(b, s.IDs[i], first && w.Target.Model.Signatures)
			first = false
		}
	}
}

// replayableRaw returns the part of b as it came, unless its signature cannot go back.
func (w *requestWriter) replayableRaw(b *transcript.Block) []byte {
	if b.Meta != nil && b.Meta.ThoughtSignature != "" && w.replayableSignature(b) == "" {
		return nil
	}
	return w.Target.Raw(b)
}

// writeBlock writes a text, thought or opaque part with the signature it came with.
func (w *requestWriter) writeBlock(b *transcript.Block) {
	if raw := w.replayableRaw(b); raw != nil {
		w.Raw(raw)
		return
	}
	if b.Type == transcript.BlockOpaque {
		w.Raw(b.Raw)
		return
	}
	w.Object(func() {
		w.Key("text")
		if w.Target.Made(b) {
			w.Str(b.Text)
		} else {
			w.Text(b.Text)
		}
		if b.Type == transcript.BlockReasoning {
			w.Key("thought").Bool(true)
		}
		w.writeSignature(w.replayableSignature(b))
	})
}

func (w *requestWriter) writeSignature(signature string) {
	if signature != "" {
		w.Key("thoughtSignature").Str(signature)
	}
}

// writeCall writes a functionCall part; the signature is its sibling, not its
// member (G-3). Without signatures of our own, the first call gets the
// documented stand-in.
func (w *requestWriter) writeCall(b *transcript.Block, id string, mustSign bool) {
	signature := w.replayableSignature(b)
	withID := w.hasWireID(b)
	if raw := w.replayableRaw(b); raw != nil && (id == b.ID || !withID) && (signature != "" || !mustSign) {
		w.Raw(raw)
		return
	}
	if signature == "" && mustSign {
		signature = skipValidator
	}
	w.Object(func() {
		w.Key("functionCall").Object(func() {
			if withID {
				w.Key("id").Text(id)
			}
			w.Key("name").Text(b.Name)
			w.Key("args").Args(b.Args)
		})
		w.writeSignature(signature)
	})
}

// hasWireID reports whether a call has its id on the wire: call and response carry
// it both or neither (G-32). A call that came without one keeps to that, and
// its made-up id stays at home.
func (w *requestWriter) hasWireID(b *transcript.Block) bool {
	raw := w.Target.Raw(b)
	return raw == nil || jsontok.MemberOf(jsontok.MemberOf(raw, "functionCall"), "id") != nil
}

// writeResponse writes a functionResponse part. It never carries a signature
// and has the name of its call.
func (w *requestWriter) writeResponse(a provider.Answer) {
	r := a.Result
	w.Object(func() {
		w.Key("functionResponse").Object(func() {
			if w.hasWireID(a.Call) {
				w.Key("id").Text(a.ID)
			}
			w.Key("name").Text(a.Call.Name)
			w.Key("response").Object(func() {
				w.Key("content").Text(w.resultText(r))
				w.Key("error").Bool(r.IsError)
			})
			w.writeMedia(r.Parts)
		})
	})
}

// writeMedia writes the images and files of a result as parts of the response,
// which may hold nothing else.
func (w *requestWriter) writeMedia(parts []transcript.Part) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part transcript.Part) bool { return !w.Target.Takes(&part) })
	if len(parts) == 0 {
		return
	}
	w.Key("parts").Array(func() {
		for _, part := range parts {
			w.writePart(part)
		}
	})
}

// resultText is the text of a result, with a word for each part that cannot
// be carried (unsupported-media).
func (w *requestWriter) resultText(r *transcript.ToolResult) string {
	text := provider.ResultText(r)
	for _, part := range r.Parts {
		if !w.Target.Takes(&part) {
			text = strings.TrimPrefix(text+"\n"+handoff.Omitted(&part), "\n")
		}
	}
	return text
}
