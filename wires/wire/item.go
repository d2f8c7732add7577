package wire

import (
	"iter"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// What is what an Item is, whatever its provider calls it.
type What int

// The kinds of items. Opaque is everything a client must carry without
// understanding it: server tools, citations results, compaction, code.
const (
	Opaque What = iota
	Text
	Thinking
	Redacted
	Call
	Result
	Media
)

// String names w for findings.
func (w What) String() string {
	return [...]string{"block", "text", "thinking", "redacted thinking", "tool call", "tool result", "media"}[w]
}

// Place says where something stands: Event is the ordinal of a stream event and
// Off a byte offset in the body, both -1 where they do not apply; Path leads
// there inside the JSON of the request, reply or event.
type Place struct {
	Event int
	Off   int
	Path  string
}

// At is the place of a value in a request or in a reply of one piece; of no value only the path is known.
func At(n *tree.Node, path string) Place {
	if n == nil {
		return Place{-1, -1, path}
	}
	return Place{-1, n.Offset(), path}
}

// Item is one block, item or part of a conversation, in a reply or in a
// request. A field its provider has no use for is empty.
type Item struct {
	What  What
	Type  string // the provider's own name for it
	Role  string // who said it: system, user, assistant
	Msg   int    // ordinal of the message, content or item that holds it
	Place Place
	// ID is a tool call's id, for a Result the id it answers. ItemID is
	// OpenAI's id of the item itself.
	ID, ItemID string
	Name       string // of the tool
	Text       string // text, or a thinking block's text
	// Args are a Call's argument bytes: OpenAI's exact string, elsewhere an
	// object's bytes. ArgsKnown is false when a stream gave them in pieces
	// that have no byte form.
	Args      string
	ArgsKnown bool
	// Token is what the provider wants back unchanged: signature, data,
	// encrypted_content or thoughtSignature. HasToken tells an empty token from none.
	Token    string
	HasToken bool
	TokenAt  Place
	// AlsoTokens are as good as Token (OpenAI encrypts again for the terminal
	// event); DraftTokens were replaced before the item was done (O-15).
	AlsoTokens, DraftTokens []string
	Summary                 []string     // the texts of OpenAI's summary parts
	Citations               []*tree.Node // of a text of Anthropic's, in order
	Phase                   string
	IsError                 bool
	// Done is false for an item whose stream ended before it did.
	Done bool
	// Node is the item as sent, where it was sent whole.
	Node *tree.Node
	// Start is the item as it was begun, where a stream gave the rest in pieces.
	Start *tree.Node
}

// Begun is the item as sent, or as it was begun where a stream gave the rest in pieces.
func (it *Item) Begun() *tree.Node {
	if it.Node != nil {
		return it.Node
	}
	return it.Start
}

// Model reports whether the model made the item: what a client replays, as
// opposed to what it adds.
func (it *Item) Model() bool { return it.Role == "assistant" }

// Continuity reports whether the item is or carries the model's hidden state.
func (it *Item) Continuity() bool { return it.What == Thinking || it.What == Redacted }

// Growing is an Item that deltas still add to. Text is collected in buffers,
// because a string grown piece by piece costs the square of its length.
type Growing struct {
	Item
	text, args []byte
}

// NewGrowing begins with what the item has.
func NewGrowing(it Item) *Growing { return &Growing{it, []byte(it.Text), []byte(it.Args)} }

// AddText adds a piece of the text.
func (g *Growing) AddText(piece string) { g.text = append(g.text, piece...) }

// AddArgs adds a piece of a call's arguments.
func (g *Growing) AddArgs(piece string) { g.args = append(g.args, piece...) }

// HasArgs reports whether any arguments have come.
func (g *Growing) HasArgs() bool { return len(g.args) > 0 }

// ToItem returns the item with all that was added.
func (g *Growing) ToItem() Item {
	g.Text, g.Args = string(g.text), string(g.args)
	return g.Item
}

// SetToken notes what the provider wants back unchanged; an absent value is no token.
func (it *Item) SetToken(n *tree.Node) { it.Token, it.HasToken = n.Text(), n != nil }

// Under returns the place of a field of the item.
func (it *Item) Under(field string) Place {
	at := it.Place
	at.Path += "." + field
	if n := it.Node.Get(field); n != nil {
		at.Off += n.Offset() - it.Node.Offset()
	}
	return at
}

// Answers reports whether a result answers a call.
func (it *Item) Answers(call *Item) bool {
	if it.ID != "" && call.ID != "" {
		return it.ID == call.ID
	}
	return it.Name == call.Name && it.Name != ""
}

// Label names a call or a result for findings, by its tool and its id.
func (it *Item) Label() string { return strings.TrimSpace(it.Name + " " + it.ID) }

// OfKind returns the items of one kind.
func OfKind(items []Item, w What) (list []*Item) {
	for it := range Each(items) {
		if it.What == w {
			list = append(list, it)
		}
	}
	return list
}

// Each yields the items in order.
func Each(items []Item) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for i := range items {
			if !yield(&items[i]) {
				return
			}
		}
	}
}

// IsMarkedError reports whether a result has its format's mark of a failure: is_error, or
// Gemini's member error, which its documentation suggests.
func (it *Item) IsMarkedError() bool {
	failure := it.Node.Any("functionResponse", "function_response").Get("response", "error")
	return it.IsError || !failure.Null() && !failure.False()
}

// Held is what a result holds, without the names, ids and marks around it.
func (it *Item) Held() *tree.Node {
	n := it.Node
	if wrapped := n.Any("functionResponse", "function_response"); wrapped != nil {
		n = wrapped
	}
	return n.Any("content", "output", "response")
}

// Words are what a result says, without the names and ids around it.
func (it *Item) Words() string { return wordsBelow(it.Held()) }

// wordsBelow joins the strings of a result, without the types and names beside them and
// without files.
func wordsBelow(n *tree.Node) string {
	if n.Is(tree.String) || n == nil {
		return n.Text()
	}
	var list []string
	for i, v := range n.Items() {
		if n.Is(tree.Object) && slices.Contains(besideWords, n.Names()[i]) {
			continue
		}
		if words := wordsBelow(v); words != "" {
			list = append(list, words)
		}
	}
	return strings.Join(list, " ")
}

// besideWords are the members of a result and of its parts that hold no words of a tool.
var besideWords = []string{"type", "name", "cache_control", "source", "image_url", "file_id", "file_data", "file_url",
	"inlineData", "inline_data", "fileData"}
