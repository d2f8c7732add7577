package openai

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// sentReply is a reply as the rules of replies read it.
type sentReply struct {
	*rule.Exchange
	events  []wire.StreamEvent
	resumed bool // the stream goes on with an earlier one
	created int  // the event response.created, -1 for none
	ends    []int
	items   []*sentItem // in the order of their first events
	byIndex map[int]*sentItem
	lost    []int // events of items without output_index
	// response is that of the last event, or the document; at is its event, -1 for a document.
	response *tree.Node
	at       int
}

// sentItem is one item of the output. added, done and the others are events, -1 for none.
type sentItem struct {
	index, first, added, done int
	start, end                *tree.Node
	final                     *tree.Node // in the completed response
	strays                    []int      // events before added or after done
	ids                       []int      // events with an item_id
	parts                     map[string]*sentPart
	order                     []string
}

// sentPart is a text, an arguments string or another value that comes in pieces.
type sentPart struct {
	stem                 string
	opened, done, closed int
	deltas               int
	first                int
	text                 strings.Builder
	whole, closing       *tree.Node
}

// deltaParts maps the stem of delta and done events to the field that done has.
var deltaParts = map[string]string{
	"response.output_text": "text", "response.refusal": "refusal",
	"response.reasoning_summary_text": "text", "response.reasoning_text": "text",
	"response.function_call_arguments": "arguments", "response.custom_tool_call_input": "input",
	"response.mcp_call_arguments": "arguments", "response.code_interpreter_call_code": "code",
}

// openers maps the stem of the events that open and close a part to the stems inside it.
var openers = map[string][]string{
	"response.content_part":           {"response.output_text", "response.refusal", "response.reasoning_text"},
	"response.reasoning_summary_part": {"response.reasoning_summary_text"},
}

// isArgument reports whether a part belongs to a call, not to a text.
func isArgument(stem string) bool { return deltaParts[stem] != "text" && deltaParts[stem] != "refusal" }

// readSent reads a reply once for all rules.
func readSent(x *rule.Exchange) *sentReply {
	a := &sentReply{Exchange: x, created: -1, at: -1, byIndex: map[int]*sentItem{},
		resumed: strings.Contains(x.URL, "starting_after=")}
	if !x.IsStream() {
		if doc := x.Reply.Doc; x.Status == http.StatusOK &&
			(doc.Get("output").Is(tree.Array) || doc.Text("object") == "response") {
			a.response = x.Reply.Doc
			for i, n := range a.response.List("output") {
				a.items = append(a.items, &sentItem{index: i, first: -1, added: -1, done: -1, end: n, final: n})
			}
		}
		return a
	}
	a.events = x.Reply.Events
	for i, e := range a.events {
		switch t := e.Type(); t {
		case "response.created":
			a.created = i
		case "response.completed", "response.incomplete", "response.failed":
			a.ends, a.response, a.at = append(a.ends, i), e.JSON.Get("response"), i
		case "error":
			a.ends = append(a.ends, i)
		default:
			a.readItemEvent(i, t, e.JSON)
		}
	}
	for i, n := range a.response.List("output") {
		it := a.itemWithID(n.Text("id")) // items may stand in another order
		if it == nil {
			it = a.byIndex[i]
		}
		if it != nil {
			it.final = n
		}
	}
	return a
}

// itemWithID returns the item that was done under an id, nil if there is none or more than one.
func (a *sentReply) itemWithID(id string) (found *sentItem) {
	for _, it := range a.items {
		if id == "" || it.end.Text("id") != id {
			continue
		}
		if found != nil {
			return nil
		}
		found = it
	}
	return found
}

func (a *sentReply) readItemEvent(i int, t string, ev *tree.Node) {
	n := ev.Get("output_index")
	stem := t[:max(0, strings.LastIndexByte(t, '.'))]
	field, isPart := deltaParts[stem]
	_, isOpener := openers[stem]
	if !isPart && !isOpener && stem != "response.output_item" {
		return // types that nobody knows may stand anywhere
	}
	if n.Null() {
		a.lost = append(a.lost, i)
		return
	}
	it := a.byIndex[n.Int()]
	if it == nil {
		it = &sentItem{index: n.Int(), first: i, added: -1, done: -1, parts: map[string]*sentPart{}}
		a.byIndex[it.index], a.items = it, append(a.items, it)
	}
	switch t {
	case "response.output_item.added":
		it.added, it.start = i, ev.Get("item")
		return
	case "response.output_item.done":
		it.done, it.end = i, ev.Get("item")
		return
	}
	if it.added < 0 || it.done >= 0 {
		it.strays = append(it.strays, i)
	}
	if ev.Get("item_id") != nil {
		it.ids = append(it.ids, i)
	}
	key := ev.Any("content_index", "summary_index").Raw()
	kinds := []string{stem}
	if isOpener {
		kinds = openers[stem]
	}
	for _, kind := range kinds {
		name := kind + " " + key
		part := it.parts[name]
		if part == nil && (!isOpener || isKindOf(kind, ev.Get("part"))) {
			part = &sentPart{stem: kind, opened: -1, done: -1, closed: -1, first: i}
			it.parts[name], it.order = part, append(it.order, name)
		}
		if part == nil {
			continue
		}
		switch verb := t[len(stem):]; {
		case isOpener && verb == ".added":
			part.opened = i
		case isOpener && verb == ".done":
			part.closed, part.closing = i, ev.Get("part").Any("text", "refusal")
		case verb == ".delta":
			part.deltas++
			part.text.WriteString(ev.Text("delta"))
		case ev.Get(field) != nil:
			part.done, part.whole = i, ev.Get(field)
		}
	}
}

// isKindOf reports whether a part that opens is of the kind of the events with a stem.
func isKindOf(stem string, part *tree.Node) bool {
	switch part.Text("type") {
	case "refusal":
		return stem == "response.refusal"
	case "reasoning_text":
		return stem == "response.reasoning_text"
	case "summary_text":
		return stem == "response.reasoning_summary_text"
	}
	return stem == "response.output_text"
}

// itemPlace is where an item ends, else where it begins.
func (a *sentReply) itemPlace(it *sentItem) wire.Place {
	if it.first < 0 {
		return a.At(-1, it.end, fmt.Sprintf("output[%d]", it.index))
	}
	return a.EventPlace(max(it.first, it.done))
}

func (a *sentReply) endType() string {
	if len(a.ends) == 0 {
		return ""
	}
	return a.events[a.ends[len(a.ends)-1]].Type()
}

// completes reports whether the reply is whole and the model said all of it.
func (a *sentReply) completes() bool {
	return !a.resumed && !a.Cut &&
		(a.at >= 0 && a.endType() == "response.completed" || a.at < 0 && a.response.Text("status") == "completed")
}
