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
// on a call that another origin made (G-20, missing-signature). It is documented for that
// and is never another vendor's token.
const skipValidator = "skip_thought_signature_validator"

func (w *requestWriter) content(c content) {
	w.Object(func() {
		if c.model {
			w.Key("role").Str("model")
		} else {
			w.Key("role").Str("user")
		}
		w.Key("parts").Array(func() {
			if c.model {
				w.reply(c.steps)
				return
			}
			w.user(c.steps[0])
		})
	})
}

func (w *requestWriter) user(s provider.Step) {
	m := s.Message
	if m.Role == transcript.RoleToolResults {
		for _, a := range s.Answers {
			w.response(a)
		}
		return
	}
	if m.Content != "" {
		w.text(m.Content)
	}
	for _, part := range m.Parts {
		w.part(part)
	}
}

func (w *requestWriter) text(s string) {
	w.Object(func() { w.Key("text").Text(s) })
}

func (w *requestWriter) part(part transcript.Part) {
	switch {
	case !w.Target.Takes(&part):
		w.text(handoff.Omitted(&part))
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
		w.Object(func() { w.inline(part) })
	}
}

func (w *requestWriter) inline(part transcript.Part) {
	w.Key("inlineData").Object(func() {
		w.Key("mimeType").Text(part.MediaType)
		w.Key("data").Base64(part.Data)
	})
}

// signature returns the thoughtSignature of a block that this origin made, ""
// when it has none that can go back: tokens of others (foreign-token) and text that is
// not base64 would fail the request (G-18, G-19).
func (w *requestWriter) signature(b *transcript.Block) string {
	if b.Meta == nil || !w.Target.Made(b) || !handoff.IsBase64(b.Meta.ThoughtSignature) {
		return ""
	}
	return b.Meta.ThoughtSignature
}

// sent reports whether b becomes a part. Empty text goes only with its
// signature (D-21, G-7). Thoughts do not go back (D-23), except one that
// carries a signature, which must return where it came (R23).
func (w *requestWriter) sent(b *transcript.Block) bool {
	switch b.Type {
	case transcript.BlockText:
		return b.Text != "" || w.signature(b) != ""
	case transcript.BlockReasoning:
		return w.signature(b) != ""
	case transcript.BlockOpaque:
		return w.Target.Raw(b) != nil
	default:
		return true
	}
}

// reply writes the parts of one model content in their order. Its first call
// must be signed (G-17); the rule is applied to every turn, not only the
// current one, so that old contents keep their bytes (R44, GEM-S6).
func (w *requestWriter) reply(steps []provider.Step) {
	first := true
	for _, s := range steps {
		for i := range s.Message.Blocks {
			b := &s.Message.Blocks[i]
			if !w.sent(b) {
				continue
			}
			if b.Type != transcript.BlockToolUse {
				w.block(b)
				continue
			}
			w.call(b, s.IDs[i], first && w.Target.Model.Signatures)
			first = false
		}
	}
}

// raw returns the part of b as it came, unless its signature cannot go back.
func (w *requestWriter) raw(b *transcript.Block) []byte {
	if b.Meta != nil && b.Meta.ThoughtSignature != "" && w.signature(b) == "" {
		return nil
	}
	return w.Target.Raw(b)
}

// block writes a text, thought or opaque part with the signature it came with.
func (w *requestWriter) block(b *transcript.Block) {
	if raw := w.raw(b); raw != nil {
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
		w.sign(w.signature(b))
	})
}

func (w *requestWriter) sign(signature string) {
	if signature != "" {
		w.Key("thoughtSignature").Str(signature)
	}
}

// call writes a functionCall part; the signature is its sibling, not its
// member (G-3). Without signatures of our own, the first call gets the
// documented stand-in.
func (w *requestWriter) call(b *transcript.Block, id string, mustSign bool) {
	signature := w.signature(b)
	withID := w.hasID(b)
	if raw := w.raw(b); raw != nil && (id == b.ID || !withID) && (signature != "" || !mustSign) {
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
		w.sign(signature)
	})
}

// hasID reports whether a call has its id on the wire: call and response carry
// it both or neither (G-32). A call that came without one keeps to that, and
// its made-up id stays at home (D-24).
func (w *requestWriter) hasID(b *transcript.Block) bool {
	raw := w.Target.Raw(b)
	return raw == nil || jsontok.MemberOf(jsontok.MemberOf(raw, "functionCall"), "id") != nil
}

// response writes a functionResponse part. It never carries a signature
// (seed 000 §2.3, D-26) and has the name of its call (R25, D-25).
func (w *requestWriter) response(a provider.Answer) {
	r := a.Result
	w.Object(func() {
		w.Key("functionResponse").Object(func() {
			if w.hasID(a.Call) {
				w.Key("id").Text(a.ID)
			}
			w.Key("name").Text(a.Call.Name)
			w.Key("response").Object(func() {
				w.Key("content").Text(w.resultText(r))
				w.Key("error").Bool(r.IsError)
			})
			w.media(r.Parts)
		})
	})
}

// media writes the images and files of a result as parts of the response,
// which may hold nothing else.
func (w *requestWriter) media(parts []transcript.Part) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part transcript.Part) bool { return !w.Target.Takes(&part) })
	if len(parts) == 0 {
		return
	}
	w.Key("parts").Array(func() {
		for _, part := range parts {
			w.part(part)
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
