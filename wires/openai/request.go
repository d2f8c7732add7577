// Package openai is the wire of OpenAI's Responses API.
//
// [Wire] has its facts. The rest reads a request, checks it against the rules O-1 and following, and writes
// the reply byte for byte as api.openai.com writes it. The rules and the wire
// format are in specs/wire-rules.md, sections 1.2, 2.2, 3.2 and 5.2.
package openai

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// request is a whole request, read once for all rules; once recognised it is
// read-only.
type request struct {
	// key is the credential, "" without one; account is whose it is.
	key, account string
	// body is nil when it cannot be read; err says why.
	body *tree.Node
	err  error
	// sent is the body as it came.
	sent  []byte
	model *model
	// takes is what is known of the model, whether it is served or not.
	takes specs.Capability
	// known is whether the model is served.
	known bool
	// compacts says that the request asks for the conversation compacted.
	compacts bool
	// store is whether the provider is to keep the reply and may look up what
	// an item's id stands for.
	store bool
	items []item
	tools []clientTool
	// offers are the tools of the client, as the referee reads them.
	offers []wire.Tool
	// by is the key that the items were recognised with, if they were.
	by seal.Key
	// kept are the calls that the provider puts before the request, as far as a recording
	// shows; nil where it may not show all.
	kept map[string]bool
	// isKept is set where the provider puts a history before the request, isOwnModel is set where a recording shows that the model is the provider's.
	isOwnModel, isKept bool
	// isLogin is set for a request to the address that codex asks when it is logged in to ChatGPT.
	isLogin      bool
	tokensOpened bool
}

// item is one input item. typ is never empty.
type item struct {
	*tree.Node
	at     int // in the input
	typ    string
	id     string
	callID string
	// place is what the id says when it is ours, binding what the encrypted
	// content says when that is.
	place   place
	issued  bool
	binding binding
	ours    bool
}

func readRequest(r *http.Request, body []byte) *request {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	root, err := parseObject(body)
	q := newRequest(root, seal.Account(key))
	q.key, q.sent, q.err = key, body, err
	if r.URL.Path == compactPath {
		q.compacts, q.store = true, false
	}
	return q
}

// newRequest is what a body means, whether it keeps to the schema or not.
func newRequest(v *tree.Node, account string) *request {
	q := &request{body: v, account: account}
	q.store = (v.True("store") || !v.Get("store").Is(tree.Bool)) && account != accountZDR
	q.setModel(v.Text("model"))
	q.takes = specs.FindCapability("openai", q.model.id)
	q.items = itemsOf(v)
	q.tools = toolsOf(q)
	q.offers = offered("tools", v.List("tools"), false)
	for i := range q.items {
		q.offers = append(q.offers, addedBy(q.items[i].typ, q.items[i].path(), q.items[i].Node)...)
	}
	return q
}

// openTokens lets the items know what the holder of the key can tell.
func (q *request) openTokens(k seal.Key) {
	if q.tokensOpened && q.by == k {
		return
	}
	q.by, q.tokensOpened = k, true
	for i := range q.items {
		i, account := &q.items[i], q.account
		i.place, i.issued, i.binding, i.ours = place{}, false, binding{}, false
		if i.id != "" {
			i.place, i.issued = openID(k, i.id, account)
		}
		if token := i.Get("encrypted_content"); token.Is(tree.String) {
			i.binding, i.ours = openEncrypted(k, token.Text())
		}
	}
}

// promptModel is what a prompt that others have stored is taken to ask.
const promptModel = "gpt-5.2"

// setModel looks a model up. One that is not served can do everything, for the
// levels that let it through.
func (q *request) setModel(id string) {
	if id == "" && q.body.Has("prompt") {
		id = promptModel
	}
	if q.model = findModel(id); q.model != nil {
		q.known = true
		return
	}
	q.model = &model{id, modelLine{Family: id, Context: 1 << 30, Can: []string{canContext, canMode, canPhase}},
		allEfforts, "medium"}
}

func (q *request) effort() string { return q.body.Text("reasoning", "effort") }

func (q *request) thinks() bool { return q.model.thinks(q.effort()) }

// continuesStored says that the request goes on from something that is stored, so that
// its input need not hold everything. An input that holds the response it goes
// on from holds everything.
func (q *request) continuesStored(k seal.Key) bool {
	previous, ok := openID(k, q.body.Text("previous_response_id"), q.account)
	if ok && slices.ContainsFunc(q.items, func(i item) bool { return i.issued && i.place.reply == previous.reply }) {
		return false
	}
	if q.body.Has("previous_response_id") || q.body.Has("conversation") || q.body.Has("prompt") {
		return true
	}
	return slices.ContainsFunc(q.items, func(i item) bool { return i.typ == "item_reference" || i.typ == "compaction" })
}

func itemsOf(body *tree.Node) []item {
	input := body.Get("input")
	if input.Is(tree.String) {
		message := tree.NewObject([]string{"role", "content"}, tree.NewString("user"), input)
		return []item{{Node: message, typ: "message"}}
	}
	items := make([]item, 0, len(input.Items()))
	for i := range input.Items() {
		v := input.Items()[i]
		if !input.Is(tree.Array) || !v.Is(tree.Object) {
			continue
		}
		typ, _, _ := strings.Cut(typeOf("item", v), "/")
		it := item{Node: v, at: i, typ: typ, id: v.Text("id"), callID: v.Text("call_id")}
		items = append(items, it)
	}
	return items
}

// path leads to the item in the body.
func (i *item) path() string { return fmt.Sprintf("input[%d]", i.at) }

// isCall reports whether the item calls a function or a tool in plain text.
func (i *item) isCall() bool { return i.typ == "function_call" || i.typ == "custom_tool_call" }

// isResult reports whether the item answers such a call.
func (i *item) isResult() bool {
	return i.typ == "function_call_output" || i.typ == "custom_tool_call_output"
}

// label names a call or an output for people.
func (i *item) label() string {
	if i.isCall() {
		return strings.TrimSpace("tool call " + i.Text("name") + " " + i.callID)
	}
	return i.typ + " " + i.callID
}

// isModels reports whether a provider wrote the item.
func (i *item) isModels() bool {
	if i.typ == "message" {
		return i.Text("role") == "assistant"
	}
	isServerSearch := i.typ == "tool_search_output" && i.Text("execution") == "server"
	return i.typ == "reasoning" || isServerSearch || strings.HasSuffix(i.typ, "_call")
}

// prefixDigests returns for each item the digest of what stood before the reply it
// belongs to, and of everything: tools, the format of the answer, the input
// (rule OAI-B1).
func (q *request) prefixDigests() (each [][]byte, whole []byte) {
	h := sha256.New()
	writeCanonical(h, q.body.Get("tools"))
	writeCanonical(h, q.body.Get("text", "format"))
	each = make([][]byte, len(q.items))
	for i := range q.items {
		it := &q.items[i]
		if i > 0 && it.isModels() && q.items[i-1].isModels() {
			each[i] = each[i-1]
		} else {
			each[i] = h.Sum(nil)
		}
		it.writeDigest(h)
	}
	return each, h.Sum(nil)
}

// writeDigest writes the item; a text that is alone may stand with or without its
// part.
func (i *item) writeDigest(h hash.Hash) {
	content := i.Get("content")
	switch {
	case i.typ != "message":
		writeCanonical(h, i.Node)
		return
	case content.Is(tree.String):
		h.Write([]byte("\x00" + i.Text("role") + "\x00" + content.Text()))
		return
	}
	h.Write([]byte("\x00" + i.Text("role")))
	for n := range content.Items() {
		part := content.Items()[n]
		if len(part.Names()) == 2 && strings.HasSuffix(part.Text("type"), "put_text") {
			h.Write([]byte("\x00" + part.Text("text")))
			continue
		}
		writeCanonical(h, part)
	}
}

// writeCanonical writes v without regard to the order of its members and to white
// space.
func writeCanonical(h hash.Hash, v *tree.Node) {
	raw := jsontext.Value(v.Raw())
	_ = raw.Canonicalize() // what cannot be, a number out of range, stays as sent
	h.Write([]byte{0})
	h.Write(raw)
}

// maxDepth is how deep a request may be nested; a deeper one is refused.
const maxDepth = 200

var errObject = errors.New("not one object")

// parseObject reads a request body: one JSON object in UTF-8 and nothing after it.
func parseObject(body []byte) (*tree.Node, error) {
	root, err := tree.ParseStrict(body, maxDepth)
	switch {
	case errors.Is(err, tree.ErrTrailing):
		return nil, errObject
	case err != nil:
		return nil, err
	case !root.Is(tree.Object):
		return nil, errObject
	}
	return root, nil
}

// Provider is the script.Provider of OpenAI.
type Provider struct{}

// Request is a request that was read once: rules, script and reply look at the
// same reading. It is for one goroutine.
type Request struct{ q *request }

// Parse reads a request to POST /v1/responses. It never fails: what is wrong with
// it, Check says. The Request keeps hold of body, which must not change any more.
func Parse(r *http.Request, body []byte) Request { return Request{readRequest(r, body)} }

// Document is the body, nil when it is not JSON.
func (q Request) Document() *tree.Node { return q.q.body }

// Turn is what a script needs to know of a request that Check has accepted. Of
// others it refuses those without a key, a model or an input (rules O-1, O-3,
// O-5).
func (q Request) Turn() (script.Request, *script.Refusal) {
	switch in := q.q; {
	case in.key == "":
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "You didn't provide an API key."}
	case in.err != nil:
		return script.Request{}, script.Invalid("We could not parse the JSON body of your request: %v", in.err)
	case in.body.Text("model") == "" && !in.body.Has("prompt"):
		return script.Request{}, script.Invalid("Missing required parameter: 'model'.")
	}
	switch input, body := q.q.body.Get("input"), q.q.body; {
	case !body.Has("input") && (body.Has("prompt") || body.Has("conversation") || body.Has("previous_response_id")):
	case !body.Has("input"):
		return script.Request{}, script.Invalid("Missing required parameter: 'input'.")
	case !input.Is(tree.String | tree.Array):
		return script.Request{},
			script.Invalid("Invalid type for 'input': expected one of a string or array of objects, but got %s instead.", describeKind(input.Kind()))
	}
	return q.q.scriptRequest(), nil
}

func (q *request) scriptRequest() script.Request {
	in := q.body
	out := script.Request{
		Provider: "openai", Model: q.model.id, Account: q.account, Body: q.sent, Document: q.body, Parsed: q,
		Thinks: q.thinks(), Shown: in.Get("reasoning").Has("summary"),
		IssuesTokens: q.includesResult("reasoning.encrypted_content"),
	}
	own := make([]bool, len(q.items))
	for i := range q.items {
		own[i] = q.items[i].isModels()
		if q.items[i].Text("role") == "user" {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	if !in.True("stream") {
		out.Form = script.FormUnary
	}
	for _, t := range q.tools {
		out.Tools = append(out.Tools, t.name)
	}
	return out
}

// clientTool is what a call needs to know of a tool that the client runs.
type clientTool struct {
	name, namespace string
	custom          bool // takes a text
	search          bool // finds tools that are not listed
	// deferred is set for a tool that has to be searched for, found where a search has.
	deferred, found bool
}

// toolsOf are the tools that a request and its items bring along, in order, those
// of namespaces too. A tool of the provider has its name, or none.
func toolsOf(q *request) []clientTool {
	all := appendTools(nil, "", q.body.List("tools"))
	for i := range q.items {
		n := len(all)
		all = appendTools(all, "", q.items[i].List("tools"))
		for j := range all[n:] {
			all[n+j].found = q.items[i].typ == "tool_search_output"
		}
	}
	return all
}

func appendTools(all []clientTool, namespace string, tools []*tree.Node) []clientTool {
	for i := range tools {
		t := tools[i]
		name, kind := t.Text("name"), t.Text("type")
		switch {
		case kind == "namespace":
			all = appendTools(all, name, t.List("tools"))
		case kind == "tool_search" && t.Text("execution") == "client":
			all = append(all, clientTool{name: kind, search: true})
		default:
			all = append(all, clientTool{name: name, namespace: namespace, custom: kind == "custom",
				deferred: t.True("defer_loading")})
		}
	}
	return all
}

// clientTool is the first tool of a name.
func (q *request) clientTool(name string) clientTool {
	for _, t := range q.tools {
		if t.name == name {
			return t
		}
	}
	return clientTool{name: name}
}
