package check

import (
	"bytes"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

// eachKeptReply calls f for every answer with status 2xx to a request for an answer
// whose body was kept and that nobody cut on purpose.
func (s *Trace) eachKeptReply(f func(x *exchange)) {
	for _, x := range s.x {
		if x.req.Op == wire.Generate && x.wasAccepted() && x.Response.Body != nil && !x.isInjected() && !markedCut(x) && !s.wasInterrupted(x) {
			f(x)
		}
	}
}

var wholeReply = wire.Place{Event: -1}

func isBlank(body []byte) bool { return len(bytes.TrimSpace(body)) == 0 }

// suspectRecorder makes f a warning about the recording where its format cannot say how a
// reply ended: a recorder or a fixture may have lost what is missing.
func suspectRecorder(f *Finding, x *exchange) {
	if x.Response.End == "" {
		f.Message += "; the recording does not say how the reply ended, and its recorder may have lost the rest"
		f.Fix, f.Consequence = "Record the call again with a recorder that keeps the whole reply, such as ours.", specs.Degraded
	}
}

// replyEmpty: an answer with status 200 has a body.
func replyEmpty(s *Trace, r *report) {
	s.eachKeptReply(func(x *exchange) {
		r.addObserved(1)
		if isBlank(x.Response.Body) {
			suspectRecorder(r.addBare(x, wholeReply, "§4", "status %d with an empty body", x.Response.Status), x)
		}
	})
}

// replyHasEvent: a request for a stream is answered by at least one event that can be
// read, or by a document.
func replyHasEvent(s *Trace, r *report) {
	s.eachKeptReply(func(x *exchange) {
		if !x.req.WantsStream || isBlank(x.Response.Body) || x.reply.Doc != nil {
			return
		}
		r.addObserved(1)
		if x.reply.Form == wire.Document {
			return // a document that was cut
		}
		for _, e := range x.reply.Events {
			if e.JSON != nil {
				return
			}
		}
		r.addBare(x, wholeReply, "§1.4", "a stream was asked for, and the body of %d bytes holds no event that can be read: it begins with %q",
			len(x.Response.Body), cutText(string(x.Response.Body), 2*window))
	})
}

// replyDocumentWhole: a JSON document can be read to its end.
func replyDocumentWhole(s *Trace, r *report) {
	s.eachKeptReply(func(x *exchange) {
		if x.reply.Form != wire.Document {
			return
		}
		r.addObserved(1)
		if x.reply.Doc == nil {
			suspectRecorder(r.addBare(x, wire.Place{Event: -1, Off: len(x.Response.Body)}, "§1.4",
				"the JSON document of %d bytes is not whole, and the recording does not say that it was cut", len(x.Response.Body)), x)
		}
	})
}

// replyIsProviders: a document with status 200 is a reply of the provider.
func replyIsProviders(s *Trace, r *report) {
	s.eachKeptReply(func(x *exchange) {
		switch {
		case x.reply.Doc != nil && x.reply.Form == wire.Document:
			r.addObserved(1)
			if x.isErrorDocument() {
				r.addBare(x, wholeReply, "§4", "status %d with an error in place of a reply: %q", x.Response.Status, cutText(wordsOf(x), 200))
			} else if x.reply.End == wire.Cut {
				r.addBare(x, wholeReply, "§4", "status %d with a document that is not a reply of %s: it has no %s", x.Response.Status,
					x.wire.Vendor, x.wire.ReplyMember)
			}
		case x.reply.Form == wire.Array && x.wire.Ending.IsWholeArray == nil:
			r.addObserved(1)
			r.addBare(x, wholeReply, "§4", "status %d with an array, which is not a reply of %s", x.Response.Status, x.wire.Vendor)
		case !x.req.WantsStream && x.reply.Form == wire.Other && !isBlank(x.Response.Body):
			r.addObserved(1)
			r.addBare(x, wholeReply, "§4", "status %d with a body that is not JSON: it begins with %q", x.Response.Status, cutText(string(x.Response.Body), 2*window))
		}
	})
}

// wasInterrupted reports whether a reply that was cut seems to be the user's doing: the
// format of the recording cannot mark a cut, and the conversation goes on without
// the reply.
func (s *Trace) wasInterrupted(x *exchange) bool {
	if x.Response.End != "" || x.reply.End != wire.Cut && !isBlank(x.Response.Body) {
		return false
	}
	n := len(x.req.Msgs)
	for _, later := range s.x[x.n+1:] {
		if later.Provider != x.Provider || n == 0 || !later.asksForAnswer() || !startsWithMessages(later, x, n) {
			continue
		}
		return n == len(later.req.Msgs) || later.req.Msgs[n].Role != "assistant"
	}
	return false
}
