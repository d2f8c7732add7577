package anthropic

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Header is what the API sends with a reply (reference §1.1). What is the same
// each time is shared among replies: set a header anew, never within its values.
func (v Provider) Header(r script.Reply) http.Header {
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
func (v Provider) Frames(r script.Reply) [][]byte {
	r = withSearches(r)
	if r.Request.Form == script.FormUnary {
		return [][]byte{unaryDocument(r)}
	}
	tokens, notes := signReply(r)
	s := &stream{Reply: r, bill: billOf(r), tokens: tokens}
	s.addEvent("message_start", script.Object{"type", "message_start", "message",
		append(messageEnvelope(r, script.Array{}, nil, s.startUsage()), notes...)})
	s.addCompaction()
	for n, b := range r.Blocks {
		s.addBlock(n, b)
	}
	s.addFutureBlock()
	s.addEvent("message_delta", append(script.Object{"type", "message_delta",
		"delta", script.Object{"stop_reason", r.Stop, "stop_sequence", nil, "stop_details", details(r)}, "usage",
		countSearches(r, s.endUsage())}, s.contextEdits()...))
	s.addEvent("message_stop", script.Object{"type", "message_stop"})
	return s.frames
}

// addEvent appends one event. Like the API it pads the JSON with a random run of
// spaces before the last brace.
func (s *stream) addEvent(name string, data script.Object) {
	s.frames = append(s.frames, script.Compose(func(frame []byte) []byte {
		frame = append(append(frame, "event: "...), name...)
		frame = script.AppendJSON(append(frame, "\ndata: "...), data)
		pad := "                "[:s.Roll("pad", len(s.frames), 16)]
		return append(append(frame[:len(frame)-1], pad...), "}\n\n"...)
	}))
}

// addBlock emits one content block, nothing for an empty text.
func (s *stream) addBlock(n int, b script.Block) {
	if b.Kind == specs.KindSignedText && b.Text == "" {
		return
	}
	if isHosted(b) {
		s.addHosted(n, b)
		return
	}
	s.startBlock(openingEvent(s.Reply, s.tokens, n, b))
	switch b.Kind {
	case specs.KindThinking:
		s.addThinking(thoughtPieces(b))
		s.addDeltas("signature_delta", "signature", []string{s.tokens[n]})
	case specs.KindText, specs.KindSignedText:
		citation, cites := citesAt(s.Reply, n)
		if cites && citesSearch(citation) { // which comes first
			s.addCitation(citation)
		}
		s.addDeltas("text_delta", "text", script.Words(b.Text, 3))
		if cites && !citesSearch(citation) {
			s.addCitation(citation)
		}
	case specs.KindCall:
		s.addDeltas("input_json_delta", "partial_json", append([]string{""}, script.Slices(string(b.Args), 7)...))
	case specs.KindRedacted, specs.KindSearch, specs.KindCode: // are whole from the start, or hosted
	}
	s.stopBlock()
}

func (s *stream) addCitation(citation script.Object) {
	s.addEvent("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
		"delta", script.Object{"type", "citations_delta", "citation", citation}})
}

func (s *stream) addDeltas(kind, field string, pieces []string) {
	for _, piece := range pieces {
		s.addEvent("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
			"delta", script.Object{"type", kind, field, piece}})
	}
}

// addThinking emits a thought; to clients that ask for it with a running estimate of
// its tokens, which the last delta lacks.
func (s *stream) addThinking(pieces []string) {
	if !s.counts {
		s.addDeltas("thinking_delta", "thinking", pieces)
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
		s.addEvent("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
			"delta", script.Object{"type", "thinking_delta", "thinking", piece, "estimated_tokens", estimate}})
	}
}

// thoughtText joins the parts of a thought; other providers keep them apart.
func thoughtText(b script.Block) string { return strings.Join(b.Parts, "\n\n") }

// thoughtPieces are the deltas of a thought: one empty delta when its text is
// withheld.
func thoughtPieces(b script.Block) []string {
	if len(b.Parts) == 0 {
		return []string{""}
	}
	return script.Words(thoughtText(b), 4)
}

// openingEvent is the block of content_block_start: all of a redacted block, the
// rest without what its deltas bring.
func openingEvent(r script.Reply, tokens []string, n int, b script.Block) script.Object {
	switch b.Kind {
	case specs.KindThinking:
		return script.Object{"type", "thinking", "thinking", "", "signature", ""}
	case specs.KindRedacted:
		return script.Object{"type", "redacted_thinking", "data", tokens[n]}
	case specs.KindCall:
		return script.Object{"type", "tool_use", "id", callID(r, n), "name", b.Name, "input", script.Object{}, "caller",
			script.Object{"type", "direct"}}
	default: // text, signed or not
		if _, ok := citesAt(r, n); ok {
			return script.Object{"citations", script.Array{}, "type", "text", "text", ""}
		}
		return script.Object{"type", "text", "text", ""}
	}
}

func callID(r script.Reply, n int) string { return r.ID("toolu_01", n, script.Alnum, 22) }

func messageID(r script.Reply) string { return r.ID("msg_01", 0, script.Alnum, 22) }

// replyModel is the model that answers under a name: an alias stands for a
// snapshot.
func replyModel(name string) string {
	if m := modelOf(name); m != nil {
		return m.ID
	}
	return name
}

// messageEnvelope is the message object around content.
func messageEnvelope(r script.Reply, content script.Array, stop any, used script.Object) script.Object {
	var said any
	if stop != nil {
		said = details(r)
	}
	return script.Object{"model", replyModel(r.Request.Model), "id", messageID(r), "type", "message", "role",
		"assistant",
		"content", content, "stop_reason", stop, "stop_sequence", nil, "stop_details", said, "usage", used}
}

func unaryDocument(r script.Reply) []byte {
	content := script.Array{}
	tokens, notes := signReply(r)
	b := billOf(r)
	if b.compaction != nil {
		content = append(content, b.compaction.block())
	}
	for n, b := range r.Blocks {
		switch {
		case b.Kind == specs.KindThinking:
			content = append(content, script.Object{"type", "thinking", "thinking", thoughtText(b), "signature",
				tokens[n]})
		case b.Kind == specs.KindRedacted:
			content = append(content, openingEvent(r, tokens, n, b))
		case b.Kind == specs.KindCall:
			content = append(content, script.Object{"type", "tool_use", "id", callID(r, n), "name", b.Name,
				"input", json.RawMessage(b.Arguments()), "caller", script.Object{"type", "direct"}})
		case isHosted(b):
			use, result := hostedBlocks(r, n, b)
			content = append(content, use, result)
		case b.Text != "":
			block := script.Object{"type", "text", "text", b.Text}
			if citation, ok := citesAt(r, n); ok {
				block = append(script.Object{"citations", script.Array{citation}}, block...)
			}
			content = append(content, block)
		}
	}
	if script.Greased(r, specs.GreaseBlock) {
		content = append(content, futureBlock())
	}
	return script.JSON(append(append(messageEnvelope(r, content, r.Stop, countSearches(r, b.wholeUsage())),
		b.contextEdits()...), notes...))
}

// leastCached is the shortest prompt that the cache takes, in tokens.
const leastCached = 1024

// frame is what a message counts for beside its role and its content.
const frame = 5

// spent is what a request's prompt counts for: read from the cache, written to
// it, and neither. The three add up to what count_tokens says.
type spent struct {
	input, written, read int
	long                 bool // written for an hour
}

// meter counts a prompt in its order: tools, system, messages.
type meter struct {
	base   int // tools and system
	total  int
	marked int // up to the last cache mark
	before int // up to the model's last message
	long   bool
}

// measurePrompt counts messages from the last compaction on: it stands for what was said
// before.
func measurePrompt(root *tree.Node) meter {
	m := meter{}
	for _, name := range []string{"tools", "system"} {
		m.countContent(root.Get(name))
	}
	m.base = m.total
	said := root.List("messages")
	for i := range said {
		if said[i].Text("role") == "assistant" {
			m.before = m.total
		}
		m.total += frame + tokensOf(said[i].Get("role"))
		m.countContent(said[i].Get("content"))
	}
	m.noteMark(root.Get("cache_control"))
	return m
}

// countContent counts a text, or blocks of which each may carry a mark.
func (m *meter) countContent(v *tree.Node) {
	if !v.Is(tree.Array) {
		m.total += tokensOf(v)
		return
	}
	for i := range v.Items() {
		if v.Items()[i].Text("type") == "compaction" {
			m.total, m.before, m.marked = m.base, min(m.before, m.base), min(m.marked, m.base)
		}
		m.total += tokensOf(v.Items()[i])
		m.noteMark(v.Items()[i].Given("cache_control"))
	}
}

func (m *meter) noteMark(control *tree.Node) {
	if control.Is(tree.Object) {
		m.marked, m.long = m.total, control.Text("ttl") == "1h"
	}
}

// splitByCache divides the count as if the request before this one, which ended where
// the model spoke last, had filled the cache.
func (m meter) splitByCache() spent {
	if m.marked < leastCached {
		return spent{input: m.total}
	}
	s := spent{input: m.total - m.marked, long: m.long}
	if read := min(m.before, m.marked); read >= leastCached {
		s.read = read
	}
	s.written = m.marked - s.read
	return s
}

// bill is the usage of one reply.
type bill struct {
	spent
	compaction      *compaction // nil when none is made
	output, thought int
	// reports says that thoughts are counted apart, edits that the request may
	// have its context edited, counts that thoughts are counted as they come.
	reports, edits, counts bool
	geo                    string
}

// billOf knows the request as Read left it; of another it counts the body.
func billOf(r script.Reply) bill {
	b := bill{geo: "not_available", reports: r.Request.Thinks}
	b.output, b.thought = r.OutputTokens()
	b.output = max(b.output, 1)
	c, ok := r.Request.Parsed.(*call)
	if !ok {
		b.input = r.InputTokens()
		return b
	}
	prompt := measurePrompt(c.root)
	if b.compaction = compactionOf(r); b.compaction != nil {
		prompt = meter{total: prompt.base + script.Tokens(b.compaction.summary)}
	}
	b.spent = prompt.splitByCache()
	b.edits, b.counts = c.hasBeta("context-management-2025-06-27") || c.hasBeta(betaCompact),
		c.hasBeta("thinking-token-count-2026-05-13")
	if c.model != nil {
		b.reports = b.reports || c.model.hasTrait(canHide) && c.model.hasTrait(canThink)
		if c.model.Alias == "" {
			b.geo = "global"
		}
	}
	return b
}

func (b bill) promptUsage() script.Object {
	return script.Object{"input_tokens", b.input, "cache_creation_input_tokens", b.written,
		"cache_read_input_tokens", b.read}
}

func (s spent) creationUsage() script.Object {
	if s.long {
		return script.Object{"ephemeral_5m_input_tokens", 0, "ephemeral_1h_input_tokens", s.written}
	}
	return script.Object{"ephemeral_5m_input_tokens", s.written, "ephemeral_1h_input_tokens", 0}
}

// outputDetails are what is said of the output behind its number.
func (b bill) outputDetails() script.Object {
	if !b.reports {
		return nil
	}
	return script.Object{"output_tokens_details", script.Object{"thinking_tokens", b.thought}}
}

// contextPasses are the passes over the context that the reply took: that of a compaction,
// which the totals leave out, and its own.
func (b bill) contextPasses() script.Object {
	if !b.edits {
		return nil
	}
	passes := script.Array{}
	if b.compaction != nil {
		passes = append(passes, passUsage("compaction", b.compaction.took, script.Tokens(b.compaction.summary)))
	}
	return script.Object{"iterations", append(passes, passUsage("message", b.spent, b.output))}
}

func passUsage(kind string, s spent, output int) script.Object {
	return script.Object{
		"input_tokens", s.input, "output_tokens", output, "cache_read_input_tokens", s.read,
		"cache_creation_input_tokens", s.written,
		"cache_creation", s.creationUsage(), "type", kind,
	}
}

// contextEdits is what was done to the context.
func (b bill) contextEdits() script.Object {
	if !b.edits {
		return nil
	}
	return script.Object{"context_management", script.Object{"applied_edits", script.Array{}}}
}

// startUsage is what message_start says: hardly anything is written yet.
func (b bill) startUsage() script.Object {
	return append(append(b.promptUsage(), "cache_creation", b.creationUsage(), "output_tokens", min(4, b.output)),
		b.origin()...)
}

func (b bill) origin() script.Object {
	return script.Object{"service_tier", "standard", "inference_geo", b.geo}
}

// endUsage is what message_delta says. It is cumulative: it overwrites what
// message_start said.
func (b bill) endUsage() script.Object {
	return append(append(append(b.promptUsage(), "output_tokens", b.output), b.outputDetails()...),
		b.contextPasses()...)
}

// wholeUsage is what a document says.
func (b bill) wholeUsage() script.Object {
	o := append(append(b.promptUsage(), "cache_creation", b.creationUsage()), b.contextPasses()...)
	return append(append(append(o, "output_tokens", b.output), b.outputDetails()...), b.origin()...)
}
