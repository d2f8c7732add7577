package mutant

import (
	"encoding/json"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// editor is one request of the evidence, open for changes, with what is known
// of the conversation before it.
type editor struct {
	ev  *evidence.Evidence
	x   *evidence.Exchange
	n   int // ordinal of the exchange
	doc *tree.Node
	req *wire.Request
	// emitted holds ids, tokens and texts of the earlier replies of the provider.
	emitted map[string]bool
}

// changeRequest makes a mutant that changes the first request for which change
// returns true. Providers narrows it; none means all.
func changeRequest(change func(e *editor) bool, providers ...string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		emitted := map[string]map[string]bool{}
		for n := range ev.Exchanges {
			x := &ev.Exchanges[n]
			if emitted[x.Provider] == nil {
				emitted[x.Provider] = map[string]bool{}
			}
			e := openEditor(&ev, n, emitted[x.Provider])
			if (len(providers) == 0 || slices.Contains(providers, x.Provider)) && e.asksForAnswer() && change(e) {
				x.Request.Body = tree.Encode(e.doc)
				return ev, true
			}
			rememberReply(x, emitted[x.Provider])
		}
		return ev, false
	}
}

func openEditor(ev *evidence.Evidence, n int, emitted map[string]bool) *editor {
	x := &ev.Exchanges[n]
	q := wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body)
	return &editor{ev: ev, x: x, n: n, doc: q.Doc, req: q, emitted: emitted}
}

func (e *editor) asksForAnswer() bool { return e.req.Op == wire.Generate && e.doc != nil }

// rememberReply enters what a whole reply emitted.
func rememberReply(x *evidence.Exchange, emitted map[string]bool) {
	r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
	if !r.Usable() {
		return
	}
	for i := range r.Items {
		for _, s := range itemNames(x.Provider, &r.Items[i]) {
			emitted[s] = true
		}
		emitted[argumentsKey(&r.Items[i])] = true
	}
}

// argumentsKey names the arguments of a call, in whatever order their members stand.
func argumentsKey(it *wire.Item) string {
	var args any
	if err := json.Unmarshal([]byte(it.Args), &args); err != nil {
		return "arguments" + it.Args
	}
	sorted, _ := json.Marshal(args) //nolint:errchkjson // it was JSON a moment ago
	return "arguments" + string(sorted)
}

func itemNames(provider string, it *wire.Item) []string {
	var list []string
	for _, s := range []string{it.ID, it.ItemID, it.Text} {
		if s != "" {
			list = append(list, it.What.String()+s)
		}
	}
	if it.Token != "" {
		list = append(list, "token"+wire.TokenKey(provider, it.Token))
	}
	return list
}

// wasEmitted reports whether an earlier reply emitted the item.
func (e *editor) wasEmitted(it *wire.Item) bool {
	return it.Model() && slices.ContainsFunc(itemNames(e.x.Provider, it), func(s string) bool { return e.emitted[s] })
}

// eachItem calls f for every item until it returns true.
func (e *editor) eachItem(f func(i int, it *wire.Item) bool) bool {
	for i := range e.req.Items {
		if f(i, &e.req.Items[i]) {
			return true
		}
	}
	return false
}

// findItem returns the ordinal of the first item f accepts, -1 if there is none.
func (e *editor) findItem(f func(i int, it *wire.Item) bool) int {
	for i := range e.req.Items {
		if f(i, &e.req.Items[i]) {
			return i
		}
	}
	return -1
}

// turnStart returns the ordinal of the first item after the last prompt.
func (e *editor) turnStart() int {
	start := 0
	for i := range e.req.Items {
		if it := &e.req.Items[i]; !it.Model() && it.What != wire.Result {
			start = i + 1
		}
	}
	return start
}

// arrayOf returns the array that holds the item's node.
func (e *editor) arrayOf(it *wire.Item) *tree.Node {
	switch m := e.req.Msgs[it.Msg].Node; e.x.Provider {
	case evidence.Anthropic:
		return m.Get("content")
	case evidence.Gemini:
		return m.Get("parts")
	}
	return e.doc.Get("input")
}

// messageList returns the array of messages, items or contents.
func (e *editor) messageList() *tree.Node { return e.doc.Any("messages", "contents", "input") }

// arrayIndex returns the array that holds the item's node and the index there, -1
// for an item that is not one node of an array.
func (e *editor) arrayIndex(it *wire.Item) (*tree.Node, int) {
	list := e.arrayOf(it)
	if !list.Is(tree.Array) || it.Node == nil {
		return nil, -1
	}
	return list, slices.Index(list.Items(), it.Node)
}

// removeItem takes an item out, and its message if nothing else is in it.
func (e *editor) removeItem(it *wire.Item) bool {
	list, k := e.arrayIndex(it)
	if k < 0 {
		return false
	}
	list.SetItems(slices.Delete(list.Items(), k, k+1))
	if all := e.messageList(); len(list.Items()) == 0 && all != list {
		if m := slices.Index(all.Items(), e.req.Msgs[it.Msg].Node); m >= 0 {
			all.SetItems(slices.Delete(all.Items(), m, m+1))
		}
	}
	return true
}

// insertNode puts a node before (shift 0) or after (shift 1) an item.
func (e *editor) insertNode(it *wire.Item, shift int, n *tree.Node) bool {
	list, k := e.arrayIndex(it)
	if k < 0 {
		return false
	}
	list.SetItems(slices.Insert(list.Items(), k+shift, n))
	return true
}

// swapItems exchanges the nodes of two items.
func (e *editor) swapItems(a, b *wire.Item) bool {
	la, i := e.arrayIndex(a)
	lb, j := e.arrayIndex(b)
	if i < 0 || j < 0 {
		return false
	}
	la.Items()[i], lb.Items()[j] = lb.Items()[j], la.Items()[i]
	return true
}

// ownFields returns the object that holds an item's own fields: Gemini wraps them.
func ownFields(it *wire.Item) *tree.Node {
	if p := it.Node.Any("functionCall", "function_call", "functionResponse", "function_response"); p != nil {
		return p
	}
	return it.Node
}

// jsonString makes a JSON string.
func jsonString(s string) *tree.Node { return mustParse(string(tree.Quote(s))) }

// mustParse makes a node of JSON written in this package.
func mustParse(s string) *tree.Node {
	n, err := tree.Parse([]byte(s))
	if err != nil {
		panic("mutant: " + err.Error() + ": " + s)
	}
	return n
}

// copyOf makes a node that can be changed apart from n.
func copyOf(n *tree.Node) *tree.Node { return mustParse(string(tree.Encode(n))) }

// setMember replaces or adds a member.
func setMember(n *tree.Node, name string, v *tree.Node) bool {
	if !n.Is(tree.Object) {
		return false
	}
	if k := slices.Index(n.Names(), name); k >= 0 {
		n.Items()[k] = v
		return true
	}
	n.SetMembers(append(n.Names(), name), append(n.Items(), v))
	return true
}

// dropMember removes a member; false if there is none.
func dropMember(n *tree.Node, names ...string) bool {
	for _, name := range names {
		if n == nil {
			return false
		}
		if k := slices.Index(n.Names(), name); k >= 0 {
			n.SetMembers(slices.Delete(n.Names(), k, k+1), slices.Delete(n.Items(), k, k+1))
			return true
		}
	}
	return false
}

// rewriteMember replaces the first of the string members called names by f of it.
func rewriteMember(n *tree.Node, f func(string) string, names ...string) bool {
	for _, name := range names {
		if v := n.Get(name); v.Is(tree.String) {
			return setMember(n, name, jsonString(f(v.Text())))
		}
	}
	return false
}

// cutCharacter cuts the last character but one, so that padding stays.
func cutCharacter(s string) string {
	if len(s) < 8 {
		return s + "x"
	}
	return s[:len(s)-6] + s[len(s)-5:]
}

func appendDot(s string) string { return s + "." }
