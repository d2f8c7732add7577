package wire

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// End says how a reply ended.
type End int

// The endings. Cut means that the body stopped before the provider's terminal
// event; Failed that the provider reported an error after status 200; Refused
// that it answered with an error status, or with nothing but an error; Absent that nothing came; Pending that
// the provider still works on it (OpenAI's background mode).
const (
	Absent End = iota
	Refused
	Pending
	Cut
	Failed
	Complete
)

// String names e for findings.
func (e End) String() string {
	return [...]string{"absent", "refused", "pending", "cut", "failed", "complete"}[e]
}

// replyForm says how a reply's body is built.
type replyForm int

// The forms of a body. Document is one JSON document, Array is Gemini's stream without alt=sse.
const (
	Other replyForm = iota
	Document
	SSE
	Array
)

// Reply is a response as its provider meant it.
type Reply struct {
	Form   replyForm
	Events []StreamEvent // of a stream, in order
	// BadLines are offsets of lines that are not SSE.
	BadLines []int
	Doc      *tree.Node // a JSON body
	Items    []Item
	ID       string
	Model    string
	Stop     string // stop_reason, status or finishReason, "" if none came
	End      End
	// Err is the provider's error object, ErrAt where it stands.
	Err   *tree.Node
	ErrAt Place

	bare   *tree.Node // an error without framing, to be reported after the events
	bareAt int
}

// StreamEvent is one event of a stream. JSON is nil when the data are none.
type StreamEvent struct {
	tree.Event
	JSON *tree.Node
}

// Type returns the event's type as its JSON says it.
func (e StreamEvent) Type() string { return e.JSON.Text("type") }

// OffsetOf returns the offset in the body of n, a value inside e.JSON.
func (e StreamEvent) OffsetOf(n *tree.Node) int {
	if n == nil {
		return e.DataOff
	}
	return e.DataOff + n.Offset()
}

// Usable reports whether a client may build on the reply.
func (r *Reply) Usable() bool { return r.End == Complete }

// ReadReply decodes a response body. It never fails: what cannot be decoded
// leaves its trace in Form, Events and End.
func ReadReply(provider string, status int, body []byte) *Reply {
	r := &Reply{}
	r.readBody(string(body))
	switch {
	case status == 0 && len(body) == 0:
		r.End = Absent
	case status >= 400 || status != 0 && status < 200:
		r.End, r.Err = Refused, ErrorOf(r.Doc)
	default:
		r.End = Cut
		if d := decoderOf(provider); d != nil {
			d.ReadReply(r)
		}
		if r.bare != nil {
			r.SetError(r.bare, Place{-1, r.bareAt, "error"})
		}
	}
	return r
}

// readBody splits the body by what it looks like, because a body that is not what
// its content type says is a finding, not a reason to give up.
func (r *Reply) readBody(body string) {
	trimmed := strings.TrimLeft(body, " \t\r\n\xEF\xBB\xBF")
	switch {
	case len(trimmed) == 0:
	case trimmed[0] == '{':
		r.Form = Document
		r.Doc, _ = tree.Parse(body)
	case trimmed[0] == '[':
		r.Form = Array
		elems, closed := tree.ParseElements(body)
		for _, n := range elems {
			r.Events = append(r.Events, StreamEvent{tree.Event{Off: n.Offset(), End: n.Offset() + len(n.Raw()),
				Data: n.Raw(), HasData: true}, n})
		}
		if len(elems) > 0 && !closed {
			r.Events[len(elems)-1].Unterminated = true
		}
		if len(elems) == 1 {
			r.Doc = elems[0]
		}
	case looksLikeSSE(trimmed):
		r.Form = SSE
		events, bad := tree.ReadSSE(body)
		if len(bad) > 0 && r.bareError(body, bad[0]) {
			bad = nil
		}
		r.BadLines = bad
		r.Events = make([]StreamEvent, len(events))
		for i, e := range events {
			n, _ := tree.Parse(e.Data)
			r.Events[i] = StreamEvent{e, n}
		}
	}
}

func looksLikeSSE(body string) bool {
	for _, p := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if strings.HasPrefix(body, p) {
			return true
		}
	}
	return false
}

// bareError reads an error document that ends a stream without the framing
// of an event, as Gemini sends it.
func (r *Reply) bareError(body string, off int) bool {
	doc, err := tree.Parse(body[off:])
	if err != nil || ErrorOf(doc).Null() {
		return false
	}
	r.bare, r.bareAt = ErrorOf(doc), off
	return true
}

// ErrorOf finds the provider's error object in a body.
func ErrorOf(doc *tree.Node) *tree.Node { return doc.Get("error") }

// SetError notes an error the provider reported after it had begun.
func (r *Reply) SetError(err *tree.Node, at Place) {
	if r.End != Failed {
		r.End, r.Err, r.ErrAt = Failed, err, at
	}
}

// ErrorText returns what an error says, in the members of providers or of gateways; empty if it says nothing.
func (r *Reply) ErrorText() string {
	for _, n := range []*tree.Node{r.Err.Any("message", "status_msg"), r.Doc.Get("message"), r.Err, r.Doc.Get("detail"),
		r.Doc.Get("title")} {
		if s := n.Text(); s != "" {
			return s
		}
	}
	return ""
}
