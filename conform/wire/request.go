package wire

import (
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
	Msgs     []Msg // messages, input items or contents
	Items    []Item
}

// Msg is one message, input item or content as sent.
type Msg struct {
	Role string
	Node *tree.Node
	Path string
}

// ReadRequest decodes a request. It never fails: a body that is not JSON leaves
// Doc nil.
func ReadRequest(provider, method, rawURL string, body []byte) *Request {
	q := &Request{}
	u, _ := url.Parse(rawURL)
	if u == nil {
		u = &url.URL{}
	}
	q.Doc, _ = tree.Parse(body)
	q.Model = q.Doc.Get("model").Text()
	q.WantsStream = q.Doc.Get("stream").True() || q.Doc.Get("type").Text() == "response.create" // a WebSocket message
	switch provider {
	case "anthropic":
		q.setOperation(method, strings.HasSuffix(u.Path, "/messages") ||
			strings.HasSuffix(u.Path, "awPredict") || strings.HasSuffix(u.Path, "/invoke"))
		anthropicRequest(q)
	case "openai":
		q.setOperation(method, strings.HasSuffix(u.Path, "/responses"))
		openAIRequest(q)
	case "gemini":
		q.readGemini(method, u)
	}
	return q
}

func (q *Request) setOperation(method string, generates bool) {
	if generates && (method == http.MethodPost || method == "") {
		q.Op = Generate
	}
}

func (q *Request) readGemini(method string, u *url.URL) {
	name, verb, _ := strings.Cut(u.Path[strings.LastIndexByte(u.Path, '/')+1:], ":")
	if q.Model == "" {
		q.Model = name
	}
	q.setOperation(method, verb == "generateContent" || verb == "streamGenerateContent")
	q.WantsStream = verb == "streamGenerateContent"
	geminiRequest(q)
}

func (q *Request) addItem(it Item, role string, msg int, n *tree.Node, path string) {
	it.Role, it.Msg, it.Done = role, msg, true
	it.Place = Place{-1, n.Offset(), path}
	it.TokenAt = it.Place
	q.Items = append(q.Items, it)
}
