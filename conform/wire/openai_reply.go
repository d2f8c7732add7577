package wire

import (
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/wires/tree"
)

// readOpenAI builds the reply of the Responses API (reference §3.2). Items are
// addressed by output_index: item ids may rotate, indexes may skip. What
// output_item.done says is authoritative, deltas fill in for a cut stream.
func readOpenAI(r *Reply) {
	if r.Form == Document {
		r.readResponse(r.Doc, Place{-1, 0, ""})
		r.openAIEnd(r.Doc.Get("status").Text(), r.Doc, Place{-1, 0, ""})
		return
	}
	o := openAIStream{Reply: r, items: map[int]*growing{}}
	for i, e := range r.Events {
		o.readEvent(i, e)
	}
	o.finishItems()
}

// openAIEnd sets the ending a response object's status means. An incomplete
// response is a whole one: it says where it stopped and why.
func (r *Reply) openAIEnd(status string, resp *tree.Node, at Place) {
	r.Stop = status
	switch status {
	case "completed", "incomplete":
		if r.End == Cut {
			r.End = Complete
		}
	case "failed", "cancelled":
		r.setError(errorOf(resp), at)
	case "queued", "in_progress":
		if at.Event < 0 {
			r.End = Pending
		}
	default:
		if err := errorOf(resp); !err.Null() {
			r.setError(err, at)
		} else if resp.Get("output").Is(tree.Array) && r.End == Cut {
			r.End = Complete // older and compatible hosts send no status
		}
	}
}

// readResponse reads a whole response object.
func (r *Reply) readResponse(resp *tree.Node, at Place) {
	r.ID, r.Model = resp.Get("id").Text(), resp.Get("model").Text()
	for i, n := range resp.Get("output").List() {
		it := openAIItem(n)
		it.Place = Place{at.Event, at.Off + n.Offset(), at.Path + "output[" + strconv.Itoa(i) + "]"}
		it.TokenAt = it.Place
		it.Role, it.Done = openAIRole(it, n), n.Get("status").Text() != "incomplete"
		r.Items = append(r.Items, it)
	}
}

type openAIStream struct {
	*Reply
	items map[int]*growing // by output_index
	final []*tree.Node     // output of the terminal event
	seen  []int            // output indexes in order of appearance
}

func (o *openAIStream) readEvent(i int, e StreamEvent) {
	at := Place{i, e.DataOff, ""}
	switch t := e.Type(); t {
	case "response.created", "response.in_progress", "response.queued":
		o.ID, o.Model = e.JSON.Get("response").Get("id").Text(), e.JSON.Get("response").Get("model").Text()
	case "response.output_item.added", "response.output_item.done":
		o.readItem(e.JSON, at, t == "response.output_item.done")
	case "response.completed", "response.incomplete", "response.failed":
		resp := e.JSON.Get("response")
		o.final = resp.Get("output").List()
		o.openAIEnd(t[len("response."):], resp, at)
	case "error", "response.error":
		o.setError(errorNode(e.JSON), at)
	default:
		o.addDelta(t, e.JSON)
	}
}

// errorNode accepts the nested and the flat error event (reference §3.2).
func errorNode(ev *tree.Node) *tree.Node {
	if n := errorOf(ev); n.Is(tree.Object) {
		return n
	}
	return ev
}

func (o *openAIStream) readItem(ev *tree.Node, at Place, done bool) {
	idx := ev.Get("output_index").Int()
	old := o.items[idx]
	it := openAIItem(ev.Get("item"))
	it.Place, it.TokenAt, it.Role, it.Done = at, at, "assistant", done
	if done && ev.Get("item").Get("status").Text() == "incomplete" {
		it.Done = false
	}
	if old == nil {
		o.seen = append(o.seen, idx)
	} else if old.HasToken && old.Token != it.Token {
		it.DraftTokens = append(slices.Clip(old.DraftTokens), old.Token)
	}
	o.items[idx] = newGrowing(it)
}

func (o *openAIStream) addDelta(t string, ev *tree.Node) {
	it := o.items[ev.Get("output_index").Int()]
	if it == nil || it.Done {
		return
	}
	switch t {
	case "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it.text = append(it.text, ev.Get("delta").Text()...)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		it.args = append(it.args, ev.Get("delta").Text()...)
	}
}

// finishItems lines the items up by output index and takes from the terminal event
// what only it has: another form of each token, and items without a done event.
func (o *openAIStream) finishItems() {
	slices.Sort(o.seen)
	for _, idx := range o.seen {
		it := o.items[idx].toItem()
		if idx >= 0 && idx < len(o.final) {
			it.addFinalForm(o.final[idx])
		}
		o.Items = append(o.Items, it)
	}
	if len(o.seen) == 0 {
		for i, n := range o.final {
			it := openAIItem(n)
			it.Place = Place{len(o.Events) - 1, o.Events[len(o.Events)-1].offOf(n), "response.output[" + strconv.Itoa(i) + "]"}
			it.TokenAt, it.Role, it.Done = it.Place, "assistant", true
			o.Items = append(o.Items, it)
		}
	}
}

func (it *Item) addFinalForm(final *tree.Node) {
	f := openAIItem(final)
	if f.Type != it.Type {
		return
	}
	if !it.Done && final.Get("status").Text() != "incomplete" {
		place, drafts := it.Place, it.DraftTokens
		if it.HasToken && it.Token != f.Token {
			drafts = append(drafts, it.Token)
		}
		*it = f
		it.Place, it.TokenAt, it.Role, it.Done, it.DraftTokens = place, place, "assistant", true, drafts
		return
	}
	if f.HasToken && f.Token != it.Token {
		it.AlsoTokens = append(it.AlsoTokens, f.Token)
	}
}
