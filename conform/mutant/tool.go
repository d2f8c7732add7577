package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// toolMutants tell the model something else about its tools than is so.
var toolMutants = []Mutant{
	{"invent-result", "answers a call of a tool that does not exist as if it had run", []string{"TOOL-001"}, changeRequest(func(e *editor) bool {
		return e.eachNewResult(func(call, res *wire.Item) bool {
			return !e.offers(call.Name) && dropFlag(res) && rewriteResult(res, func(string) string { return "3 files" })
		})
	})},
	{"unmark-unknown", "says that a tool does not exist without marking the error", []string{"TOOL-001"}, changeRequest(func(e *editor) bool {
		return e.eachNewResult(func(call, res *wire.Item) bool { return !e.offers(call.Name) && dropMember(res.Node, "is_error") })
	}, evidence.Anthropic)},
	{"print-object", "prints an object in place of a result", []string{"TOOL-002"}, changeRequest(func(e *editor) bool {
		return e.eachNewResult(func(_, res *wire.Item) bool {
			return rewriteResult(res, func(string) string { return "[object Object]" })
		})
	})},
	{"cut-silently", "cuts a long result without a word", []string{"TOOL-003"}, changeRequest(func(e *editor) bool {
		return e.eachNewResult(func(_, res *wire.Item) bool {
			long := false
			return rewriteResult(res, func(s string) string {
				if long = strings.HasPrefix(s, "{") && len(s) > 600; long {
					return s[:550]
				}
				return s
			}) && long
		})
	})},
	{"force-again", "forces a tool that the model has called already", []string{"TOOL-004"}, forceAgain},
	{"lose-tool", "does not find a tool under the name it is offered by", []string{"MCP-001"}, changeRequest(func(e *editor) bool {
		return e.eachNewResult(func(call, res *wire.Item) bool {
			return e.offers(call.Name) && rewriteResult(res, func(string) string { return "Error: tool '" + call.Name + "' not found" })
		})
	})},
	{"unmark-server-error", "drops the mark of an error of an MCP server", []string{"MCP-002"}, changeRequest(func(e *editor) bool {
		return e.eachNewResult(func(_, res *wire.Item) bool {
			raw := res.Node.Raw()
			return (strings.Contains(raw, `\"isError\":true`) || strings.Contains(raw, "this tool always fails")) && dropMember(res.Node, "is_error")
		})
	}, evidence.Anthropic)},
	{"prepend-tool", "puts a new tool before those that were there", []string{"MCP-003"}, changeRequest(func(e *editor) bool {
		tools := e.doc.Get("tools")
		n := len(tools.List())
		if n < 3 || !strings.Contains(tools.Items()[n-1].Raw(), `"paint"`) {
			return false
		}
		tools.SetItems(slices.Insert(tools.Items()[:n-1:n-1], 0, tools.Items()[n-1]))
		return true
	}, evidence.OpenAI)},
}

// eachNewResult calls f for each result behind the last thing that the model said, with its
// call, until it returns true.
func (e *editor) eachNewResult(f func(call, res *wire.Item) bool) bool {
	var calls []*wire.Item
	last := 0
	for i := range e.req.Items {
		if it := &e.req.Items[i]; it.What == wire.Call {
			calls = append(calls, it)
			last = i
		}
	}
	for i := last; i < len(e.req.Items); i++ {
		it := &e.req.Items[i]
		k := slices.IndexFunc(calls, func(call *wire.Item) bool { return call.ID == it.ID && (it.Name == "" || it.Name == call.Name) })
		if it.What == wire.Result && k >= 0 && f(calls[k], it) {
			return true
		}
	}
	return false
}

// offers reports whether the request declares a function of this name.
func (e *editor) offers(name string) bool {
	return e.eachFunction(func(f, _ *tree.Node) bool { return f.Get("name").Text() == name })
}

// dropFlag takes the mark of a failure from a result, if it has one. Gemini's is a member's
// name.
func dropFlag(res *wire.Item) bool {
	dropMember(res.Node, "is_error")
	if response := ownFields(res).Get("response"); response.Is(tree.Object) {
		if k := slices.Index(response.Names(), "error"); k >= 0 {
			response.Names()[k] = "output"
		}
	}
	return true
}

// forceAgain makes a request force the tool that the one before forced and the model called.
func forceAgain(ev evidence.Evidence) (evidence.Evidence, bool) {
	var choice *tree.Node
	return changeRequest(func(e *editor) bool {
		if c := e.doc.Get("tool_choice"); c.Get("name").Is(tree.String) {
			choice = c
			return false
		}
		isForced := func(_ int, it *wire.Item) bool { return it.What == wire.Call && it.Name == choice.Get("name").Text() }
		return choice != nil && e.findItem(isForced) >= e.turnStart() && e.findItem(isForced) >= 0 && setMember(e.doc, "tool_choice", copyOf(choice))
	}, evidence.Anthropic, evidence.OpenAI)(ev)
}
