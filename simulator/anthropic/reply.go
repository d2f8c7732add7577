package anthropic

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// Header is what the API sends with a reply (reference §1.1). What is the same
// each time is shared among replies: set a header anew, never within its values.
func (v Voice) Header(r script.Reply) http.Header {
	now, drawn := []string{r.At.UTC().Format("2006-01-02T15:04:05Z")}, r.ID("", 1, script.Hex, 64)
	h := maps.Clone(headers)
	h["Cf-Ray"] = []string{drawn[:16] + "-SIM"}
	h["Request-Id"] = []string{r.ID("req_011", 0, script.Alnum, 21)}
	h["Traceresponse"] = []string{"00-" + drawn[16:48] + "-" + drawn[48:] + "-01"}
	for _, l := range limits {
		h[l.reset] = now
	}
	if r.Request.Form == script.FormSSE {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
	}
	return h
}

// constant are the headers of every answer.
var constant = http.Header{
	"Content-Type":              {"application/json"},
	"Anthropic-Organization-Id": {"00000000-0000-4000-8000-000000000000"},
	"Cf-Cache-Status":           {"DYNAMIC"},
	"Content-Security-Policy":   {"default-src 'none'; frame-ancestors 'none'"},
	"Server":                    {"cloudflare"},
	"Strict-Transport-Security": {"max-age=31536000; includeSubDomains; preload"},
	"Vary":                      {"Accept-Encoding"},
	"X-Robots-Tag":              {"none"},
}

// headers are those of replies that are the same each time.
var headers = func() http.Header {
	h := maps.Clone(constant)
	for _, l := range limits {
		h[l.limit], h[l.remaining] = []string{l.most}, []string{l.left}
	}
	return h
}()

// limit is one of the rates that an account has, under its headers' names.
type limit struct{ limit, remaining, reset, most, left string }

var limits = []limit{
	rate("Requests", "4000", "3999"), rate("Input-Tokens", "2000000", "2000000"),
	rate("Output-Tokens", "400000", "400000"), rate("Tokens", "2400000", "2400000"),
}

func rate(of, most, left string) limit {
	name := "Anthropic-Ratelimit-" + of
	return limit{name + "-Limit", name + "-Remaining", name + "-Reset", most, left}
}

// stream collects the frames of one reply.
type stream struct {
	script.Reply
	bill
	frames [][]byte
	tokens []string // of each block, "" for one without
	index  int      // of the next content block
}

// Frames returns the events of r, or its one JSON document.
func (v Voice) Frames(r script.Reply) [][]byte {
	if r.Request.Form == script.FormUnary {
		return [][]byte{unary(r)}
	}
	tokens, notes := mint(r)
	s := &stream{Reply: r, bill: billOf(r), tokens: tokens}
	s.event("message_start", script.Object{"type", "message_start", "message", append(envelope(r, script.Array{}, nil, s.started()), notes...)})
	for n, b := range r.Blocks {
		s.block(n, b)
	}
	s.future()
	s.event("message_delta", append(script.Object{"type", "message_delta",
		"delta", script.Object{"stop_reason", r.Stop, "stop_sequence", nil, "stop_details", details(r)}, "usage", searches(r, s.ended())}, s.edited()...))
	s.event("message_stop", script.Object{"type", "message_stop"})
	return s.frames
}

// event appends one event. Like the API it pads the JSON with a random run of
// spaces before the last brace.
func (s *stream) event(name string, data script.Object) {
	s.frames = append(s.frames, script.Compose(func(frame []byte) []byte {
		frame = append(append(frame, "event: "...), name...)
		frame = script.AppendJSON(append(frame, "\ndata: "...), data)
		pad := "                "[:s.Roll("pad", len(s.frames), 16)]
		return append(append(frame[:len(frame)-1], pad...), "}\n\n"...)
	}))
}

// ping follows the first content_block_start; its data has a space no other
// event has.
func (s *stream) ping() {
	s.frames = append(s.frames, []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"))
}

// block emits one content block, nothing for an empty text.
func (s *stream) block(n int, b script.Block) {
	if b.Kind == specs.KindSignedText && b.Text == "" {
		return
	}
	if hosts(b) {
		s.hosted(n, b)
		return
	}
	s.start(opening(s.Reply, s.tokens, n, b))
	switch b.Kind {
	case specs.KindThinking:
		s.think(thoughtPieces(b))
		s.deltas("signature_delta", "signature", []string{s.tokens[n]})
	case specs.KindText, specs.KindSignedText:
		s.deltas("text_delta", "text", script.Words(b.Text, 3))
	case specs.KindCall:
		s.deltas("input_json_delta", "partial_json", append([]string{""}, script.Slices(string(b.Args), 7)...))
	case specs.KindRedacted, specs.KindSearch, specs.KindCode: // are whole from the start, or hosted
	}
	s.stop()
}

func (s *stream) deltas(kind, field string, pieces []string) {
	for _, piece := range pieces {
		s.event("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
			"delta", script.Object{"type", kind, field, piece}})
	}
}

// think emits a thought; to clients that ask for it with a running estimate of
// its tokens, which the last delta lacks.
func (s *stream) think(pieces []string) {
	if !s.counts {
		s.deltas("thinking_delta", "thinking", pieces)
		return
	}
	if len(pieces) == 1 && pieces[0] == "" {
		pieces = []string{"", ""}
	}
	for i, piece := range pieces {
		var estimate any
		if i < len(pieces)-1 {
			estimate = 50 * (i + 1)
		}
		s.event("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
			"delta", script.Object{"type", "thinking_delta", "thinking", piece, "estimated_tokens", estimate}})
	}
}

// thought joins the parts of a thought; other providers keep them apart.
func thought(b script.Block) string { return strings.Join(b.Parts, "\n\n") }

// thoughtPieces are the deltas of a thought: one empty delta when its text is
// withheld.
func thoughtPieces(b script.Block) []string {
	if len(b.Parts) == 0 {
		return []string{""}
	}
	return script.Words(thought(b), 4)
}

// opening is the block of content_block_start: all of a redacted block, the
// rest without what its deltas bring.
func opening(r script.Reply, tokens []string, n int, b script.Block) script.Object {
	switch b.Kind {
	case specs.KindThinking:
		return script.Object{"type", "thinking", "thinking", "", "signature", ""}
	case specs.KindRedacted:
		return script.Object{"type", "redacted_thinking", "data", tokens[n]}
	case specs.KindCall:
		return script.Object{"type", "tool_use", "id", callID(r, n), "name", b.Name, "input", script.Object{}, "caller", script.Object{"type", "direct"}}
	default: // text, signed or not
		return script.Object{"type", "text", "text", ""}
	}
}

func callID(r script.Reply, n int) string { return r.ID("toolu_01", n, script.Alnum, 22) }

func messageID(r script.Reply) string { return r.ID("msg_01", 0, script.Alnum, 22) }

// speaker is the model that answers under a name: an alias stands for a
// snapshot.
func speaker(name string) string {
	if m := modelOf(name); m != nil {
		return m.id
	}
	return name
}

// envelope is the message object around content.
func envelope(r script.Reply, content script.Array, stop any, used script.Object) script.Object {
	var said any
	if stop != nil {
		said = details(r)
	}
	return script.Object{"model", speaker(r.Request.Model), "id", messageID(r), "type", "message", "role", "assistant",
		"content", content, "stop_reason", stop, "stop_sequence", nil, "stop_details", said, "usage", used}
}

func unary(r script.Reply) []byte {
	content := script.Array{}
	tokens, notes := mint(r)
	for n, b := range r.Blocks {
		switch {
		case b.Kind == specs.KindThinking:
			content = append(content, script.Object{"type", "thinking", "thinking", thought(b), "signature", tokens[n]})
		case b.Kind == specs.KindRedacted:
			content = append(content, opening(r, tokens, n, b))
		case b.Kind == specs.KindCall:
			content = append(content, script.Object{"type", "tool_use", "id", callID(r, n), "name", b.Name,
				"input", json.RawMessage(b.Arguments()), "caller", script.Object{"type", "direct"}})
		case hosts(b):
			use, result := hosted(r, n, b)
			content = append(content, use, result)
		case b.Text != "":
			content = append(content, script.Object{"type", "text", "text", b.Text})
		}
	}
	if script.Greased(r, specs.GreaseBlock) {
		content = append(content, futureBlock())
	}
	b := billOf(r)
	return script.JSON(append(append(envelope(r, content, r.Stop, searches(r, b.whole())), b.edited()...), notes...))
}
