package check

import (
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// openAIGrammar follows one Responses stream (reference §3.2).
type openAIGrammar struct {
	x        *exchange
	r        *report
	seq      int // the last sequence_number, -1 before the first
	terminal string
	items    map[int]string // "added" or "done" by output_index
}

func openAIStream(x *exchange, r *report) {
	g := openAIGrammar{x: x, r: r, seq: -1, items: map[int]string{}}
	for i, e := range x.reply.Events {
		if e.JSON != nil {
			r.addObserved(1)
			g.checkEvent(i, e)
		}
	}
	if g.terminal == "response.completed" {
		g.checkItemsDone()
	}
}

func (g *openAIGrammar) addBreach(at wire.Place, format string, args ...any) {
	g.r.addFinding(g.x, at, "§3.2", format, args...)
}

func (g *openAIGrammar) checkEvent(i int, e wire.StreamEvent) {
	at, t := wire.Place{Event: i, Off: e.DataOff}, e.Type()
	if e.Name != "" && e.Name != t {
		g.addBreach(at, "event %q holds JSON of type %q", e.Name, t)
	}
	if i == 0 && strings.HasPrefix(t, "response.") && t != "response.created" && t != "response.queued" && !isResumedStream(g.x) {
		g.addBreach(at, "the stream starts with %s, not with response.created", t)
	}
	g.checkSequence(at, e.JSON.Get("sequence_number"))
	if g.terminal != "" && (g.terminal != "error" || t != "response.failed") {
		g.addBreach(at, "%s comes after %s", t, g.terminal)
	}
	switch t {
	case "response.completed", "response.incomplete", "response.failed", "error":
		g.terminal = t
	case "response.output_item.added":
		g.items[e.JSON.Get("output_index").Int()] = "added"
	case "response.output_item.done":
		g.items[e.JSON.Get("output_index").Int()] = "done"
	default:
		g.itemEvent(at, t, e.JSON)
	}
}

// isResumedStream reports whether the stream goes on with an earlier one.
func isResumedStream(x *exchange) bool { return strings.Contains(x.Request.URL, "starting_after=") }

func (g *openAIGrammar) checkSequence(at wire.Place, n *tree.Node) {
	if n == nil {
		return // proxies and old recordings have none
	}
	if v := n.Int(); g.seq >= 0 && v != g.seq+1 {
		g.addBreach(at, "sequence_number %d follows %d", v, g.seq)
	}
	g.seq = n.Int()
}

func (g *openAIGrammar) itemEvent(at wire.Place, t string, ev *tree.Node) {
	index := ev.Get("output_index")
	if index == nil || isResumedStream(g.x) || !insideItem(t) {
		return
	}
	switch g.items[index.Int()] {
	case "":
		g.addBreach(at, "%s for item %d, which was not added", t, index.Int())
	case "done":
		g.addBreach(at, "%s for item %d, which is done", t, index.Int())
	}
}

// insideItem reports whether events of the type stand between an item's added
// and its done. Types nobody knows may stand anywhere.
func insideItem(t string) bool {
	stem := t[:max(0, strings.LastIndexByte(t, '.'))]
	_, known := deltaParts[stem]
	return known || stem == "response.content_part" || stem == "response.reasoning_summary_part"
}

// checkItemsDone: an item added is done or at least stands in the final output.
func (g *openAIGrammar) checkItemsDone() {
	last := len(g.x.reply.Events) - 1
	final := len(g.x.reply.Events[last].JSON.Get("response").Get("output").List())
	for index, state := range g.items {
		if state != "done" && index >= final {
			g.addBreach(wire.Place{Event: last, Off: g.x.reply.Events[last].DataOff}, "item %d was added and is neither done nor in the final output", index)
		}
	}
}

// deltasAgree: what an item's deltas add up to is what its end says (R29).
func deltasAgree(s *Trace, r *report) {
	s.eachStream(func(x *exchange) {
		if !x.wire.Has(wires.ItemList) {
			return
		}
		sums := map[string]*strings.Builder{}
		for i, e := range x.reply.Events {
			part, sum, whole := deltaOf(e)
			if sum == nil && whole == nil {
				continue
			}
			b := sums[part]
			if b == nil {
				b = &strings.Builder{}
				sums[part] = b
			}
			b.WriteString(sum.Text())
			if whole == nil {
				continue
			}
			r.addObserved(1)
			if b.String() != whole.Text() && !(strings.HasPrefix(part, "response.reasoning_summary_text") && isRestart(b.String(), whole.Text())) {
				r.addFinding(x, wire.Place{Event: i, Off: e.DataOff}, "§3.2", "%s is not what its deltas add up to: it %s", e.Type(), describeTextDifference(b.String(), whole.Text()))
			}
		}
	})
}

// isRestart reports whether deltas hold a text that the provider gave up, and from its first
// words on began anew: a recording of OpenAI's own stream shows a summary of that kind. A
// piece that was sent twice stands in the text, one that was put in is the shorter part.
func isRestart(deltas, whole string) bool {
	begun := 0
	for begun < len(whole) && begun < len(deltas) && whole[begun] == deltas[begun] {
		begun++
	}
	end := begun + len(deltas) - len(whole)
	return min(end, len(whole)) > 2*begun && strings.HasSuffix(deltas, whole[begun:]) && !strings.Contains(whole, deltas[begun:end])
}

// deltaParts maps the stem of delta and done events to the field done has.
var deltaParts = map[string]string{
	"response.output_text": "text", "response.refusal": "refusal",
	"response.reasoning_summary_text": "text", "response.reasoning_text": "text",
	"response.function_call_arguments": "arguments", "response.custom_tool_call_input": "input",
	"response.mcp_call_arguments": "arguments", "response.code_interpreter_call_code": "code",
}

// deltaOf returns the part an event speaks of and what it adds or closes with.
func deltaOf(e wire.StreamEvent) (part string, delta, whole *tree.Node) {
	t := e.Type()
	dot := strings.LastIndexByte(t, '.')
	if dot < 0 {
		return "", nil, nil
	}
	field, known := deltaParts[t[:dot]]
	if !known {
		return "", nil, nil
	}
	part = t[:dot]
	for _, key := range []string{"output_index", "content_index", "summary_index"} {
		if n := e.JSON.Get(key); n != nil {
			part += " " + n.Raw()
		}
	}
	if t[dot:] == ".delta" {
		return part, e.JSON.Get("delta"), nil
	}
	return part, nil, e.JSON.Get(field)
}
