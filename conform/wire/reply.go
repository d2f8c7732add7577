package wire

import "bytes"

// End says how a reply ended.
type End int

// The endings. Cut means that the body stopped before the provider's terminal
// event; Failed that the provider reported an error after status 200; Refused
// that it answered with an error status; Absent that nothing came; Pending that
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

// The forms of a body. Document is one JSON document, Array is Gemini's stream without alt=sse (reference §1.3).
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
	Doc      *Node // a JSON body
	Items    []Item
	ID       string
	Model    string
	Stop     string // stop_reason, status or finishReason, "" if none came
	End      End
	// Err is the provider's error object, ErrAt where it stands.
	Err   *Node
	ErrAt Place

	bare   *Node // an error without framing, to be reported after the events
	bareAt int
}

// StreamEvent is one event of a stream. JSON is nil when the data are none.
type StreamEvent struct {
	Event
	JSON *Node
}

// Type returns the event's type as its JSON says it.
func (e StreamEvent) Type() string { return e.JSON.Get("type").Str() }

// Off returns the offset in the body of n, a value inside e.JSON.
func (e StreamEvent) offOf(n *Node) int {
	if n == nil {
		return e.DataOff
	}
	return e.DataOff + n.Off
}

// Usable reports whether a client may build on the reply.
func (r *Reply) Usable() bool { return r.End == Complete }

// ReadReply decodes a response body. It never fails: what cannot be decoded
// leaves its trace in Form, Events and End.
func ReadReply(provider string, status int, body []byte) *Reply {
	r := &Reply{}
	r.readBody(body)
	switch {
	case status == 0 && len(body) == 0:
		r.End = Absent
	case status >= 400 || status != 0 && status < 200:
		r.End, r.Err = Refused, errorOf(r.Doc)
	default:
		r.End = Cut
		readItems(provider, r)
		if r.bare != nil {
			r.setError(r.bare, Place{-1, r.bareAt, "error"})
		}
	}
	return r
}

func readItems(provider string, r *Reply) {
	switch provider {
	case "anthropic":
		readAnthropic(r)
	case "openai":
		readOpenAI(r)
	case "gemini":
		readGemini(r)
	}
}

// readBody splits the body by what it looks like, because a body that is not what
// its content type says is a finding, not a reason to give up.
func (r *Reply) readBody(body []byte) {
	trimmed := bytes.TrimLeft(body, " \t\r\n\xEF\xBB\xBF")
	switch {
	case len(trimmed) == 0:
	case trimmed[0] == '{':
		r.Form = Document
		r.Doc, _ = Parse(body)
	case trimmed[0] == '[':
		r.Form = Array
		r.readArray(body)
	case looksLikeSSE(trimmed):
		r.Form = SSE
		r.readSSE(body)
	}
}

func looksLikeSSE(body []byte) bool {
	for _, p := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(body, []byte(p)) {
			return true
		}
	}
	return false
}

func (r *Reply) readSSE(body []byte) {
	events, bad := readSSE(body)
	if len(bad) > 0 && r.bareError(body, bad[0]) {
		bad = nil
	}
	r.BadLines = bad
	r.Events = make([]StreamEvent, len(events))
	for i, e := range events {
		n, _ := Parse(e.Data)
		r.Events[i] = StreamEvent{e, n}
	}
}

// bareError reads an error document that ends a stream without the framing
// of an event, as Gemini sends it (reference §3.3).
func (r *Reply) bareError(body []byte, off int) bool {
	doc, err := Parse(body[off:])
	if err != nil || errorOf(doc).Null() {
		return false
	}
	r.bare, r.bareAt = errorOf(doc), off
	return true
}

func (r *Reply) readArray(body []byte) {
	elems, closed := parseArray(body)
	for _, n := range elems {
		r.Events = append(r.Events, StreamEvent{Event{Off: n.Off, End: n.Off + len(n.Raw), Data: n.Raw, HasData: true}, n})
	}
	if len(elems) > 0 && !closed {
		r.Events[len(elems)-1].Unterminated = true
	}
	if len(elems) == 1 {
		r.Doc = elems[0]
	}
}

// errorOf finds the provider's error object in a body.
func errorOf(doc *Node) *Node { return doc.Get("error") }

// setError notes an error the provider reported after it had begun.
func (r *Reply) setError(err *Node, at Place) {
	if r.End != Failed {
		r.End, r.Err, r.ErrAt = Failed, err, at
	}
}
