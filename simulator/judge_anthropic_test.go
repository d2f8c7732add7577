package simulator

import (
	"encoding/json"
	"slices"
	"strings"
)

// messageJudge follows a stream of Anthropic (reference §3.1).
type messageJudge struct {
	*judge
	open    int // index of the open block, -1 for none
	next    int // index of the next block
	kind    string
	deltas  string // kinds of the open block's deltas, by their first letter
	input   string
	blocks  []string // kinds of all blocks
	pings   int
	started event
	ended   event // message_delta
	over    bool
}

func anthropicStream(j *judge, all []event) {
	m := &messageJudge{judge: j, open: -1}
	for i, e := range all {
		m.must(!m.over, "end", "%s follows the end", e.name)
		m.must((i == 0) == (e.name == "message_start") || i == 1 && j.twice, "start", "event %d is %s", i, e.name)
		m.event(e, i > 0 && all[i-1].name == "content_block_start")
	}
	m.must(m.over, "end", "the stream does not end: last is %s", all[len(all)-1].name)
	m.must(m.pings == min(1, m.next) || j.fails, "ping", "%d pings in %d blocks", m.pings, m.next)
}

func (m *messageJudge) event(e event, afterStart bool) {
	switch e.name {
	case "message_start":
		m.started = e.under("message")
		m.must(len(m.started.list("content")) == 0 && !m.started.has("stop_reason"), "start",
			"message_start holds a reply: %s", e.raw)
		m.must(strings.HasPrefix(m.started.str("id"), "msg_01") && m.started.str("model") != "", "start",
			"no id or model: %s", e.raw)
	case "ping":
		m.pings++
		m.must(afterStart && m.open == 0, "ping", "ping is not right after the first content_block_start")
	case "content_block_start":
		m.start(e)
	case "content_block_delta":
		m.delta(e)
	case "content_block_stop":
		m.stop(e)
	case "message_delta":
		m.must(m.open < 0 && m.ended.data == nil, "end", "message_delta while block %d is open, or again", m.open)
		m.ended = e
		m.finish(e)
	case "message_stop":
		m.must(m.ended.data != nil && !m.fails, "end", "message_stop without message_delta, or after a failure")
		m.over = true
	case "error":
		m.must(m.fails && e.str("error", "type") != "" && e.str("error", "message") != "", "error",
			"an error nobody asked for: %s", e.raw)
		m.over = true
	default:
		m.must(m.events, "type", "unknown event %s", e.name)
	}
}

func (m *messageJudge) start(e event) {
	m.must(m.open < 0 && e.num("index") == m.next && m.ended.data == nil, "index",
		"block %d starts while %d is open and %d is next", e.num("index"), m.open, m.next)
	m.open, m.next, m.deltas, m.input, m.kind = e.num("index"), m.next+1, "", "", e.str("content_block", "type")
	m.blocks = append(m.blocks, m.kind)
	b := e.under("content_block")
	switch m.kind {
	case "text":
		m.must(b.str("text") == "", "delta", "a text starts with text: %s", e.raw)
	case "thinking":
		m.must(b.str("thinking") == "" && b.str("signature") == "" && b.has("signature"), "delta",
			"a thought starts with text: %s", e.raw)
	case "redacted_thinking":
		m.must(b.str("data") != "", "delta", "redacted thinking without data")
	case "tool_use", "server_tool_use":
		prefix := map[string]string{"tool_use": "toolu_01", "server_tool_use": "srvtoolu_01"}[m.kind]
		m.must(strings.HasPrefix(b.str("id"), prefix) && b.str("name") != "" && len(b.under("input").data) == 0 &&
			b.has("input"), "delta", "a call starts with input, or without id or name: %s", e.raw)
	}
}

// deltaOf says which deltas belong to which blocks.
var deltaOf = map[string]string{"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking",
	"signature_delta": "thinking", "input_json_delta": "tool_use server_tool_use"}

func (m *messageJudge) delta(e event) {
	kind := e.str("delta", "type")
	m.must(m.open >= 0 && e.num("index") == m.open, "index", "delta for block %d while %d is open",
		e.num("index"), m.open)
	of, known := deltaOf[kind]
	m.must(m.excused(known) || slices.Contains(strings.Fields(of), m.kind), "delta", "%s in a block of %s",
		kind, m.kind)
	if !known {
		return
	}
	m.deltas += kind[:1]
	switch kind {
	case "text_delta":
		m.must(e.str("delta", "text") != "", "delta", "an empty text_delta")
	case "signature_delta":
		m.must(e.str("delta", "signature") != "", "delta", "an empty signature")
	case "input_json_delta":
		m.must(m.deltas != "i" || e.str("delta", "partial_json") == "", "delta",
			"the first input_json_delta is not empty: %s", e.raw)
		m.input += e.str("delta", "partial_json")
	}
}

// excused reports whether a delta is of an unknown type and may be.
func (m *messageJudge) excused(known bool) bool { return !known && m.leave.blocks }

func (m *messageJudge) stop(e event) {
	m.must(m.open >= 0 && e.num("index") == m.open, "index", "block %d stops while %d is open", e.num("index"), m.open)
	m.open = -1
	switch {
	case m.kind == "thinking":
		thoughts := strings.TrimSuffix(m.deltas, "s")
		m.must(len(m.deltas) == len(thoughts)+1 && strings.Trim(thoughts, "t") == "", "delta",
			"thinking is %q, not thoughts and one signature", m.deltas)
	case m.kind == "text":
		m.must(strings.Contains(m.deltas, "t"), "delta", "text without text")
	case m.kind == "tool_use" || m.kind == "server_tool_use":
		m.must(m.deltas != "", "delta", "a call without input_json_delta")
	case m.kind == "redacted_thinking" || strings.HasSuffix(m.kind, "_tool_result"):
		m.must(m.deltas == "", "delta", "%s with deltas", m.kind)
	default:
		m.must(m.leave.blocks, "type", "unknown block %s", m.kind)
	}
}

// finish judges message_delta: why it stopped, and the usage.
func (m *messageJudge) finish(e event) {
	stop := e.str("delta", "stop_reason")
	m.stopped(stop, m.blocks)
	if m.kind == "tool_use" && m.input != "" {
		m.must(stop == "max_tokens" || isObject(m.input), "concat", "the input joins to %q", m.input)
	}
	begun, now := m.started.under("usage"), e.under("usage")
	for _, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		m.must(begun.num(name) >= 0 && begun.num(name) == now.num(name), "usage", "%s is %d, then %d", name,
			begun.num(name), now.num(name))
	}
	m.must(begun.num("output_tokens") >= 1 && begun.num("output_tokens") <= now.num("output_tokens"), "usage",
		"output_tokens %d, then %d", begun.num("output_tokens"), now.num("output_tokens"))
	m.anthropicUsage(now)
	m.must(begun.str("service_tier") != "" && begun.has("cache_creation"), "usage",
		"no service_tier or cache_creation in %v", begun.data)
}

func (j *judge) anthropicUsage(u event) {
	j.must(u.count("output_tokens_details", "thinking_tokens") <= u.num("output_tokens"), "usage",
		"more thinking than output: %v", u.data)
	if c := u.under("cache_creation"); c.data != nil {
		j.must(c.count("ephemeral_5m_input_tokens")+c.count("ephemeral_1h_input_tokens") == u.num("cache_creation_input_tokens"), "usage", "cache creation does not add up: %v", u.data)
	}
}

var stopReasons = []string{"end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal",
	"model_context_window_exceeded"}

// stopped judges the stop reason by the kinds of the blocks.
func (j *judge) stopped(reason string, blocks []string) {
	j.must(slices.Contains(stopReasons, reason), "stop", "stop_reason %q", reason)
	calls := slices.Contains(blocks, "tool_use")
	j.must(reason != "tool_use" || calls, "stop", "stop_reason tool_use without a call")
	j.must(reason != "end_turn" || !calls, "stop", "stop_reason end_turn after a call")
}

func isObject(text string) bool {
	var o map[string]any
	return json.Unmarshal([]byte(text), &o) == nil
}

func anthropicDocument(j *judge, d event) {
	var kinds []string
	for _, b := range d.list("content") {
		kind := b.str("type")
		kinds = append(kinds, kind)
		switch kind {
		case "text":
			j.must(b.str("text") != "", "content", "an empty text")
		case "thinking":
			j.must(b.str("signature") != "", "content", "a thought without a signature")
		case "redacted_thinking":
			j.must(b.str("data") != "", "content", "redacted thinking without data")
		case "tool_use", "server_tool_use":
			j.must(b.has("input") && b.str("id") != "" && b.str("name") != "", "content",
				"a call without id, name or input")
		default:
			j.must(strings.HasSuffix(kind, "_tool_result") || j.blocks, "type", "unknown block %s", kind)
		}
	}
	j.stopped(d.str("stop_reason"), kinds)
	u := d.under("usage")
	j.must(u.num("input_tokens") >= 0 && u.num("output_tokens") >= 1 && u.str("service_tier") != "", "usage",
		"usage %v", u.data)
	j.anthropicUsage(u)
}

// saidByMessages folds a stream; saidInMessage reads a document.
func saidByMessages(all []event) speech {
	var s speech
	var kind, name string
	var texts strings.Builder
	for _, e := range all {
		switch e.name {
		case "content_block_start":
			kind, name = e.str("content_block", "type"), e.str("content_block", "name")
			texts.Reset()
		case "content_block_delta":
			texts.WriteString(e.str("delta", "text") + e.str("delta", "thinking") + e.str("delta", "partial_json"))
		case "content_block_stop":
			s.add(kind, name, canonical(texts.String()))
		case "message_delta":
			s.add("stop", e.str("delta", "stop_reason"))
		}
	}
	return s
}

func saidInMessage(d event) speech {
	var s speech
	for _, b := range d.list("content") {
		text := b.str("text") + b.str("thinking")
		if in := b.under("input"); len(in.data) > 0 {
			out, _ := json.Marshal(in.data) // it was decoded
			text = string(out)
		}
		s.add(b.str("type"), b.str("name"), canonical(text))
	}
	s.add("stop", d.str("stop_reason"))
	return s
}
