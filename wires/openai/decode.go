package openai

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// decoder reads for the referee.
type decoder struct{}

// TokenKey returns the token: every character counts.
func (decoder) TokenKey(token string) string { return token }

// ReadReply builds the reply of the Responses API. Items are addressed by output_index:
// item ids may rotate, indexes may skip. What output_item.done says is authoritative,
// deltas fill in for a cut stream.
func (decoder) ReadReply(r *wire.Reply) {
	if r.Form == wire.Document {
		resp, at := r.Doc, wire.Place{Event: -1, Off: 0}
		r.ID, r.Model = resp.Text("id"), resp.Text("model")
		for i, n := range resp.List("output") {
			it := readItemOf(n)
			it.Place = wire.Place{Event: at.Event, Off: at.Off + n.Offset(),
				Path: at.Path + "output[" + strconv.Itoa(i) + "]"}
			it.TokenAt = it.Place
			it.Role, it.Done = roleOf(it, n), n.Text("status") != "incomplete"
			r.Items = append(r.Items, it)
		}
		setEnd(r, r.Doc.Text("status"), r.Doc, wire.Place{Event: -1, Off: 0})
		return
	}
	o := replyReader{Reply: r, items: map[int]*wire.Growing{}}
	for i, e := range r.Events {
		o.readEvent(i, e)
	}
	o.finishItems()
}

// setEnd sets the ending a response object's status means. An incomplete
// response is a whole one: it says where it stopped and why.
func setEnd(r *wire.Reply, status string, resp *tree.Node, at wire.Place) {
	r.Stop = status
	switch status {
	case "completed", "incomplete":
		if r.End == wire.Cut {
			r.End = wire.Complete
		}
	case "failed", "cancelled":
		r.SetError(wire.ErrorOf(resp), at)
	case "queued", "in_progress":
		if at.Event < 0 {
			r.End = wire.Pending
		}
	default:
		if err := wire.ErrorOf(resp); !err.Null() {
			r.SetError(err, at)
		} else if resp.Get("output").Is(tree.Array) && r.End == wire.Cut {
			r.End = wire.Complete // older and compatible hosts send no status
		}
	}
}

type replyReader struct {
	*wire.Reply
	items map[int]*wire.Growing // by output_index
	final []*tree.Node          // output of the terminal event
	seen  []int                 // output indexes in order of appearance
}

func (o *replyReader) readEvent(i int, e wire.StreamEvent) {
	at := wire.Place{Event: i, Off: e.DataOff}
	switch t := e.Type(); t {
	case "response.created", "response.in_progress", "response.queued":
		o.ID, o.Model = e.JSON.Text("response", "id"), e.JSON.Text("response", "model")
	case "response.output_item.added", "response.output_item.done":
		o.readItem(e.JSON, at, t == "response.output_item.done")
	case "response.completed", "response.incomplete", "response.failed":
		resp := e.JSON.Get("response")
		o.final = resp.List("output")
		setEnd(o.Reply, t[len("response."):], resp, at)
	case "error", "response.error":
		o.SetError(errorNode(e.JSON), at)
	default:
		o.addDelta(t, e.JSON)
	}
}

// errorNode accepts the nested and the flat error event.
func errorNode(ev *tree.Node) *tree.Node {
	if n := wire.ErrorOf(ev); n.Is(tree.Object) {
		return n
	}
	return ev
}

func (o *replyReader) readItem(ev *tree.Node, at wire.Place, done bool) {
	idx := ev.Int("output_index")
	old := o.items[idx]
	it := readItemOf(ev.Get("item"))
	it.Place, it.TokenAt, it.Role, it.Done = at, at, "assistant", done
	if done && ev.Text("item", "status") == "incomplete" {
		it.Done = false
	}
	if old == nil {
		o.seen = append(o.seen, idx)
	} else if old.HasToken && old.Token != it.Token {
		it.DraftTokens = append(slices.Clip(old.DraftTokens), old.Token)
	}
	o.items[idx] = wire.NewGrowing(it)
}

func (o *replyReader) addDelta(t string, ev *tree.Node) {
	it := o.items[ev.Int("output_index")]
	if it == nil || it.Done {
		return
	}
	switch t {
	case "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it.AddText(ev.Text("delta"))
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		it.AddArgs(ev.Text("delta"))
	}
}

// finishItems lines the items up by output index and takes from the terminal event
// what only it has: another form of each token, and items without a done event.
func (o *replyReader) finishItems() {
	slices.Sort(o.seen)
	for _, idx := range o.seen {
		it := o.items[idx].ToItem()
		if idx >= 0 && idx < len(o.final) {
			addFinalForm(&it, o.final[idx])
		}
		o.Items = append(o.Items, it)
	}
	if len(o.seen) == 0 {
		for i, n := range o.final {
			it := readItemOf(n)
			it.Place = wire.Place{Event: len(o.Events) - 1, Off: o.Events[len(o.Events)-1].OffsetOf(n),
				Path: "response.output[" + strconv.Itoa(i) + "]"}
			it.TokenAt, it.Role, it.Done = it.Place, "assistant", true
			o.Items = append(o.Items, it)
		}
	}
}

func addFinalForm(it *wire.Item, final *tree.Node) {
	f := readItemOf(final)
	if f.Type != it.Type {
		return
	}
	if !it.Done && final.Text("status") != "incomplete" {
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

// readItemOf reads one output or input item. An item without a
// type is a message.
func readItemOf(n *tree.Node) wire.Item {
	it := wire.Item{Type: n.Text("type"), Node: n, Name: n.Text("name"), ItemID: n.Text("id")}
	switch it.Type {
	case "", "message":
		it.Type, it.What, it.Phase = "message", wire.Text, n.Text("phase")
		it.Text = joinTexts(n.Get("content"))
	case "reasoning":
		it.What = wire.Thinking
		it.Summary = textsOf(n.Get("summary"))
		it.Text = strings.Join(it.Summary, "\n")
		if enc := n.Get("encrypted_content"); enc.Is(tree.String) {
			it.SetToken(enc)
		}
	case "function_call", "custom_tool_call":
		it.What, it.ID, it.ArgsKnown = wire.Call, n.Text("call_id"), true
		it.Args = n.Any("arguments", "input").Text()
	case "function_call_output", "custom_tool_call_output":
		it.What, it.ID = wire.Result, n.Text("call_id")
	default:
		it.ID = n.Text("call_id")
	}
	return it
}

// joinTexts joins the texts of a message's parts.
func joinTexts(content *tree.Node) string {
	if content.Is(tree.String) {
		return content.Text()
	}
	return strings.Join(textsOf(content), "")
}

func textsOf(list *tree.Node) []string {
	var out []string
	for _, p := range list.List() {
		out = append(out, p.Any("text", "refusal").Text())
	}
	return out
}

// clientItems are the input items a client makes itself, apart from results
// and messages; everything else in an input came from the model.
var clientItems = map[string]bool{
	"computer_call_output": true, "local_shell_call_output": true, "shell_call_output": true,
	"apply_patch_call_output": true, "mcp_approval_response": true, "tool_search_output": true,
	"additional_tools": true, "configuration_update": true,
}

// ReadRequest reads the items of a request to the Responses API.
func (decoder) ReadRequest(q *wire.Request, method string, u *url.URL) {
	q.SetOperation(method, strings.HasSuffix(u.Path, "/responses"))
	q.System, q.Tools = q.Doc.Get("instructions"), q.Doc.Get("tools")
	q.Stateful = q.Doc.Has("previous_response_id") || q.Doc.Has("conversation")
	q.Declared, q.Choice = offered("tools", q.Tools.List(), false), choiceOf(q.Doc)
	input := q.Doc.Get("input")
	if input.Is(tree.String) {
		q.Msgs = append(q.Msgs, wire.Msg{Role: "user", Node: input, Path: "input"})
		q.AddItem(wire.Item{What: wire.Text, Type: "message", Text: input.Text(), Node: input}, "user", 0,
			input, "input")
	}
	for i, n := range input.List() {
		it := readItemOf(n)
		role := roleOf(it, n)
		path := "input[" + strconv.Itoa(i) + "]"
		q.Msgs = append(q.Msgs, wire.Msg{Role: role, Node: n, Path: path})
		q.AddItem(it, role, i, n, path)
		q.Media = append(append(q.Media, mediaOf(n.Get("content"), path+".content")...),
			mediaOf(n.Get("output"), path+".output")...)
		q.Added = append(q.Added, addedBy(it.Type, path, n)...)
	}
}

// mediaOf reads the data URLs of a content.
func mediaOf(content *tree.Node, path string) (list []wire.Medium) {
	for j, p := range content.List() {
		kind, field := mediumField(p)
		list = append(list, wire.DataMedium(p, path+"["+strconv.Itoa(j)+"]."+field, kind, p.Text(field))...)
	}
	return list
}

// mediumField returns what a part of a content is, and its member for the bytes.
func mediumField(part *tree.Node) (kind, field string) {
	if part.Text("type") == "input_file" {
		return "file", "file_data"
	}
	return "image", "image_url"
}

func roleOf(it wire.Item, n *tree.Node) string {
	switch {
	case it.Type == "message":
		return n.Text("role")
	case it.Type == "tool_search_output" && n.Text("execution") == "server":
		return "assistant" // the provider searched itself
	case it.What == wire.Result || clientItems[it.Type]:
		return "user"
	}
	return "assistant"
}
