package wire

import (
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// Op is what a request asks for.
type Op int

// The operations. Only Generate and Stream carry a conversation to answer.
const (
	OtherOp Op = iota
	Generate
)

// Request is a request body as its provider reads it.
type Request struct {
	Op    Op
	Doc   *tree.Node // nil when the body is not JSON
	Model string
	// WantsStream is set when the caller asked for a stream.
	WantsStream bool
	// Stateful is set when the provider holds part of the conversation
	// (previous_response_id, conversation, cachedContent).
	Stateful bool
	System   *tree.Node
	Tools    *tree.Node
	// Declared are the tools of Tools, Added those that stand behind the start of the conversation.
	Declared, Added []Tool
	Choice          Choice
	Media           []Medium
	// Marks are the places that are marked for the cache, in the order in which they are read.
	Marks []CacheMark
	Msgs  []Msg // messages, input items or contents
	Items []Item
	// Pieces are the items before neighbouring texts were joined, nil where a wire joins none.
	Pieces []Item
}

// Msg is one message, input item or content as sent.
type Msg struct {
	Role string
	Node *tree.Node
	Path string
}

// Medium is one image or file whose bytes stand in a request, those inside tool results too.
type Medium struct {
	Place Place
	// Kind is image or file, as the provider calls it; MediaType is what the request says, Data base64.
	Kind, MediaType, Data string
}

// DataMedium reads the medium in a data URL, data:image/png;base64,…, which stands at a path below n; none of another
// URL.
func DataMedium(n *tree.Node, path, kind, url string) []Medium {
	form, data, _ := strings.Cut(url, ",")
	form, isData := strings.CutPrefix(form, "data:")
	mediaType, encoding, _ := strings.Cut(form, ";")
	if !isData || !strings.HasSuffix(encoding, "base64") {
		return nil
	}
	return []Medium{{Place: At(n, path), Kind: kind, MediaType: mediaType, Data: data}}
}

// CacheMark is a place up to which a prompt is cached.
type CacheMark struct {
	// At is the ordinal of the block in the whole request, Path leads to it.
	At   int
	Path string
	Mark *tree.Node
}

// Tool is one tool that a request offers the model.
type Tool struct {
	// Name stands behind the name of the tool's namespace: "files.read".
	Name string
	Node *tree.Node
	Path string
	// Schema describes the arguments.
	Schema     *tree.Node
	SchemaPath string
	// IsClients is set for a tool that the client runs, IsStrict for one whose schema is enforced, IsAdded
	// for one that stands behind the start of the conversation.
	IsClients, IsStrict, IsAdded bool
}

// Place is where the tool stands.
func (t *Tool) Place() Place { return Place{-1, t.Node.Offset(), t.Path} }

// Choice is what a request says about which tools are called.
type Choice struct {
	// Kind is auto, none, any or tool; empty where nothing is said.
	Kind string
	// Names are those of the tools that are named.
	Names []string
	Path  string
}

// MaxDepth is how deep a request may be nested that is decoded. Paths grow with the depth, so that a deeper one would cost
// a multiple of its size in memory.
const MaxDepth = 500

// ReadRequest decodes a request. It never fails: a body that is not JSON, or is nested deeper than MaxDepth, leaves Doc nil.
func ReadRequest(provider, method, rawURL string, body []byte) *Request {
	q := &Request{}
	u, _ := url.Parse(rawURL)
	if u == nil {
		u = &url.URL{}
	}
	q.Doc, _ = tree.ParseWithin(string(body), MaxDepth)
	q.Model = q.Doc.Text("model")
	q.WantsStream = q.Doc.True("stream") || q.Doc.Text("type") == "response.create" // a WebSocket message
	if d := decoderOf(provider); d != nil {
		d.ReadRequest(q, method, u)
	}
	return q
}

// SetOperation notes that the path asks for a reply, unless the method does not.
func (q *Request) SetOperation(method string, generates bool) {
	if generates && (method == http.MethodPost || method == "") {
		q.Op = Generate
	}
}

// Steps yields each stretch of the model's items together with the stretch of the client's items behind it. What
// stands before the first of the model's items is left out.
func (q *Request) Steps() iter.Seq2[[]Item, []Item] {
	return func(yield func(said, answer []Item) bool) {
		for i := 0; i < len(q.Items); {
			from := i
			for i < len(q.Items) && q.Items[i].Model() {
				i++
			}
			said, next := q.Items[from:i], i
			for i < len(q.Items) && !q.Items[i].Model() {
				i++
			}
			if len(said) > 0 && !yield(said, q.Items[next:i]) {
				return
			}
		}
	}
}

// AddItem adds an item of a message; n is where it stands.
func (q *Request) AddItem(it Item, role string, msg int, n *tree.Node, path string) {
	it.Role, it.Msg, it.Done = role, msg, true
	it.Place = Place{-1, n.Offset(), path}
	it.TokenAt = it.Place
	q.Items = append(q.Items, it)
}
