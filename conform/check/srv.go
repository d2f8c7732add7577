package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// serverToolRules judge what the provider's own tools leave in a conversation (R52).
var serverToolRules = map[string]rule{
	"SRV-001/call-kept":      serverCallKept,
	"SRV-001/answered":       serverCallAnswered,
	"SRV-001/code-kept":      codeKept,
	"SRV-002/container":      containerNamed,
	"SRV-003/caller":         callerKept,
	"SRV-004/results-alone":  resultsAlone,
	"SRV-005/goes-on":        pauseGoesOn,
	"SRV-005/not-the-end":    pauseIsNoEnd,
	"SRV-006/asked":          approvalWasAsked,
	"SRV-007/citations-kept": citationsKept,
	"SRV-008/results":        serverResultsSent,
	"SRV-008/citations":      citationsSent,
}

// serverCallKept: a result of the provider's tool stands after the call that it answers
// (ANT-S1).
func serverCallKept(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.wire.Has(wires.ServerTools) {
			return
		}
		called := map[string]bool{}
		for it := range wire.Each(x.req.Items) {
			id := it.Node.Text("tool_use_id")
			if isServerCall(it) {
				called[it.ItemID] = true
			}
			if it.What != wire.Opaque || !it.Model() || id == "" || strings.Contains(id, "REDACTED") {
				continue
			}
			r.addObserved(1)
			if !called[id] {
				r.addFinding(x, it.Place, "ANT-S1",
					"%s answers %s, and no call of the provider's tool before it has that id", it.Type, cutText(id, 64))
			}
		}
	})
}

// isServerCall reports whether the provider runs the tool that the item calls.
func isServerCall(it *wire.Item) bool {
	return it.Type == "server_tool_use" || it.Type == "mcp_tool_use"
}

// serverCallAnswered: where the user speaks again, every call of the provider's tool has its
// result (ANT-S1). A paused turn goes on with nothing behind the open call, and beside a call
// of the client the result may come later. A result that came and was lost is SIG-021's.
func serverCallAnswered(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		answered, issued := serverResults(x.req.Items), x.issuedServerResults()
		for said, answer := range x.req.Steps() {
			isUser := func(it wire.Item) bool { return it.Role == "user" }
			if !x.wire.Has(wires.ServerTools) || len(wire.OfKind(said, wire.Call)) > 0 ||
				!slices.ContainsFunc(answer, isUser) {
				continue
			}
			for it := range wire.Each(said) {
				if !isServerCall(it) || strings.Contains(it.ItemID, "REDACTED") {
					continue
				}
				r.addObserved(1)
				if answered[it.ItemID] || issued[it.ItemID] {
					continue
				}
				f := r.addFinding(x, it.Place, "ANT-S1", "%s %s has no result, and the user speaks behind it", it.Type,
					cutText(it.ItemID, 64))
				if it.Type == "mcp_tool_use" {
					f.Consequence = specs.Degraded // no report of a refusal is about a connector
				}
			}
		}
	})
}

// codeKept: Gemini's outcome of a program stands after the program, and what its server
// tool answered after the call.
func codeKept(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.wire.Has(wires.ServerParts) {
			return
		}
		programs, called := 0, map[string]bool{}
		for it := range wire.Each(x.req.Items) {
			part := it.Node
			if part.Any("executableCode", "executable_code") != nil {
				programs++
			}
			if call := part.Any("toolCall", "tool_call"); call != nil {
				called[call.Text("id")] = true
			}
			switch outcome, answer := part.Any("codeExecutionResult", "code_execution_result"),
				part.Any("toolResponse", "tool_response"); {
			case outcome != nil:
				r.addObserved(1)
				if programs--; programs < 0 {
					r.addFinding(x, it.Place, "", "the outcome of a program stands without the program")
				}
			case answer != nil:
				r.addObserved(1)
				if id := answer.Text("id"); !called[id] {
					r.addFinding(x, it.Place, "", "the answer %s of the provider's tool stands without its call",
						cutText(id, 64))
				}
			}
		}
	})
}

// isProgrammatic reports whether a program in the provider's container made a call.
func isProgrammatic(it *wire.Item) bool {
	caller := it.Begun().Text("caller", "type")
	return it.What == wire.Call && caller != "" && caller != "direct"
}

// containerNamed: while a program in a container waits for a result, the next request
// names the container.
func containerNamed(s *Trace, r *report) {
	for _, l := range s.links {
		id := containerOf(l.from)
		if !l.to.wire.Has(wires.ServerTools) || id == "" || strings.Contains(id, "REDACTED") || !l.latest() ||
			!waitsInContainer(l.from) {
			continue
		}
		r.addObserved(1)
		container, at := l.to.member("container")
		named := container.Text() + container.Text("id")
		if named != id {
			r.addFinding(l.to, at, "R52", "a program waits in the container %s, and the request names %s (%s)",
				cutText(id, 64), nameOrNone(named), emittedAt(l.from, wire.Place{Event: -1, Off: 0})).
				Emitted = emissionAt(l.from, wire.Place{Event: -1, Off: 0})
		}
	}
}

func nameOrNone(name string) string {
	if name == "" {
		return "none"
	}
	return cutText(name, 64)
}

// containerOf is the id of the container that the reply used, "" for none.
func containerOf(x *exchange) string {
	id := x.reply.Doc.Text("container", "id")
	for _, e := range x.reply.Events {
		for _, n := range []*tree.Node{e.JSON.Get("message"), e.JSON.Get("delta")} {
			if got := n.Text("container", "id"); got != "" {
				id = got
			}
		}
	}
	return id
}

// waitsInContainer reports whether the reply ends with a call that a program made, or
// with a program whose result is still to come.
func waitsInContainer(x *exchange) bool {
	answered := serverResults(x.reply.Items)
	for it := range wire.Each(x.reply.Items) {
		if isProgrammatic(it) || it.Type == "server_tool_use" &&
			strings.Contains(it.Begun().Text("name"), "code_execution") && !answered[it.ItemID] {
			return true
		}
	}
	return false
}

// callerKept: a call says who made it, and keeps saying so.
func callerKept(s *Trace, r *report) {
	s.eachPair("", wire.Call, func(l *link, _ pair, was, is *wire.Item) {
		if !l.to.wire.Has(wires.NamesCallers) || !isProgrammatic(was) {
			return
		}
		r.addObserved(1)
		issued, sent := was.Begun().Get("caller"), is.Node.Get("caller")
		if sent == nil || !tree.Equal(issued, sent) {
			f := r.addChange(l, is.Place, was.Place, "", "tool call %s was made by %s and is sent back with %s",
				is.Label(), cutText(issued.Raw(), 100), callerOrNone(sent))
			compareIn(f, issued.Raw(), callerOrNone(sent), outlineContext)
		}
	})
}

func callerOrNone(caller *tree.Node) string {
	if caller == nil {
		return "no caller"
	}
	return "the caller " + cutText(caller.Raw(), 100)
}

// resultsAlone: what answers a program's calls is results and nothing else.
func resultsAlone(s *Trace, r *report) {
	s.eachStep(func(x *exchange, said, answer []wire.Item) {
		if !x.wire.Has(wires.ServerTools) || len(answer) == 0 ||
			!slices.ContainsFunc(wire.OfKind(said, wire.Call), isProgrammatic) {
			return
		}
		r.addObserved(1)
		for it := range wire.Each(answer) {
			if it.What != wire.Result && it.Msg == answer[0].Msg {
				r.addFinding(x, it.Place, "", "a %s stands among the results of calls that a program made", it.What)
				return
			}
		}
	})
}

const pausedTurn = "pause_turn"

// pauseGoesOn: a turn that paused is sent back, so that the model goes on. The request
// before it, sent again, begins the work anew.
func pauseGoesOn(s *Trace, r *report) {
	for _, x := range s.x {
		if x.reply.Stop != pausedTurn || !x.asksForAnswer() {
			continue
		}
		for _, later := range s.x[x.n+1:] {
			if len(later.req.Msgs) == 0 || later.Provider != x.Provider || later.Process != x.Process ||
				!later.asksForAnswer() {
				continue
			}
			if isAncestor(x, later) {
				r.addObserved(1)
				break
			}
			if !s.goesOnBeside(x, later) && !later.answersTwin(x) && startsWithMessages(later, x, len(x.req.Msgs)) {
				r.addObserved(1)
				at := later.req.Msgs[len(later.req.Msgs)-1]
				r.addFinding(later, wire.Place{Event: -1, Off: at.Node.Offset(), Path: at.Path}, "ANT-S2",
					"the turn of exchange %d paused, and the conversation goes on without what it said", x.Index)
				break
			}
		}
	}
}

// answersTwin reports whether the request goes on with another reply to the request of x:
// that of a session that was asked the same.
func (x *exchange) answersTwin(of *exchange) bool {
	return slices.ContainsFunc(x.replays, func(l *link) bool { return l.from != of && l.from.sameRequest(of) })
}

// pauseIsNoEnd: a process that ends on a pause has no answer.
func pauseIsNoEnd(s *Trace, r *report) {
	for n := range s.ev.Process {
		var last *exchange
		paused := false
		for _, x := range s.x {
			if x.Process == n && x.asksForAnswer() {
				last, paused = x, paused || x.reply.Stop == pausedTurn
			}
		}
		if !paused || s.ev.Process[n].ExitCode < 0 {
			continue
		}
		r.addObserved(1)
		if last.reply.Stop == pausedTurn && s.ev.Process[n].ExitCode == 0 {
			r.addProcessFinding(n, "process %d exited 0 although its last reply (exchange %d) only paused", n,
				last.Index)
		}
	}
}

// approvalWasAsked: an approval names the request that it answers.
func approvalWasAsked(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		asked := map[string]bool{}
		for it := range wire.Each(x.req.Items) {
			if it.Type == "mcp_approval_request" || it.Type == referenceType {
				asked[it.ItemID] = true
			}
			if it.Type != "mcp_approval_response" || x.isKeptByProvider() {
				continue
			}
			r.addObserved(1)
			if id := it.Node.Text("approval_request_id"); !asked[id] {
				r.addFinding(x, it.Place, "", "the approval answers %s, and no request for one before it has that id",
					cutText(id, 64))
			}
		}
	})
}

// citationsKept: the place that a citation names in a search result is ciphertext, which
// comes back byte for byte or not at all.
func citationsKept(s *Trace, r *report) {
	s.eachPair(wires.Citations, wire.Text, func(l *link, _ pair, was, is *wire.Item) {
		issued, sent := encryptedInAll(was.Citations), encryptedInAll(is.Citations)
		if len(issued) == 0 || len(sent) == 0 {
			return
		}
		r.addObserved(len(sent))
		for i, n := range sent {
			place := ""
			if i < len(issued) {
				place = issued[i].Text()
			}
			if place != n.Text() {
				r.addChange(l, wire.Place{Event: -1, Off: n.Offset(), Path: is.Place.Path + ".citations"}, was.Place,
					"", "the place of a citation %s", describeDifference(place, n.Text()))
				return
			}
		}
	})
}

// serverResultsSent: what the provider's tools found goes back with the text that speaks of it.
// A result whose call is sent back alone is SIG-021's, a search for tools is NSP-001's.
func serverResultsSent(s *Trace, r *report) {
	for _, l := range s.links {
		isFound := func(i int) bool {
			it := l.reply(i)
			return it.What == wire.Opaque && it.Node.Get("tool_use_id").Is(tree.String) &&
				it.Node.Get("content", "error_code") == nil &&
				it.Type != "tool_search_tool_result"
		}
		for _, p := range l.pairs {
			if isFound(p.r) {
				r.addObserved(1)
			}
		}
		for _, i := range l.missing {
			id := l.reply(i).Node.Text("tool_use_id")
			isCalled := func(it wire.Item) bool { return isServerCall(&it) && it.ItemID == id }
			if isFound(i) && !slices.ContainsFunc(l.to.req.Items, isCalled) {
				r.addObserved(1)
				r.addLostItem(l, i, "", "%s of the reply is not sent back, nor is its call", l.reply(i).Type)
			}
		}
	}
}

// citationsSent: a text goes back with its citations of search results, as long as the results
// stand in the request.
func citationsSent(s *Trace, r *report) {
	s.eachPair(wires.Citations, wire.Text, func(l *link, _ pair, was, is *wire.Item) {
		issued, sent := len(encryptedInAll(was.Citations)), len(encryptedInAll(is.Citations))
		if issued == 0 || len(serverResults(l.to.req.Items)) == 0 {
			return
		}
		r.addObserved(1)
		if sent < issued {
			r.addChange(l, is.Place, was.Place, "", "text is sent back with %d of its %d citations of search results",
				sent, issued)
		}
	})
}
