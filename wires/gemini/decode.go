package gemini

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// decoder reads for the referee.
type decoder struct{}

// urlAlphabet spells base64 of URLs in the standard alphabet.
var urlAlphabet = strings.NewReplacer("-", "+", "_", "/")

// TokenKey decodes base64 in both alphabets: the provider takes both, and clients answer
// with another than they got.
func (decoder) TokenKey(token string) string {
	if b, err := base64.RawStdEncoding.DecodeString(urlAlphabet.Replace(strings.TrimRight(token, "="))); err == nil {
		return string(b)
	}
	return token
}

// ReadReply builds the reply of generateContent, streamed or not. There is no terminal
// event: a reply is whole when a finish or block reason was seen, and no content behind it without one.
func (decoder) ReadReply(r *wire.Reply) {
	g := replyReader{Reply: r}
	if r.Form == wire.Document && r.Doc != nil {
		g.readChunk(wire.StreamEvent{JSON: r.Doc}, wire.Place{Event: -1})
		if r.End == wire.Cut && r.Doc.Any("candidates", "promptFeedback", "prompt_feedback", "usageMetadata",
			"usage_metadata", "responseId") != nil {
			r.End = wire.Complete // a document needs no reason to be whole
		}
	}
	for i, e := range r.Events {
		g.readChunk(e, wire.Place{Event: i, Off: e.DataOff})
	}
	r.Items = joinPieces(r.Items)
}

type replyReader struct {
	*wire.Reply
	open bool // a call whose arguments come in pieces is open
}

func (g *replyReader) readChunk(e wire.StreamEvent, at wire.Place) {
	c := e.JSON
	if err := wire.ErrorOf(c); !err.Null() {
		g.SetError(err, at)
		return
	}
	g.setString(&g.ID, c.Any("responseId", "response_id"))
	g.setString(&g.Model, c.Any("modelVersion", "model_version"))
	if fb := c.Any("promptFeedback", "prompt_feedback"); !fb.Any("blockReason", "block_reason").Null() {
		g.readFinish(fb.Any("blockReason", "block_reason"))
	}
	cands := c.List("candidates")
	if len(cands) == 0 {
		return
	}
	for j, p := range cands[0].List("content", "parts") {
		at.Path = "candidates[0].content.parts[" + strconv.Itoa(j) + "]"
		at.Off = e.OffsetOf(p)
		g.readPart(p, at)
	}
	if g.End == wire.Complete && len(cands[0].List("content", "parts")) > 0 {
		g.End = wire.Cut // an empty STOP may lead; what it is followed by ends with a reason of its own
	}
	g.readFinish(cands[0].Any("finishReason", "finish_reason"))
}

func (g *replyReader) setString(dst *string, n *tree.Node) {
	if n.Is(tree.String) {
		*dst = n.Text()
	}
}

func (g *replyReader) readFinish(reason *tree.Node) {
	if reason.Null() || reason.Text() == "FINISH_REASON_UNSPECIFIED" {
		return
	}
	g.Stop = reason.Text()
	if g.End == wire.Cut {
		g.End = wire.Complete
	}
}

func (g *replyReader) readPart(p *tree.Node, at wire.Place) {
	it := readPartOf(p)
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

// readPartOf reads one part, in a request or a reply; both spellings of
// proto-JSON names are accepted.
func readPartOf(p *tree.Node) wire.Item {
	it := wire.Item{Type: "part", Node: p}
	if sig := p.Any("thoughtSignature", "thought_signature"); sig.Is(tree.String) {
		it.SetToken(sig)
	}
	switch {
	case p.Any("functionCall", "function_call") != nil:
		fc := p.Any("functionCall", "function_call")
		it.What, it.Type, it.ArgsKnown = wire.Call, "functionCall", true
		it.ID, it.Name, it.Args = fc.Text("id"), fc.Text("name"), "{}"
		if args := fc.Get("args"); !args.Null() {
			it.Args = args.Raw()
		}
	case p.Any("functionResponse", "function_response") != nil:
		fr := p.Any("functionResponse", "function_response")
		it.What, it.Type, it.ID, it.Name = wire.Result, "functionResponse", fr.Text("id"), fr.Text("name")
	case p.True("thought"):
		it.What, it.Type, it.Text = wire.Thinking, "thought", p.Text("text")
	case p.Get("text") != nil:
		it.What, it.Type, it.Text = wire.Text, "text", p.Text("text")
	case p.Any("inlineData", "inline_data", "fileData", "file_data") != nil:
		it.What, it.Type = wire.Media, "media"
	}
	return it
}

// joinPieces joins what a stream cut in pieces: neighbouring texts of one kind
// and message without a signature are one text, empty ones are nothing. A
// signed part stays alone, because the signature belongs to that part.
func joinPieces(items []wire.Item) []wire.Item {
	var out []*wire.Growing
	for _, it := range items {
		plain := (it.What == wire.Text || it.What == wire.Thinking) && !it.HasToken
		if plain && it.Text == "" {
			continue
		}
		if k := len(out) - 1; plain && k >= 0 && out[k].What == it.What && !out[k].HasToken && out[k].Msg == it.Msg {
			out[k].AddText(it.Text)
			out[k].Node = nil
			continue
		}
		out = append(out, wire.NewGrowing(it))
	}
	joined := make([]wire.Item, len(out))
	for i, g := range out {
		joined[i] = g.ToItem()
	}
	return joined
}

// ReadRequest reads the parts of a request to generateContent.
func (decoder) ReadRequest(q *wire.Request, method string, u *url.URL) {
	name, verb, _ := strings.Cut(u.Path[strings.LastIndexByte(u.Path, '/')+1:], ":")
	if q.Model == "" {
		q.Model = name
	}
	q.SetOperation(method, verb == "generateContent" || verb == "streamGenerateContent")
	q.WantsStream = verb == "streamGenerateContent"
	q.System = q.Doc.Any("systemInstruction", "system_instruction")
	q.Tools = q.Doc.Get("tools")
	q.Declared, q.Choice = functionsIn(elementsOf(q.Tools)), choiceOf(q.Doc)
	q.Stateful = !q.Doc.Any("cachedContent", "cached_content").Null()
	contents := q.Doc.Get("contents")
	list := contents.List()
	if contents.Is(tree.Object) {
		list = []*tree.Node{contents} // proto-JSON takes one object for a list
	}
	for i, c := range list {
		path := "contents[" + strconv.Itoa(i) + "]"
		role := roleOf(c.Text("role"))
		q.Msgs = append(q.Msgs, wire.Msg{Role: role, Node: c, Path: path})
		for j, p := range partsOf(c) {
			at := path + ".parts[" + strconv.Itoa(j) + "]"
			if data := p.Any("inlineData", "inline_data"); data.Is(tree.Object) {
				q.Media = append(q.Media, wire.Medium{Place: wire.At(data, at+".inlineData"), Kind: "inline",
					MediaType: data.Any("mimeType", "mime_type").Text(), Data: data.Text("data")})
			}
			q.AddItem(readPartOf(p), role, i, p, at)
		}
	}
	q.Pieces, q.Items = q.Items, joinPieces(q.Items)
}

func partsOf(c *tree.Node) []*tree.Node {
	if p := c.Get("parts"); p.Is(tree.Object) {
		return []*tree.Node{p}
	}
	return c.List("parts")
}

func roleOf(role string) string {
	switch role {
	case "model":
		return "assistant"
	case "", "user", "function":
		return "user"
	}
	return role
}
