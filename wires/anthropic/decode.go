package anthropic

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// decoder reads for the referee.
type decoder struct{}

// TokenKey returns the token: every character counts.
func (decoder) TokenKey(token string) string { return token }

// ReadReply builds the reply of the Messages API. Blocks are addressed by index, since
// several may be open at once.
func (decoder) ReadReply(r *wire.Reply) {
	if r.Form == wire.Document {
		readDocument(r)
		return
	}
	a := replyReader{Reply: r, byIndex: map[int]*wire.Growing{}}
	for i, e := range r.Events {
		a.readEvent(i, e)
	}
	for _, g := range a.started {
		r.Items = append(r.Items, g.ToItem())
	}
}

func readDocument(r *wire.Reply) {
	if r.Doc == nil {
		return
	}
	if r.Doc.Text("type") == "error" {
		r.SetError(wire.ErrorOf(r.Doc), wire.At(r.Doc, "error"))
		return
	}
	readMessage(r, r.Doc, wire.Place{Event: -1, Off: 0})
	if r.Doc.Get("content").Is(tree.Array) {
		r.End = wire.Complete
	}
}

// readMessage reads a message object: the whole reply, or its start.
func readMessage(r *wire.Reply, m *tree.Node, at wire.Place) {
	r.ID, r.Model = m.Text("id"), m.Text("model")
	if s := m.Text("stop_reason"); s != "" {
		r.Stop = s
	}
	for i, b := range m.List("content") {
		it := readBlock(b)
		it.Place = wire.Place{Event: at.Event, Off: at.Off + b.Offset(),
			Path: at.Path + "content[" + strconv.Itoa(i) + "]"}
		it.TokenAt, it.Role, it.Done = it.Place, "assistant", true
		r.Items = append(r.Items, it)
	}
}

type replyReader struct {
	*wire.Reply
	byIndex map[int]*wire.Growing // the block last started with an index
	started []*wire.Growing       // in order
}

func (a *replyReader) readEvent(i int, e wire.StreamEvent) {
	at := wire.Place{Event: i, Off: e.DataOff}
	switch e.Type() {
	case "message_start":
		readMessage(a.Reply, e.JSON.Get("message"), wire.Place{Event: i, Off: e.DataOff, Path: "message."})
	case "content_block_start":
		a.startBlock(e.JSON, at)
	case "content_block_delta":
		if g := a.byIndex[e.JSON.Int("index")]; g != nil {
			addDelta(g, e.JSON.Get("delta"), at)
		}
	case "content_block_stop":
		a.stopBlock(e.JSON.Int("index"))
	case "message_delta":
		if s := e.JSON.Text("delta", "stop_reason"); s != "" {
			a.Stop = s
		}
	case "message_stop":
		if a.End == wire.Cut {
			a.End = wire.Complete
		}
	case "error":
		a.SetError(wire.ErrorOf(e.JSON), at)
	}
}

func (a *replyReader) startBlock(ev *tree.Node, at wire.Place) {
	b := ev.Get("content_block")
	it := readBlock(b)
	if it.What == wire.Call {
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
	g := wire.NewGrowing(it)
	a.byIndex[ev.Int("index")] = g
	a.started = append(a.started, g)
}

func (a *replyReader) stopBlock(index int) {
	g := a.byIndex[index]
	if g == nil {
		return
	}
	g.Done = true
	if g.What == wire.Call && !g.HasArgs() {
		g.AddArgs("{}") // a call without arguments streams nothing
	}
}

func addDelta(g *wire.Growing, d *tree.Node, at wire.Place) {
	switch d.Text("type") {
	case "text_delta":
		g.AddText(d.Text("text"))
	case "thinking_delta":
		g.AddText(d.Text("thinking"))
	case "input_json_delta":
		g.AddArgs(d.Text("partial_json"))
	case "citations_delta":
		g.Citations = append(g.Citations, d.Get("citation"))
	case "compaction_delta":
		g.AddText(d.Text("content"))
	case "signature_delta":
		g.Token += d.Text("signature")
		g.HasToken, g.TokenAt = true, at
	}
}

// readBlock reads one content block, in a request or a whole reply.
func readBlock(b *tree.Node) wire.Item {
	it := wire.Item{Type: b.Text("type"), Node: b}
	switch it.Type {
	case "text":
		it.What, it.Text = wire.Text, b.Text("text")
		it.Citations = b.List("citations")
	case "thinking":
		it.What, it.Text = wire.Thinking, b.Text("thinking")
		it.SetToken(b.Get("signature"))
	case "compaction":
		it.Text = b.Text("content")
	case "redacted_thinking":
		it.What = wire.Redacted
		it.SetToken(b.Get("data"))
	case "tool_use":
		it.What, it.ID, it.Name = wire.Call, b.Text("id"), b.Text("name")
		if in := b.Get("input"); in != nil {
			it.Args = in.Raw()
		}
		it.ArgsKnown = true
	case "tool_result":
		it.What, it.ID, it.IsError = wire.Result, b.Text("tool_use_id"), b.True("is_error")
	case "image", "document":
		it.What = wire.Media
	default:
		it.ItemID = b.Text("id")
	}
	return it
}

// appendMedia adds the images and documents of a content.
func appendMedia(list []wire.Medium, content *tree.Node, path string) []wire.Medium {
	for j, b := range content.List() {
		at, source := path+"["+strconv.Itoa(j)+"]", b.Get("source")
		switch kind := b.Text("type"); {
		case kind == "tool_result":
			list = appendMedia(list, b.Get("content"), at+".content")
		case (kind == "image" || kind == "document") && source.Text("type") == "base64":
			list = append(list, wire.Medium{Place: wire.At(source, at+".source"), Kind: kind,
				MediaType: source.Text("media_type"), Data: source.Text("data")})
		}
	}
	return list
}

// choiceOf reads tool_choice.
func choiceOf(root *tree.Node) wire.Choice {
	n := root.Get("tool_choice")
	c := wire.Choice{Kind: n.Text() + n.Text("type"), Path: "tool_choice"}
	if c.Kind == "tool" {
		c.Names = []string{n.Text("name")}
	}
	return c
}

// isBedrockStream reports whether the path asks for a stream, which elsewhere the body does.
func isBedrockStream(path string) bool {
	return strings.HasSuffix(path, "/invoke-with-response-stream")
}

// ReadRequest flattens the messages of a Messages request into items. A string content
// is one text block.
func (decoder) ReadRequest(q *wire.Request, method string, u *url.URL) {
	q.SetOperation(method, strings.HasSuffix(u.Path, "/messages") ||
		strings.HasSuffix(u.Path, "awPredict") || strings.HasSuffix(u.Path, "/invoke") || isBedrockStream(u.Path))
	q.WantsStream = q.WantsStream || isBedrockStream(u.Path)
	q.System, q.Tools = q.Doc.Get("system"), q.Doc.Get("tools")
	q.Declared, q.Choice, q.Marks = toolsOf(q.Doc), choiceOf(q.Doc), marksOf(q.Doc)
	for i, m := range q.Doc.List("messages") {
		path := "messages[" + strconv.Itoa(i) + "]"
		role := m.Text("role")
		q.Msgs = append(q.Msgs, wire.Msg{Role: role, Node: m, Path: path})
		content := m.Get("content")
		q.Media = appendMedia(q.Media, content, path+".content")
		if content.Is(tree.String) {
			q.AddItem(wire.Item{What: wire.Text, Type: "text", Text: content.Text(), Node: content},
				role, i, content, path+".content")
		}
		for j, b := range content.List() {
			q.AddItem(readBlock(b), role, i, b, path+".content["+strconv.Itoa(j)+"]")
		}
	}
}
