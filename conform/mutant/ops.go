package mutant

import (
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// operationMutants mix up what several conversations on one wire must keep apart.
var operationMutants = []Mutant{
	{"mix-conversations", "puts a call and its result of one agent into the history of another", []string{"OPS-001"}, mixConversations},
	{"swap-agent-answers", "gives the answer of one agent to the call that started the other", []string{"OPS-002"}, swapAgentAnswers},
	{"restart-agent", "starts an agent again on resume that had finished", []string{"OPS-003"}, restartAgent},
	{"repeat-task", "gives two agents the task of one call", []string{"OPS-004"}, repeatTask},
}

// mixConversations inserts the call and the result behind the opening of one
// conversation behind that of another one.
func mixConversations(ev evidence.Evidence) (evidence.Evidence, bool) {
	conversation := map[int]int{}
	for _, p := range check.Decode(&ev).Placements() {
		conversation[p.Exchange] = p.Conversation
	}
	heard := map[int]*tree.Node{}
	return changeRequest(func(e *editor) bool {
		list, own := e.messageList(), conversation[e.x.Index]
		isRound := e.findItem(func(_ int, it *wire.Item) bool { return it.Msg == 1 && it.What == wire.Call && e.wasEmitted(it) }) >= 0
		if own < 0 || !isRound || len(list.List()) < 3 {
			return false
		}
		for _, c := range slices.Sorted(maps.Keys(heard)) {
			if other := heard[c]; c != own {
				list.SetItems(slices.Insert(list.Items(), 1, copyOf(other.Items()[1]), copyOf(other.Items()[2])))
				return true
			}
		}
		heard[own] = list
		return false
	})(ev)
}

// swapAgentAnswers exchanges what two results say that each quote a reply.
func swapAgentAnswers(ev evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		var quoting []*tree.Node
		for i := range e.req.Items {
			if it := &e.req.Items[i]; it.What == wire.Result && e.emitted[wire.Text.String()+it.Node.Get("content").Text()] {
				quoting = append(quoting, it.Node)
			}
		}
		if len(quoting) < 2 {
			return false
		}
		first, second := quoting[0].Get("content"), quoting[1].Get("content")
		return setMember(quoting[0], "content", copyOf(second)) && setMember(quoting[1], "content", copyOf(first))
	})(ev)
}

// restartAgent adds the first request of an agent, and its reply, to the last process.
func restartAgent(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	last := len(ev.Process) - 1
	if last < 1 || !ev.Process[last].Resumed {
		return ev, false
	}
	for _, x := range ev.Exchanges {
		if x.Process < last && opensWithTask(ev.Exchanges, x) {
			x.Index, x.Process = ev.Exchanges[len(ev.Exchanges)-1].Index+1, last
			ev.Exchanges = append(ev.Exchanges, x)
			return ev, true
		}
	}
	return ev, false
}

// repeatTask gives the second agent the task of the first.
func repeatTask(ev evidence.Evidence) (evidence.Evidence, bool) {
	var first *tree.Node
	return changeRequest(func(e *editor) bool {
		if !opensWithTask(ev.Exchanges, *e.x) {
			return false
		}
		if first == nil {
			first = e.messageList()
			return false
		}
		e.messageList().Items()[0] = copyOf(first.Items()[0])
		return true
	})(ev)
}

// opensWithTask reports whether a request is one message that stands in the arguments of
// a call before it.
func opensWithTask(all []evidence.Exchange, x evidence.Exchange) bool {
	q := wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body)
	if len(q.Msgs) != 1 || len(q.Items) == 0 || q.Items[len(q.Items)-1].Text == "" {
		return false
	}
	task := q.Items[len(q.Items)-1].Text
	return slices.ContainsFunc(all, func(o evidence.Exchange) bool {
		r := wire.ReadReply(o.Provider, o.Response.Status, o.Response.Body)
		return o.Index < x.Index && slices.ContainsFunc(r.Items, func(it wire.Item) bool { return it.What == wire.Call && strings.Contains(it.Args, task) })
	})
}
