package mutant

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// serverToolMutants touch what the provider's own tools leave in a conversation.
var serverToolMutants = []Mutant{
	{"drop-server-call", "sends a result of the provider's tool back without its call", []string{"SRV-001"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			return (it.Type == "server_tool_use" || it.Type == "mcp_tool_use") && e.isAnswered(it.ItemID) && e.removeItem(it)
		})
	}, evidence.Anthropic)},
	{"open-server-call", "speaks behind a call of the provider's tool that has no result", []string{"SRV-001"}, changeRequest(func(e *editor) bool {
		call := mustParse(`{"type":"server_tool_use","id":"srvtoolu_99z","name":"web_search","input":{"query":"herons"}}`)
		return e.eachItem(func(i int, it *wire.Item) bool {
			isLast := it.What == wire.Text && it.Model() && i+1 < len(e.req.Items) && e.req.Items[i+1].What == wire.Text && !e.req.Items[i+1].Model()
			return isLast && e.insertNode(it, 1, call)
		})
	}, evidence.Anthropic)},
	{"drop-program", "sends the outcome of a program back without the program", []string{"SRV-001"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.Node.Any("executableCode", "executable_code") != nil && e.removeItem(it)
		})
	}, evidence.Gemini)},
	{"forget-container", "does not name the container that waits", []string{"SRV-002"}, changeRequest(func(e *editor) bool {
		return dropMember(e.doc, "container")
	}, evidence.Anthropic)},
	{"drop-caller", "does not say who made a call", []string{"SRV-003"}, changeCaller(func(it *wire.Item) bool { return dropMember(it.Node, "caller") })},
	{"change-caller", "says that the model made a call of a program", []string{"SRV-003"}, changeCaller(func(it *wire.Item) bool {
		return setMember(it.Node, "caller", mustParse(`{"type":"direct"}`))
	})},
	{"text-among-results", "says something beside the results of a program's calls", []string{"SRV-004"}, changeRequest(func(e *editor) bool {
		if e.findItem(func(_ int, it *wire.Item) bool { return isProgrammatic(it) }) < 0 {
			return false
		}
		last := e.findItem(func(i int, it *wire.Item) bool { return it.What == wire.Result && i == len(e.req.Items)-1 })
		return last >= 0 && e.insertNode(&e.req.Items[last], 1, mustParse(`{"type":"text","text":"Hurry."}`))
	}, evidence.Anthropic)},
	{"restart-paused", "asks again from the start after a pause", []string{"SRV-005"}, afterPause(func(paused, next *evidence.Exchange) {
		next.Request.Body = paused.Request.Body
	})},
	{"end-on-pause", "takes a pause for the end", []string{"SRV-005"}, endOnPause},
	{"approve-unasked", "approves what was not asked for", []string{"SRV-006"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.Type == "mcp_approval_response" && setMember(it.Node, "approval_request_id", jsonString("mcpr_99z"))
		})
	}, evidence.OpenAI)},
	{"alter-citation", "changes the ciphertext of a citation", []string{"SRV-007"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			for _, c := range it.Node.Get("citations").List() {
				return rewriteMember(c, cutCharacter, "encrypted_index")
			}
			return false
		})
	}, evidence.Anthropic)},
	{"forget-search-result", "leaves out a call of the provider's tool and its result", []string{"SRV-008"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			call := e.findItem(func(_ int, c *wire.Item) bool { return c.ItemID != "" && c.ItemID == it.Node.Get("tool_use_id").Text() })
			return it.What == wire.Opaque && call >= 0 && e.removeItem(&e.req.Items[call]) && e.removeItem(it)
		})
	}, evidence.Anthropic)},
	{"drop-citations", "sends a text back without its citations", []string{"SRV-008"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool { return it.What == wire.Text && dropMember(it.Node, "citations") })
	}, evidence.Anthropic)},
}

// isAnswered reports whether a result of the provider's tool in the request has the id.
func (e *editor) isAnswered(id string) bool {
	return e.findItem(func(_ int, it *wire.Item) bool {
		return it.What == wire.Opaque && it.Node.Get("tool_use_id").Text() == id
	}) >= 0
}

func isProgrammatic(it *wire.Item) bool {
	caller := it.Node.Get("caller").Get("type").Text()
	return it.What == wire.Call && caller != "" && caller != "direct"
}

func changeCaller(change func(it *wire.Item) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool { return isProgrammatic(it) && e.wasEmitted(it) && change(it) })
	}, evidence.Anthropic)
}

// pausedAt returns the ordinal of the first exchange whose reply pauses, -1 for none.
func pausedAt(ev evidence.Evidence) int {
	for i, x := range ev.Exchanges {
		if x.Provider == evidence.Anthropic && strings.Contains(string(x.Response.Body), `"pause_turn"`) {
			return i
		}
	}
	return -1
}

// afterPause changes the exchange that follows a pause.
func afterPause(change func(paused, next *evidence.Exchange)) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		i := pausedAt(ev)
		if i < 0 || i+1 >= len(ev.Exchanges) {
			return ev, false
		}
		change(&ev.Exchanges[i], &ev.Exchanges[i+1])
		return ev, true
	}
}

// endOnPause leaves out everything after a pause.
func endOnPause(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	i := pausedAt(ev)
	if i < 0 || len(ev.Process) == 0 {
		return ev, false
	}
	ev.Exchanges = ev.Exchanges[:i+1]
	return ev, true
}
