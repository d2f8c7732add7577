package mutate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// chat is the wire of Chat Completions.
const chat = "chat"

// form says where a provider's requests keep what the tables name without a provider.
type form struct {
	turns, parts, credential string
	// paths are the places that tables name :NAME; "NAME of KIND" is that of one kind of items.
	paths map[string]string
	// says makes a turn of the user and of the model.
	says map[string]string
}

// formOf returns the form of a provider's requests.
func formOf(provider string) form {
	return map[string]form{
		evidence.Anthropic: {"messages", "content", "X-Api-Key", map[string]string{
			"turns": "/messages", "tools": "/tools", "system": "/system", "config": "/", "token": "signature|data",
			"args": "input", "result": "content", "id": "tool_use_id|id", "name": "name",
		}, map[string]string{
			"":     `{"role":"ROLE","content":[{"type":"text","text":TEXT}]}`,
			"part": `{"type":"text","text":TEXT}`,
		}},
		evidence.OpenAI: {"input", "content", "Authorization", map[string]string{
			"turns": "/input", "tools": "/tools", "system": "/instructions", "config": "/",
			"token": "encrypted_content",
			"args":  "arguments|input", "result": "output", "id": "call_id", "name": "name",
		}, map[string]string{
			"":          `{"role":"ROLE","content":TEXT}`,
			"assistant": `{"type":"message","role":"assistant","content":[{"type":"output_text","text":TEXT}]}`,
		}},
		evidence.Gemini: {"contents", "parts", "X-Goog-Api-Key", map[string]string{
			"turns": "/contents", "tools": "/tools[0].functionDeclarations|function_declarations",
			"system": "/systemInstruction|system_instruction", "config": "/generationConfig|generation_config",
			"token": "thoughtSignature|thought_signature",
			"args":  "%args", "result": "%response", "id": "%id", "name": "%name",
		}, map[string]string{
			"":          `{"role":"user","parts":[{"text":TEXT}]}`,
			"assistant": `{"role":"model","parts":[{"text":TEXT}]}`,
			"part":      `{"text":TEXT}`,
		}},
		chat: {"messages", "content", "Authorization", map[string]string{
			"turns": "/messages", "tools": "/tools", "config": "/",
			"token": "signature|data", "token of call": "extra_content.google.thought_signature",
			"args": "%arguments|input", "result": "content", "id": "tool_call_id|id", "name": "%name",
		}, map[string]string{
			"":     `{"role":"ROLE","content":TEXT}`,
			"part": `{"type":"text","text":TEXT}`,
		}},
	}[provider]
}

// turnText returns the JSON of a turn in which role says text.
func (f form) turnText(role, text string) string {
	layout := f.says[role]
	if layout == "" {
		layout = f.says[""]
	}
	return strings.NewReplacer("ROLE", role, "TEXT", string(tree.Quote(text))).Replace(layout)
}

// item is one block, part or item of a request, whatever its provider calls it.
type item struct {
	// kind is text, thinking, hidden, call, result, media or other.
	kind, role string
	// spot is where it stands: in an array, or as the content of its turn.
	spot
	node *tree.Node
	// turn is the ordinal of the message, content or input item that holds it, inTurn its
	// ordinal there.
	turn, inTurn int
	id, itemID   string
	name, text   string
	token        string
	path         string
}

// ownFields returns the object that holds the members of a call, a result or a tool: Gemini and Chat Completions
// wrap it.
func ownFields(n *tree.Node) *tree.Node {
	if inner := n.Any("functionCall", "function_call", "functionResponse", "function_response", "function", "custom"); inner != nil {
		return inner
	}
	return n
}

// ownMembers returns the object that holds what an item says of itself: Chat Completions wraps a tool.
func (it *item) ownMembers(provider string) *tree.Node {
	if provider == chat && (it.kind == "tool" || it.kind == "slot") {
		return ownFields(it.node)
	}
	return it.node
}

// readItems lists the items of a request in order, as the decoder of its wire reads them. A message that holds parts
// is an item for each part.
func readItems(q *wire.Request) (list []*item) {
	sent := q.Items
	if q.Pieces != nil {
		sent = q.Pieces
	}
	for was := range wire.Each(sent) {
		it := &item{
			kind: kindOfWire(was), role: was.Role, spot: rootSpot(q.Doc).followPath(was.Place.Path), node: was.Node,
			turn: was.Msg,
			id:   was.ID, itemID: was.ItemID, name: was.Name, text: was.Text, token: was.Token, path: was.Place.Path,
		}
		switch hidden := it.node.Get("encrypted_content"); {
		case it.kind == "call" || it.kind == "result" || it.kind == "media":
			it.text = ""
		case it.kind == "other" && it.node.Text("type") == "compaction" && hidden != nil:
			it.kind, it.token, it.text = "hidden", hidden.Text(), ""
		case was.Summary != nil:
			it.text = was.Summary[0]
		case it.node.Is(tree.String) &&
			it.node.Text() != it.text: // two items in one text, which no step can tell apart
			it.kind, it.text = "other", ""
		}
		parts := []*item{it}
		if content := memberOf(it.node, "content"); it.kind == "text" && content.findNode() != nil {
			parts = partsOf(*it, content)
		}
		for _, it := range parts {
			if k := len(list) - 1; k >= 0 && list[k].turn == it.turn {
				it.inTurn = list[k].inTurn + 1
			}
			list = append(list, it)
		}
	}
	return list
}

// partsOf lists what the content of a message holds.
func partsOf(message item, content spot) (list []*item) {
	if content.findNode().Is(tree.String) {
		message.spot, message.node, message.path = content, content.findNode(), message.path+".content"
		return []*item{&message}
	}
	for i, n := range content.findNode().List() {
		it := message
		it.spot, it.node, it.text = spot{content.findNode(), i, ""}, n, n.Text("text")
		switch it.path += fmt.Sprintf(".content[%d]", i); n.Text("type") {
		case "text", "input_text", "output_text":
		case "input_image", "input_file":
			it.kind = "media"
		default:
			it.kind = "other"
		}
		list = append(list, &it)
	}
	return list
}

// textSpot returns where an item keeps its words.
func textSpot(it *item) spot {
	switch {
	case it.node.Is(tree.String):
		return it.spot
	case it.node.Get("summary").Is(tree.Array):
		return rootSpot(it.node).followPath("summary[0].text")
	case it.node.Text("type") == "thinking":
		return memberOf(it.node, "thinking")
	}
	return memberOf(it.node, "text", "summary")
}

// page is one exchange, open for change.
type page struct {
	ev       *evidence.Evidence
	n        int // ordinal of the exchange
	provider string
	doc      *tree.Node // of the request, nil for a body that is not JSON
	req      *wire.Request
	items    []*item
	// emitted holds ids, tokens, texts and arguments of the replies before.
	emitted map[string]bool
}

func openPage(ev *evidence.Evidence, n int, emitted map[string]bool) *page {
	x := &ev.Exchanges[n]
	q := x.ReadRequest()
	return &page{ev: ev, n: n, provider: x.Provider, doc: q.Doc, req: q, items: readItems(q), emitted: emitted}
}

func (p *page) theExchange() *evidence.Exchange { return &p.ev.Exchanges[p.n] }

func (p *page) isGeneration() bool { return p.req.Op == wire.Generate && p.doc != nil }

// commitPage makes the page the request of its exchange.
func (p *page) commitPage() {
	if p.doc != nil {
		p.theExchange().Request.Body = encodeTree(p.doc)
	}
}

// kindOfWire is the kind of an item that a reply holds.
func kindOfWire(it *wire.Item) string {
	return [...]string{"other", "text", "thinking", "hidden", "call", "result", "media"}[it.What]
}

// rememberReply enters what a whole reply emitted.
func rememberReply(x *evidence.Exchange, emitted map[string]bool) {
	r := x.ReadReply()
	if !r.Usable() {
		return
	}
	for i := range r.Items {
		it := &r.Items[i]
		for _, s := range emittedNames(x.Provider, kindOfWire(it), it.Token, it.ID, it.ItemID, it.Text) {
			emitted[s] = true
		}
		emitted[argumentsKey(it.Args)] = true
	}
}

func emittedNames(provider, kind, token string, names ...string) (list []string) {
	for _, s := range names {
		if s != "" {
			list = append(list, kind+s)
		}
	}
	if token != "" {
		list = append(list, "token"+wire.TokenKey(provider, token))
	}
	return list
}

// wasEmitted reports whether an earlier reply emitted the item.
func (p *page) wasEmitted(it *item) bool {
	return p.isModels(it) && slices.ContainsFunc(emittedNames(p.provider, it.kind, it.token, it.id, it.itemID, it.text),
		func(s string) bool { return p.emitted[s] })
}

// argumentsKey names the arguments of a call, in whatever order their members stand.
func argumentsKey(text string) string {
	var args any
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return "arguments" + text
	}
	sorted, _ := json.Marshal(args) //nolint:errchkjson // it was JSON a moment ago
	return "arguments" + string(sorted)
}

// cloneEvidence copies what is changed; bodies are replaced whole, never written to.
func cloneEvidence(ev evidence.Evidence) evidence.Evidence {
	ev.Exchanges = slices.Clone(ev.Exchanges)
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		x.Request.Header, x.Response.Header = x.Request.Header.Clone(), x.Response.Header.Clone()
	}
	ev.Process = slices.Clone(ev.Process)
	return ev
}

func jsonResponse(status int, body string) evidence.Response {
	return evidence.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(body), End: "eof"}
}
