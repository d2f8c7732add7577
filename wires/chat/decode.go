package chat

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// decoder reads for the referee. A message holds, in this order, thinking, text and calls, whatever the order
// of its members.
type decoder struct{}

// TokenKey returns the token: every character counts.
func (decoder) TokenKey(token string) string { return token }

// ReadRequest reads the items of the messages.
func (decoder) ReadRequest(q *wire.Request, method string, u *url.URL) {
	q.SetOperation(method, strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/chat/completions"))
	q.Tools = q.Doc.Get("tools")
	q.Declared, q.Choice = offeredTools(q.Tools.List()), choiceOf(q.Doc.Get("tool_choice"))
	for i, n := range q.Doc.List("messages") {
		path, role := "messages["+strconv.Itoa(i)+"]", n.Text("role")
		if i == 0 && (role == "system" || role == "developer") {
			q.System = n.Get("content")
		}
		q.Msgs = append(q.Msgs, wire.Msg{Role: role, Node: n, Path: path})
		for _, it := range itemsOf(n) {
			q.AddItem(it, speakerOf(role), i, cmp.Or(it.Node, n), path+it.Place.Path)
		}
		q.Media = append(q.Media, mediaOf(n.Get("content"), path+".content")...)
	}
}

// speakerOf maps the role of a message to that of its items: results come from the client, as a user's words do.
func speakerOf(role string) string {
	if role == "tool" || role == "function" {
		return "user"
	}
	return role
}

// itemsOf reads a message of a request or of a reply. The path in Place begins at the message.
func itemsOf(n *tree.Node) (items []wire.Item) {
	add := func(it wire.Item, node *tree.Node, path string) {
		it.Node, it.Place.Path = node, path
		items = append(items, it)
	}
	content := n.Get("content")
	switch role := n.Text("role"); role {
	case "tool", "function":
		add(wire.Item{What: wire.Result, Type: role, ID: n.Text("tool_call_id"), Name: n.Text("name"),
			Text: joinTexts(content)}, n, "")
		return items
	}
	details := n.List("reasoning_details")
	for j, d := range details {
		add(detailOf(d), d, ".reasoning_details["+strconv.Itoa(j)+"]")
	}
	if name, thought := thoughtOf(n); thought != "" && len(details) == 0 {
		add(wire.Item{What: wire.Thinking, Type: name, Text: thought}, n.Get(name), "."+name)
	}
	inTags, text := splitThought(content.Text())
	if inTags != "" {
		add(wire.Item{What: wire.Thinking, Type: thinkTag, Text: inTags}, content, ".content")
	}
	if text != "" {
		add(wire.Item{What: wire.Text, Type: "content", Text: text}, content, ".content")
	}
	for j, part := range content.List() {
		add(partOf(part), part, ".content["+strconv.Itoa(j)+"]")
	}
	if refusal := n.Get("refusal"); refusal.Text() != "" {
		add(wire.Item{What: wire.Text, Type: "refusal", Text: refusal.Text()}, refusal, ".refusal")
	}
	for j, call := range n.Get("tool_calls").List() {
		it := callOf(call)
		it.Args = wholeArguments(it.Args, it.Type)
		add(it, call, ".tool_calls["+strconv.Itoa(j)+"]")
	}
	if call := n.Get("function_call"); call.Text("name") != "" { // some servers send an empty one beside everything
		add(wire.Item{What: wire.Call, Type: "function_call", Name: call.Get("name").Text(),
			Args: wholeArguments(argumentsOf(call), ""), ArgsKnown: true}, call, ".function_call")
	}
	return items
}

// thoughtOf returns the reasoning of a message or a delta, and the member that holds it. Servers that send
// both names send one text twice.
func thoughtOf(n *tree.Node) (name, text string) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if text := n.Get(name).Text(); text != "" {
			return name, text
		}
	}
	return "", ""
}

// thinkTag is the type of thinking that stands in tags at the beginning of a content: MiniMax, GLM at Cerebras
// and engines without a parser of reasoning send and take it so.
const thinkTag = "<think>"

// splitThought splits what stands in tags from the text behind it. Empty lines before the text do not count: they come
// from the template, and clients that take the thought out keep them or not.
func splitThought(content string) (thought, text string) {
	if inner, ok := strings.CutPrefix(strings.TrimLeft(content, " \n"), thinkTag); ok {
		if thought, text, ok := strings.Cut(inner, "</think>"); ok {
			return strings.TrimSpace(thought), strings.TrimLeft(text, "\n")
		}
	}
	return "", strings.TrimLeft(content, "\n")
}

// detailOf reads one of OpenRouter's reasoning_details.
func detailOf(d *tree.Node) wire.Item {
	it := wire.Item{What: wire.Thinking, Type: d.Text("type"), Text: d.Any("text", "summary").Text()}
	if id := d.Text("id"); id != "" {
		it.ItemID = id + " " + it.Type // the summary of a reasoning and its encrypted content have one id
	}
	if token := d.Any("data", "signature"); token.Is(tree.String) {
		it.SetToken(token)
	}
	if it.Type == "reasoning.encrypted" || d.Get("data").Is(tree.String) {
		it.What = wire.Redacted
	}
	return it
}

// partOf reads a part of a content.
func partOf(part *tree.Node) wire.Item {
	switch typ := part.Text("type"); typ {
	case "thinking":
		return wire.Item{What: wire.Thinking, Type: typ, Text: joinTexts(part.Get("thinking"))}
	case "text", "refusal":
		return wire.Item{What: wire.Text, Type: typ, Text: part.Any("text", "refusal").Text()}
	case "image_url", "input_audio", "file", "video_url":
		return wire.Item{What: wire.Media, Type: typ}
	default:
		return wire.Item{Type: typ}
	}
}

func callOf(call *tree.Node) wire.Item {
	what := call.Any("function", "custom")
	it := wire.Item{What: wire.Call, Type: cmp.Or(call.Text("type"), "function"), ID: call.Text("id"),
		Name: what.Text("name"), Args: argumentsOf(what), ArgsKnown: true}
	if signature := signatureOf(call); signature.Is(tree.String) {
		it.SetToken(signature)
	}
	return it
}

// signatureOf is Gemini's signature of a call.
func signatureOf(call *tree.Node) *tree.Node {
	return call.Get("extra_content").Get("google").Get("thought_signature")
}

// argumentsOf is the text of a call's arguments. Some servers send an object where the API has a text.
func argumentsOf(what *tree.Node) string {
	args := what.Any("arguments", "input")
	if args.Is(tree.Object) {
		return args.Raw()
	}
	return args.Text()
}

// wholeArguments are the arguments of a call that arrived whole. Servers write "" or null for a tool without
// parameters, which every client reads as no arguments.
func wholeArguments(args, kind string) string {
	if text := strings.TrimSpace(args); kind != "custom" && (text == "" || text == "null") {
		return "{}"
	}
	return args
}

// joinTexts joins the texts of a content.
func joinTexts(content *tree.Node) string {
	texts := content.Text()
	for _, part := range content.List() {
		texts += part.Any("text", "refusal").Text()
	}
	return texts
}

// mediaOf reads the data URLs and the sounds of a content.
func mediaOf(content *tree.Node, path string) (list []wire.Medium) {
	for j, p := range content.List() {
		at := path + "[" + strconv.Itoa(j) + "]"
		switch p.Text("type") {
		case "image_url":
			list = append(list, wire.DataMedium(p, at+".image_url.url", "image", p.Text("image_url", "url"))...)
		case "file":
			list = append(list, wire.DataMedium(p, at+".file.file_data", "file", p.Text("file", "file_data"))...)
		}
	}
	return list
}

// offeredTools lists the tools that the client runs.
func offeredTools(tools []*tree.Node) (list []wire.Tool) {
	for i, n := range tools {
		kind := n.Text("type")
		if kind != "function" && kind != "custom" {
			continue
		}
		what, path := n.Get(kind), "tools["+strconv.Itoa(i)+"]"
		list = append(list, wire.Tool{
			Name: what.Text("name"), Node: n, Path: path, Schema: what.Get("parameters"),
			SchemaPath: path + ".function.parameters",
			IsClients:  true, IsStrict: what.True("strict"),
		})
	}
	return list
}

// choiceOf reads tool_choice.
func choiceOf(n *tree.Node) wire.Choice {
	c := wire.Choice{Kind: n.Text() + n.Text("type"), Path: "tool_choice"}
	named := []*tree.Node{n}
	switch c.Kind {
	case "required":
		c.Kind = "any"
	case "function", "custom":
		c.Kind = "tool"
	case "allowed_tools":
		allowed := n.Get("allowed_tools")
		c.Kind, named = map[bool]string{true: "any", false: "auto"}[allowed.Text("mode") == "required"],
			allowed.List("tools")
	}
	for _, t := range named {
		if name := t.Any("function", "custom").Text("name"); name != "" || c.Kind == "tool" {
			c.Names = append(c.Names, name)
		}
	}
	return c
}

// ReadReply reads the first choice of a reply: it is the one that goes on.
func (decoder) ReadReply(r *wire.Reply) {
	if r.Form == wire.Document {
		readDocument(r)
		return
	}
	s := streamReader{Reply: r}
	for i, e := range r.Events {
		s.readEvent(i, e)
	}
	s.finishItems()
}

func readDocument(r *wire.Reply) {
	r.ID, r.Model = r.Doc.Text("id"), r.Doc.Text("model")
	choices := r.Doc.List("choices")
	if len(choices) > 0 {
		message := choices[0].Get("message")
		for _, it := range itemsOf(message) {
			it.Place = wire.At(cmp.Or(it.Node, message), "choices[0].message"+it.Place.Path)
			it.Role, it.TokenAt, it.Done = "assistant", it.Place, true
			r.Items = append(r.Items, it)
		}
		r.Stop, r.End = choices[0].Text("finish_reason"), wire.Complete
	}
	err, path := wire.ErrorOf(r.Doc), "error"
	if status := r.Doc.Get("base_resp"); len(choices) == 0 && status.Int("status_code") > 0 { // MiniMax
		err, path = status, "base_resp"
	}
	if !err.Null() {
		r.SetError(err, wire.Place{Event: -1, Off: err.Offset(), Path: path})
	}
}

// streamReader joins the pieces of a stream as far as clients do.
type streamReader struct {
	*wire.Reply
	thoughts, details, texts, calls []*piece
	isDone                          bool
}

// piece is an item that grows. key tells it from others of its kind.
type piece struct {
	*wire.Growing
	key string
}

func (s *streamReader) readEvent(i int, e wire.StreamEvent) {
	if isDone([]byte(e.Data)) {
		s.isDone = true
		return
	}
	s.ID, s.Model = cmp.Or(s.ID, e.JSON.Text("id")), cmp.Or(s.Model, e.JSON.Text("model"))
	for j, c := range e.JSON.List("choices") {
		if n := c.Get("index"); n.Int() > 0 {
			continue
		}
		at := wire.Place{Event: i, Off: e.OffsetOf(c), Path: "choices[" + strconv.Itoa(j) + "].delta"}
		s.readDelta(c.Any("delta", "message"), at)
		if reason := c.Text("finish_reason"); reason != "" {
			s.Stop = reason
		}
	}
	if err := wire.ErrorOf(e.JSON); !err.Null() {
		s.SetError(err, wire.Place{Event: i, Off: e.OffsetOf(err), Path: "error"})
	}
}

func (s *streamReader) readDelta(delta *tree.Node, at wire.Place) {
	for _, d := range delta.List("reasoning_details") {
		it := detailOf(d)
		p := findPiece(&s.details, it.Type+" "+d.Get("index").Raw(),
			wire.Item{What: it.What, Type: it.Type, Place: at}, "")
		p.AddText(it.Text)
		p.ItemID = cmp.Or(p.ItemID, it.ItemID)
		if it.HasToken {
			p.Token, p.HasToken, p.TokenAt = p.Token+it.Token, true, at
		}
	}
	if name, text := thoughtOf(delta); text != "" {
		findPiece(&s.thoughts, "", wire.Item{What: wire.Thinking, Type: name, Place: at}, "").AddText(text)
	}
	content := delta.Get("content")
	s.addText("content", content.Text(), at)
	for _, part := range content.List() {
		if it := partOf(part); it.What == wire.Thinking {
			findPiece(&s.thoughts, "", wire.Item{What: wire.Thinking, Type: it.Type, Place: at}, "").AddText(it.Text)
		} else {
			s.addText("content", it.Text, at)
		}
	}
	s.addText("refusal", delta.Text("refusal"), at)
	for _, call := range delta.List("tool_calls") {
		s.addCall(call, at)
	}
	if call := delta.Get("function_call"); call.Text("name")+call.Text("arguments") != "" {
		p := findPiece(&s.calls, "function_call",
			wire.Item{What: wire.Call, Type: "function_call", ArgsKnown: true, Place: at}, "")
		p.Name += call.Text("name")
		p.AddArgs(argumentsOf(call))
	}
}

func (s *streamReader) addText(kind, text string, at wire.Place) {
	if text != "" {
		findPiece(&s.texts, kind, wire.Item{What: wire.Text, Type: kind, Place: at}, "").AddText(text)
	}
}

// addCall joins the pieces of calls by index. A piece without an index belongs to the call with its id, else to
// the last one; another id under the same index, together with a name, begins another call.
func (s *streamReader) addCall(n *tree.Node, at wire.Place) {
	it, index := callOf(n), n.Get("index")
	key := index.Raw()
	if index.Null() && it.ID == "" && len(s.calls) > 0 {
		key, it.Name = s.calls[len(s.calls)-1].key, ""
	}
	id := ""
	if it.Name != "" || index.Null() {
		id = it.ID
	}
	p := findPiece(&s.calls, key, wire.Item{What: wire.Call, Type: it.Type, ArgsKnown: true, Place: at}, id)
	p.ID, p.Name = cmp.Or(p.ID, it.ID), cmp.Or(p.Name, it.Name)
	p.AddArgs(it.Args)
	if it.HasToken {
		p.Token, p.HasToken, p.TokenAt = it.Token, true, at
	}
}

// findPiece returns the last piece of a list with a key, and with an id unless the piece or the caller has none; else a new one.
func findPiece(list *[]*piece, key string, it wire.Item, id string) *piece {
	for _, p := range slices.Backward(*list) {
		if p.key == key && (id == "" || p.ID == "" || p.ID == id) {
			return p
		}
	}
	it.Role, it.TokenAt = "assistant", it.Place
	p := &piece{wire.NewGrowing(it), key}
	*list = append(*list, p)
	return p
}

// finishItems lists the items in the order of a message. The reply is whole if the model said why it stopped,
// or if the server said that it is done.
func (s *streamReader) finishItems() {
	if s.End == wire.Cut && (s.Stop != "" || s.isDone && len(s.Events) > 1) {
		s.End = wire.Complete
	}
	if len(s.details) > 0 {
		s.thoughts = nil
	}
	for _, p := range slices.Concat(s.details, s.thoughts, s.texts, s.calls) {
		it := p.ToItem()
		if it.Done = s.End == wire.Complete; it.Done && it.What == wire.Call && s.Stop != "length" {
			it.Args = wholeArguments(it.Args, it.Type)
		}
		if it.Type == "content" {
			thought, text := splitThought(it.Text)
			if it.Text = text; thought != "" {
				inTags := it
				inTags.What, inTags.Type, inTags.Text = wire.Thinking, thinkTag, thought
				s.Items = append(s.Items, inTags)
			}
		}
		if it.What != wire.Text || it.Text != "" {
			s.Items = append(s.Items, it)
		}
	}
}
