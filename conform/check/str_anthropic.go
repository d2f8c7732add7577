package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// anthropicGrammar follows one Messages stream (reference §3.1).
type anthropicGrammar struct {
	x       *exchange
	r       *report
	started bool
	stopped bool
	id      string         // of the message
	next    int            // index of the next block to start
	open    map[int]string // block type by index
}

func anthropicStream(x *exchange, r *report) {
	g := anthropicGrammar{x: x, r: r, open: map[int]string{}}
	for i, e := range x.reply.Events {
		if e.JSON != nil {
			r.addObserved(1)
			g.checkEvent(wire.Place{Event: i, Off: e.DataOff}, e)
		}
	}
}

func (g *anthropicGrammar) addBreach(at wire.Place, format string, args ...any) {
	g.r.addFinding(g.x, at, "§3.1", format, args...)
}

func (g *anthropicGrammar) checkEvent(at wire.Place, e wire.StreamEvent) {
	t := e.Type()
	if e.Name != "" && e.Name != t {
		g.addBreach(at, "event %q holds JSON of type %q", e.Name, t)
	}
	if known := slices.Contains(anthropicEvents, t); !known {
		return // clients ignore what they do not know
	}
	if !g.started && t != "message_start" && t != "ping" && t != "error" {
		g.addBreach(at, "%s comes before message_start", t)
	}
	if g.stopped {
		g.addBreach(at, "%s comes after message_stop", t)
	}
	switch t {
	case "message_start":
		id := e.JSON.Get("message").Get("id").Text()
		if g.started && (g.next > 0 || id != g.id) { // some gateways repeat the first event
			g.addBreach(at, "message_start comes a second time")
		}
		g.started, g.id = true, id
	case "content_block_start":
		g.checkStart(at, e.JSON)
	case "content_block_delta":
		g.checkDelta(at, e.JSON)
	case "content_block_stop":
		if _, ok := g.open[e.JSON.Get("index").Int()]; !ok {
			g.addBreach(at, "content_block_stop for block %d, which is not open", e.JSON.Get("index").Int())
		}
		delete(g.open, e.JSON.Get("index").Int())
	case "message_stop":
		g.stopped = true
		for index, kind := range g.open {
			g.addBreach(at, "message_stop while block %d (%s) is open", index, kind)
		}
	}
}

func (g *anthropicGrammar) checkStart(at wire.Place, ev *tree.Node) {
	index := ev.Get("index").Int()
	if index != g.next {
		g.addBreach(at, "content_block_start has index %d where %d is next", index, g.next)
	}
	g.next = index + 1
	g.open[index] = ev.Get("content_block").Get("type").Text()
}

// anthropicEvents are the types the grammar speaks of.
var anthropicEvents = []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop",
	"message_delta", "message_stop", "ping", "error"}

// deltasOf says which deltas a kind of block takes; kinds not named are free.
var deltasOf = map[string][]string{
	"text":              {"text_delta", "citations_delta"},
	"thinking":          {"thinking_delta", "signature_delta"},
	"redacted_thinking": {},
	"tool_use":          {"input_json_delta"},
	"server_tool_use":   {"input_json_delta"},
}

// knownDeltas are the kinds of delta that belong to one kind of block only.
var knownDeltas = []string{"text_delta", "citations_delta", "thinking_delta", "signature_delta", "input_json_delta"}

func (g *anthropicGrammar) checkDelta(at wire.Place, ev *tree.Node) {
	index, t := ev.Get("index").Int(), ev.Get("delta").Get("type").Text()
	kind, ok := g.open[index]
	if !ok {
		g.addBreach(at, "%s for block %d, which is not open", t, index)
		return
	}
	takes, known := deltasOf[kind]
	if known && slices.Contains(knownDeltas, t) && !slices.Contains(takes, t) {
		g.addBreach(at, "%s for block %d, which is a %s block", t, index, kind)
	}
}
