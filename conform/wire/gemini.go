package wire

import (
	"strconv"

	"github.com/meerkat-go/conformance/wires/tree"
)

// readGemini builds the reply of generateContent, streamed or not (reference
// §3.3). There is no terminal event: a reply is whole when a finish or block
// reason was seen in any chunk.
func readGemini(r *Reply) {
	g := geminiReply{Reply: r}
	if r.Form == Document && r.Doc != nil {
		g.readChunk(StreamEvent{JSON: r.Doc}, Place{Event: -1})
		if r.End == Cut && r.Doc.Any("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata", "responseId") != nil {
			r.End = Complete // a document needs no reason to be whole
		}
	}
	for i, e := range r.Events {
		g.readChunk(e, Place{i, e.DataOff, ""})
	}
	r.Items = joinPieces(r.Items)
}

type geminiReply struct {
	*Reply
	open bool // a call whose arguments come in pieces is open
}

func (g *geminiReply) readChunk(e StreamEvent, at Place) {
	c := e.JSON
	if err := errorOf(c); !err.Null() {
		g.setError(err, at)
		return
	}
	g.setString(&g.ID, c.Any("responseId", "response_id"))
	g.setString(&g.Model, c.Any("modelVersion", "model_version"))
	if fb := c.Any("promptFeedback", "prompt_feedback"); !fb.Any("blockReason", "block_reason").Null() {
		g.readFinish(fb.Any("blockReason", "block_reason"))
	}
	cands := c.Get("candidates").List()
	if len(cands) == 0 {
		return
	}
	for j, p := range cands[0].Get("content").Get("parts").List() {
		at.Path = "candidates[0].content.parts[" + strconv.Itoa(j) + "]"
		at.Off = e.offOf(p)
		g.readPart(p, at)
	}
	g.readFinish(cands[0].Any("finishReason", "finish_reason"))
}

func (g *geminiReply) setString(dst *string, n *tree.Node) {
	if n.Is(tree.String) {
		*dst = n.Text()
	}
}

func (g *geminiReply) readFinish(reason *tree.Node) {
	if reason.Null() || reason.Text() == "FINISH_REASON_UNSPECIFIED" {
		return
	}
	g.Stop = reason.Text()
	if g.End == Cut {
		g.End = Complete
	}
}

func (g *geminiReply) readPart(p *tree.Node, at Place) {
	it := geminiPart(p)
	it.Place, it.TokenAt, it.Role, it.Done = at, at, "assistant", true
	if fc := p.Any("functionCall", "function_call"); fc.Is(tree.Object) {
		more := fc.Any("willContinue", "will_continue").True()
		if g.open {
			g.open = more
			return // a piece of the call before
		}
		pieces := more || fc.Any("partialArgs", "partial_args") != nil
		g.open, it.ArgsKnown = more, !pieces
	}
	g.Items = append(g.Items, it)
}

// geminiPart reads one part, in a request or a reply; both spellings of
// proto-JSON names are accepted.
func geminiPart(p *tree.Node) Item {
	it := Item{Type: "part", Node: p}
	if sig := p.Any("thoughtSignature", "thought_signature"); sig.Is(tree.String) {
		it.setToken(sig)
	}
	switch {
	case p.Any("functionCall", "function_call") != nil:
		fc := p.Any("functionCall", "function_call")
		it.What, it.Type, it.ArgsKnown = Call, "functionCall", true
		it.ID, it.Name, it.Args = fc.Get("id").Text(), fc.Get("name").Text(), "{}"
		if args := fc.Get("args"); !args.Null() {
			it.Args = args.Raw()
		}
	case p.Any("functionResponse", "function_response") != nil:
		fr := p.Any("functionResponse", "function_response")
		it.What, it.Type, it.ID, it.Name = Result, "functionResponse", fr.Get("id").Text(), fr.Get("name").Text()
	case p.Get("thought").True():
		it.What, it.Type, it.Text = Thinking, "thought", p.Get("text").Text()
	case p.Get("text") != nil:
		it.What, it.Type, it.Text = Text, "text", p.Get("text").Text()
	case p.Any("inlineData", "inline_data", "fileData", "file_data") != nil:
		it.What, it.Type = Media, "media"
	}
	return it
}

// joinPieces joins what a stream cut in pieces: neighbouring texts of one kind
// and message without a signature are one text, empty ones are nothing. A
// signed part stays alone, because the signature belongs to that part.
func joinPieces(items []Item) []Item {
	var out []*growing
	for _, it := range items {
		plain := (it.What == Text || it.What == Thinking) && !it.HasToken
		if plain && it.Text == "" {
			continue
		}
		if k := len(out) - 1; plain && k >= 0 && out[k].What == it.What && !out[k].HasToken && out[k].Msg == it.Msg {
			out[k].text = append(out[k].text, it.Text...)
			out[k].Node = nil
			continue
		}
		out = append(out, newGrowing(it))
	}
	joined := make([]Item, len(out))
	for i, g := range out {
		joined[i] = g.toItem()
	}
	return joined
}

func geminiRequest(q *Request) {
	q.System = q.Doc.Any("systemInstruction", "system_instruction")
	q.Tools = q.Doc.Get("tools")
	q.Stateful = !q.Doc.Any("cachedContent", "cached_content").Null()
	contents := q.Doc.Get("contents")
	list := contents.List()
	if contents.Is(tree.Object) {
		list = []*tree.Node{contents} // proto-JSON takes one object for a list
	}
	for i, c := range list {
		path := "contents[" + strconv.Itoa(i) + "]"
		role := geminiRole(c.Get("role").Text())
		q.Msgs = append(q.Msgs, Msg{Role: role, Node: c, Path: path})
		for j, p := range geminiParts(c) {
			q.addItem(geminiPart(p), role, i, p, path+".parts["+strconv.Itoa(j)+"]")
		}
	}
	q.Items = joinPieces(q.Items)
}

func geminiParts(c *tree.Node) []*tree.Node {
	if p := c.Get("parts"); p.Is(tree.Object) {
		return []*tree.Node{p}
	}
	return c.Get("parts").List()
}

func geminiRole(role string) string {
	switch role {
	case "model":
		return "assistant"
	case "", "user", "function":
		return "user"
	}
	return role
}
