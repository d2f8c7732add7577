package openai

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/simulator/seal"
	"github.com/meerkat-go/conformance/specs"
)

// OriginEncrypted is the origin of encrypted_content.
const OriginEncrypted = "openai/encrypted_content"

// Ids are a prefix and 50 hexadecimal digits (reference §2.2).
func responseID(r script.Reply) string      { return r.ID("resp_", 0, script.Hex, 50) }
func reasonID(r script.Reply, n int) string { return r.ID("rs_", n, script.Hex, 50) }
func textID(r script.Reply, n int) string   { return r.ID("msg_", n, script.Hex, 50) }
func itemID(r script.Reply, n int) string   { return r.ID("fc_", n, script.Hex, 50) }
func callID(r script.Reply, n int) string   { return r.ID("call_", n, script.Alnum, 24) }

// item is the finished output item of block n as stage shows it.
func (v Voice) item(r script.Reply, n int, stage seal.Stage, status string) script.Object {
	b := r.Blocks[n]
	switch b.Kind {
	case specs.KindThinking, specs.KindRedacted:
		summary := script.Array{}
		for _, part := range b.Parts {
			summary = append(summary, summaryPart(part))
		}
		return reasoning(r, n, stage, summary)
	case specs.KindCall:
		return call(r, n, status, string(b.Arguments()))
	default: // text, signed or not
		return message(r, n, status, script.Array{textPart(b.Text)})
	}
}

func reasoning(r script.Reply, n int, stage seal.Stage, summary script.Array) script.Object {
	o := script.Object{"id", reasonID(r, n), "type", "reasoning", "content", script.Array{}}
	if r.Request.Sealed {
		o = append(o, "encrypted_content", encrypted(r, n, stage))
	}
	return append(o, "summary", summary)
}

// encrypted is bound to the item's id: it does not verify under another
// (rule O-15).
func encrypted(r script.Reply, n int, stage seal.Stage) string {
	f := seal.Facts{Origin: OriginEncrypted, Model: r.Request.Model, Content: []byte(reasonID(r, n))}
	return r.Key.Fernet(f, place(r, n), stage, r.At)
}

// place counts the reasoning items of the reply.
func place(r script.Reply, n int) seal.Place {
	p := seal.Place{Reply: reasonID(r, n)}
	for i, b := range r.Blocks {
		if b.Kind == specs.KindThinking || b.Kind == specs.KindRedacted {
			p.Total++
			if i < n {
				p.Ordinal++
			}
		}
	}
	return p
}

func call(r script.Reply, n int, status, arguments string) script.Object {
	return script.Object{"id", itemID(r, n), "type", "function_call", "status", status, "arguments", arguments,
		"call_id", callID(r, n), "name", r.Blocks[n].Name}
}

func message(r script.Reply, n int, status string, content script.Array) script.Object {
	o := script.Object{"id", textID(r, n), "type", "message", "status", status, "content", content}
	if phase := phase(r, n); phase != "" {
		o = append(o, "phase", phase)
	}
	return append(o, "role", "assistant")
}

// phase is what newer models say of a message: commentary before a call, else
// the final answer.
func phase(r script.Reply, n int) string {
	if strings.HasPrefix(r.Request.Model, "gpt-5.2") {
		return ""
	}
	for _, b := range r.Blocks[n:] {
		if b.Kind == specs.KindCall {
			return "commentary"
		}
	}
	return "final_answer"
}

func textPart(text string) script.Object {
	return script.Object{"type", "output_text", "annotations", script.Array{}, "logprobs", script.Array{}, "text", text}
}

func summaryPart(text string) script.Object {
	return script.Object{"type", "summary_text", "text", text}
}
