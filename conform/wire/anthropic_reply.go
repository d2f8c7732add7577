package wire

import (
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// readAnthropic builds the reply of the Messages API (reference §3.1). Blocks
// are addressed by index, since several may be open at once.
func readAnthropic(r *Reply) {
	if r.Form == Document {
		readAnthropicDoc(r)
		return
	}
	a := anthropicStream{Reply: r, byIndex: map[int]*growing{}}
	for i, e := range r.Events {
		a.readEvent(i, e)
	}
	for _, g := range a.started {
		r.Items = append(r.Items, g.toItem())
	}
}

func readAnthropicDoc(r *Reply) {
	if r.Doc == nil {
		return
	}
	if r.Doc.Get("type").Text() == "error" {
		r.setError(errorOf(r.Doc), Place{-1, r.Doc.Offset(), "error"})
		return
	}
	r.readMessage(r.Doc, Place{-1, 0, ""})
	if r.Doc.Get("content").Is(tree.Array) {
		r.End = Complete
	}
}

// readMessage reads a message object: the whole reply, or its start.
func (r *Reply) readMessage(m *tree.Node, at Place) {
	r.ID, r.Model = m.Get("id").Text(), m.Get("model").Text()
	if s := m.Get("stop_reason").Text(); s != "" {
		r.Stop = s
	}
	for i, b := range m.Get("content").List() {
		it := anthropicBlock(b)
		it.Place = Place{at.Event, at.Off + b.Offset(), at.Path + "content[" + strconv.Itoa(i) + "]"}
		it.TokenAt, it.Role, it.Done = it.Place, "assistant", true
		r.Items = append(r.Items, it)
	}
}

type anthropicStream struct {
	*Reply
	byIndex map[int]*growing // the block last started with an index
	started []*growing       // in order
}

func (a *anthropicStream) readEvent(i int, e StreamEvent) {
	at := Place{i, e.DataOff, ""}
	switch e.Type() {
	case "message_start":
		a.readMessage(e.JSON.Get("message"), Place{i, e.DataOff, "message."})
	case "content_block_start":
		a.startBlock(e.JSON, at)
	case "content_block_delta":
		if g := a.byIndex[e.JSON.Get("index").Int()]; g != nil {
			g.anthropicDelta(e.JSON.Get("delta"), at)
		}
	case "content_block_stop":
		a.stopBlock(e.JSON.Get("index").Int())
	case "message_delta":
		if s := e.JSON.Get("delta").Get("stop_reason").Text(); s != "" {
			a.Stop = s
		}
	case "message_stop":
		if a.End == Cut {
			a.End = Complete
		}
	case "error":
		a.setError(errorOf(e.JSON), at)
	}
}

func (a *anthropicStream) startBlock(ev *tree.Node, at Place) {
	b := ev.Get("content_block")
	it := anthropicBlock(b)
	if it.What == Call {
		// The start's empty input stands in for what the deltas bring.
		it.Args = ""
		if in := b.Get("input"); in.Is(tree.Object) && len(in.Items()) > 0 {
			it.Args = in.Raw()
		}
	}
	it.Place, it.TokenAt, it.Role, it.Start = at, at, "assistant", b
	if !strings.HasSuffix(it.Type, "_result") { // which come whole
		it.Node = nil
	}
	g := newGrowing(it)
	a.byIndex[ev.Get("index").Int()] = g
	a.started = append(a.started, g)
}

func (a *anthropicStream) stopBlock(index int) {
	g := a.byIndex[index]
	if g == nil {
		return
	}
	g.Done = true
	if g.What == Call && len(g.args) == 0 {
		g.args = []byte("{}") // D-3: a call without arguments streams nothing
	}
}

func (g *growing) anthropicDelta(d *tree.Node, at Place) {
	switch d.Get("type").Text() {
	case "text_delta":
		g.text = append(g.text, d.Get("text").Text()...)
	case "thinking_delta":
		g.text = append(g.text, d.Get("thinking").Text()...)
	case "input_json_delta":
		g.args = append(g.args, d.Get("partial_json").Text()...)
	case "citations_delta":
		g.Citations = append(g.Citations, d.Get("citation"))
	case "compaction_delta":
		g.text = append(g.text, d.Get("content").Text()...)
	case "signature_delta":
		g.Token += d.Get("signature").Text()
		g.HasToken, g.TokenAt = true, at
	}
}

// anthropicBlock reads one content block, in a request or a whole reply.
func anthropicBlock(b *tree.Node) Item {
	it := Item{Type: b.Get("type").Text(), Node: b}
	switch it.Type {
	case "text":
		it.What, it.Text = Text, b.Get("text").Text()
		it.Citations = b.Get("citations").List()
	case "thinking":
		it.What, it.Text = Thinking, b.Get("thinking").Text()
		it.setToken(b.Get("signature"))
	case "compaction":
		it.Text = b.Get("content").Text()
	case "redacted_thinking":
		it.What = Redacted
		it.setToken(b.Get("data"))
	case "tool_use":
		it.What, it.ID, it.Name = Call, b.Get("id").Text(), b.Get("name").Text()
		if in := b.Get("input"); in != nil {
			it.Args = in.Raw()
		}
		it.ArgsKnown = true
	case "tool_result":
		it.What, it.ID, it.IsError = Result, b.Get("tool_use_id").Text(), b.Get("is_error").True()
	case "image", "document":
		it.What = Media
	default:
		it.ItemID = b.Get("id").Text()
	}
	return it
}

func (it *Item) setToken(n *tree.Node) {
	it.Token, it.HasToken = n.Text(), n != nil
}
