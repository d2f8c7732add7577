package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// provider writes replies in a dialect.
type provider struct{ *dialect }

// writer collects the frames of one reply.
type writer struct {
	script.Reply
	q *request
	// frames are the chunks of a stream; the fields below are the same message in one piece.
	frames                    [][]byte
	content, refusal, thought string
	details, calls            script.Array
	spoken                    bool
}

// Frames implements script.Provider.
func (provider) Frames(r script.Reply) [][]byte {
	w := newWriter(r)
	if w.q.dialect.hasTrait(inDetails) {
		w.frames = append(w.frames, []byte(": OPENROUTER PROCESSING\n\n"))
	}
	for n, b := range r.Blocks {
		switch b.Kind {
		case specs.KindThinking, specs.KindRedacted:
			switch text := strings.Join(b.Parts, "\n"); {
			case w.q.dialect.hasTrait(inDetails):
				w.addDetail(b.Kind == specs.KindRedacted, text)
			case w.q.showsThoughts():
				w.addText("reasoning_content", text, &w.thought)
			}
		case specs.KindText, specs.KindSignedText:
			if r.Stop == specs.StopRefusal {
				w.addText("refusal", b.Text, &w.refusal)
			} else {
				w.addText("content", b.Text, &w.content)
			}
		case specs.KindCall:
			w.addCall(n, b)
		case specs.KindSearch, specs.KindCode: // what the provider runs itself is not part of this wire
		}
	}
	if r.Request.Form == script.FormUnary {
		return [][]byte{script.JSON(w.replyDocument())}
	}
	if !w.spoken {
		w.addDelta(script.Object{"role", "assistant", "content", "", "refusal", nil}, nil)
	}
	end := script.Array{deltaChoice(script.Object{}, w.finishReason())}
	switch asksUsage := w.asksUsage(); {
	case asksUsage && (w.q.dialect.hasTrait(inDetails) || w.q.dialect.hasTrait(reasoningBack)):
		w.addChunk(end, w.countTokens())
	case asksUsage:
		w.addChunk(end, nil)
		w.addChunk(script.Array{}, w.countTokens())
	default:
		w.addChunk(end, nil)
	}
	w.frames = append(w.frames, []byte("data: [DONE]\n\n"))
	return w.frames
}

func newWriter(r script.Reply) *writer {
	q, ok := r.Request.Parsed.(*request)
	if !ok {
		q = newRequest(r.Request.Document, vendorOf(r.Request.Model))
	}
	return &writer{Reply: r, q: q, calls: script.Array{}}
}

// addText streams a text, which stands in a member of the message.
func (w *writer) addText(member, text string, whole *string) {
	*whole += text
	for _, piece := range script.Words(text, 1) {
		delta := script.Object{member, piece}
		if !w.spoken {
			delta = append(script.Object{"role", "assistant"}, delta...)
			w.spoken = true
		}
		w.addDelta(delta, nil)
	}
}

// addDetail streams a thought as reasoning_details of OpenRouter, and its signature behind it. What is encrypted
// has no text.
func (w *writer) addDetail(isEncrypted bool, text string) {
	n := len(w.details)
	token := w.Key.Envelope(detailFacts(text), seal.Place{Reply: w.ID("gen-", 0, script.Alnum, 20), Ordinal: uint16(n)})
	if isEncrypted {
		token = w.Key.Envelope(detailFacts(""),
			seal.Place{Reply: w.ID("gen-", 0, script.Alnum, 20), Ordinal: uint16(n)})
		detail := script.Object{"type", "reasoning.encrypted", "data", token, "format", "anthropic-claude-v1",
			"index", n}
		w.addDelta(script.Object{"role", "assistant", "content", "", "reasoning_details", script.Array{detail}}, nil)
		w.details, w.spoken = append(w.details, detail), true
		return
	}
	part := func(members ...any) script.Object {
		return append(append(script.Object{"type", "reasoning.text"}, members...), "format", "anthropic-claude-v1",
			"index", n)
	}
	for _, piece := range script.Words(text, 1) {
		w.addDelta(script.Object{"role", "assistant", "content", "", "reasoning", piece, "reasoning_details",
			script.Array{part("text", piece)}}, nil)
	}
	w.addDelta(script.Object{"role", "assistant", "content", "", "reasoning_details",
		script.Array{part("signature", token)}}, nil)
	w.details, w.spoken = append(w.details, part("text", text, "signature", token)), true
	w.thought += text
}

// addCall streams a call: its name first, then its arguments in pieces.
func (w *writer) addCall(n int, b script.Block) {
	args := string(b.Arguments())
	if b.Partial {
		args = string(b.Args)
	}
	id := w.callID(n)
	start := script.Object{"index", len(w.calls), "id", id, "type", "function", "function",
		script.Object{"name", b.Name, "arguments", ""}}
	whole := script.Object{"id", id, "type", "function", "function", script.Object{"name", b.Name, "arguments", args}}
	if len(w.calls) == 0 && w.q.dialect.hasTrait(signsCalls) && w.Request.Thinks {
		token := w.Key.Envelope(callFacts(b.Name, args), seal.Place{Reply: id})
		extra := script.Object{"google", script.Object{"thought_signature", token}}
		start, whole = append(start, "extra_content", extra), append(whole, "extra_content", extra)
	}
	delta := script.Object{"tool_calls", script.Array{start}}
	if !w.spoken {
		first := script.Object{"role", "assistant", "content", nil}
		if w.sendsReasoning() {
			first = append(first, "reasoning_content", "")
		}
		delta = append(first, delta...)
		w.spoken = true
	}
	w.addDelta(delta, nil)
	for _, piece := range script.Slices(args, 5) {
		w.addDelta(script.Object{"tool_calls",
			script.Array{script.Object{"index", len(w.calls), "function", script.Object{"arguments", piece}}}}, nil)
	}
	w.calls = append(w.calls, whole)
}

// sendsReasoning reports whether a message has reasoning_content, be it empty.
func (w *writer) sendsReasoning() bool { return w.q.dialect.hasTrait(inContent) && w.q.isThinking() }

// callID has the form of the dialect.
func (w *writer) callID(n int) string {
	if w.q.dialect.hasTrait(nineCharacters) {
		return w.ID("", n, script.Alnum, 9)
	}
	return w.ID("call_", n, script.Alnum, 24)
}

func (w *writer) finishReason() any {
	switch {
	case w.Stop == specs.StopMaxTokens:
		return "length"
	case w.Stop == specs.StopFilter:
		return "content_filter"
	case len(w.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (w *writer) addDelta(delta script.Object, finish any) {
	w.addChunk(script.Array{deltaChoice(delta, finish)}, nil)
}

func deltaChoice(delta script.Object, finish any) script.Object {
	return script.Object{"index", 0, "delta", delta, "logprobs", nil, "finish_reason", finish}
}

func (w *writer) asksUsage() bool { return w.q.body.Get("stream_options").True("include_usage") }

func (w *writer) addChunk(choices script.Array, usage any) {
	chunk := append(w.commonMembers("chat.completion.chunk"), "choices", choices)
	if usage != nil || w.asksUsage() {
		chunk = append(chunk, "usage", usage)
	}
	w.frames = append(w.frames, append(append([]byte("data: "), script.JSON(chunk)...), "\n\n"...))
}

func (w *writer) commonMembers(object string) script.Object {
	return script.Object{"id", w.ID("chatcmpl-", 0, script.Alnum, 29), "object", object, "created", w.At.Unix(),
		"model", w.Request.Model, "service_tier", "default",
		"system_fingerprint", "fp_simulator"}
}

// replyDocument is the reply in one piece.
func (w *writer) replyDocument() script.Object {
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	message := script.Object{"role", "assistant", "content", orNull(w.content)}
	if w.content == "" && w.refusal == "" && len(w.calls) == 0 {
		message[3] = ""
	}
	switch {
	case w.details != nil:
		message = append(message, "reasoning", orNull(w.thought), "reasoning_details", w.details)
	case w.thought != "" || w.sendsReasoning():
		message = append(message, "reasoning_content", w.thought)
	}
	message = append(message, "refusal", orNull(w.refusal))
	if len(w.calls) > 0 {
		message = append(message, "tool_calls", w.calls)
	}
	choice := script.Object{"index", 0, "message", message, "logprobs", nil, "finish_reason", w.finishReason()}
	return append(w.commonMembers("chat.completion"), "choices", script.Array{choice}, "usage", w.countTokens())
}

func (w *writer) countTokens() script.Object {
	output, thought := w.OutputTokens()
	input := w.InputTokens()
	return script.Object{
		"prompt_tokens", input, "completion_tokens", output, "total_tokens", input + output,
		"prompt_tokens_details", script.Object{"cached_tokens", w.cachedTokens(), "audio_tokens", 0},
		"completion_tokens_details", script.Object{"reasoning_tokens", thought, "audio_tokens", 0,
			"accepted_prediction_tokens", 0, "rejected_prediction_tokens", 0},
	}
}

// The cache takes prompts from leastCached tokens on, in steps.
const (
	leastCached = 1024
	cacheStep   = 128
)

// cachedTokens is the part of the prompt that an earlier request had: up to the model's last message.
func (w *writer) cachedTokens() int {
	for i := len(w.q.messages) - 1; i >= 0; i-- {
		if m := &w.q.messages[i]; m.role == "assistant" {
			before := script.Tokens(string(w.Request.Body[:m.Offset()]))
			if before < leastCached {
				return 0
			}
			return before / cacheStep * cacheStep
		}
	}
	return 0
}

// Failure implements script.Provider: an event with an error, and then nothing.
func (p provider) Failure(_ script.Reply, _ int, why *rule.Refusal) [][]byte {
	return [][]byte{append(append([]byte("data: "), p.errorOf(why)...), "\n\n"...)}
}

// Header implements script.Provider.
func (provider) Header(r script.Reply) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {r.ID("req_", 0, script.Hex, 32)}}
	if r.Request.Form == script.FormSSE {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	return h
}

// Reject implements script.Provider.
func (p provider) Reject(r *rule.Refusal) (status int, header http.Header, body []byte) {
	body = p.errorOf(r)
	sum := sha256.Sum256(body)
	return r.Status, http.Header{"Content-Type": {"application/json"},
		"X-Request-Id": {"req_" + hex.EncodeToString(sum[:16])}}, body
}

// errorOf is a refusal in the envelope of the dialect. One without a type comes from a router itself.
func (p provider) errorOf(r *rule.Refusal) []byte {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	whole := script.Object{"error",
		script.Object{"message", r.Message, "type", r.Type, "param", orNull(r.Param), "code", orNull(r.Code)}}
	switch {
	case p.hasTrait(isListed):
		name := wires.NameOfStatus(statusNames, r.Status, "INVALID_ARGUMENT", "INTERNAL")
		return script.JSON(script.Array{script.Object{"error",
			script.Object{"code", r.Status, "message", r.Message, "status", name}}})
	case p.hasTrait(isWrapped) && r.Status == http.StatusBadRequest && r.Type != "":
		return script.JSON(script.Object{"error", script.Object{"message", "Provider returned error", "code", r.Status,
			"metadata", script.Object{"raw", string(script.JSON(whole)), "provider_name", "Simulator"}}})
	case p.hasTrait(isWrapped):
		return script.JSON(script.Object{"error", script.Object{"message", r.Message, "code", r.Status}})
	}
	return script.JSON(whole)
}

// statusNames are Gemini's names of statuses.
var statusNames = map[int]string{
	401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
	504: "DEADLINE_EXCEEDED",
}
