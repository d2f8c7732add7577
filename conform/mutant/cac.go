package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// cacheMutants make the provider read a prompt again.
var cacheMutants = []Mutant{
	{"clock-in-prompt", "tells the time in the system prompt", []string{"CAC-001"}, clockInPrompt},
	{"shuffle-tools", "sends the tools in another order", []string{"CAC-002"}, changeLaterRequest(func(e *editor) bool {
		return !e.defersTools() && e.swapFunctions()
	})},
	{"shuffle-schema", "writes the members of a schema in another order", []string{"CAC-002"}, changeLaterRequest(func(e *editor) bool {
		return e.eachFunction(func(f, _ *tree.Node) bool {
			schema := f.Any("input_schema", "parameters")
			if schema == nil || len(schema.Items()) < 2 || e.defersTools() {
				return false
			}
			last := len(schema.Items()) - 1
			schema.Items()[0], schema.Items()[last] = schema.Items()[last], schema.Items()[0]
			schema.Names()[0], schema.Names()[last] = schema.Names()[last], schema.Names()[0]
			return true
		})
	})},
	{"drop-marks", "writes a cache and sets no mark that reads it", []string{"CAC-003"}, changeLaterRequest(func(e *editor) bool {
		return strings.Contains(string(tree.Encode(e.doc)), `"cache_control"`) && dropMarks(e.doc)
	}, evidence.Anthropic)},
	{"change-cache-key", "asks with another key for the cache", []string{"CAC-004"}, changeLaterRequest(func(e *editor) bool {
		return rewriteMember(e.doc, appendDot, "prompt_cache_key")
	}, evidence.OpenAI)},
}

// changeLaterRequest is changeRequest for requests that send a reply back.
func changeLaterRequest(change func(e *editor) bool, providers ...string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		return e.findItem(func(_ int, it *wire.Item) bool { return e.wasEmitted(it) }) >= 0 && change(e)
	}, providers...)
}

func dropMarks(n *tree.Node) bool {
	dropMember(n, "cache_control")
	for _, v := range n.Items() {
		dropMarks(v)
	}
	return true
}

// clockInPrompt writes the time into the system prompt of every request.
func clockInPrompt(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	changed := false
	for i := range ev.Exchanges {
		e := openEditor(&ev, i, nil)
		if !e.asksForAnswer() {
			continue
		}
		clock := "It is 15:09:" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + "."
		switch e.x.Provider {
		case evidence.Anthropic:
			changed = setMember(e.doc, "system", jsonString(clock)) || changed
		case evidence.OpenAI:
			changed = setMember(e.doc, "instructions", jsonString(clock)) || changed
		default:
			changed = setMember(e.doc, "systemInstruction", mustParse(`{"parts":[{"text":"`+clock+`"}]}`)) || changed
		}
		e.x.Request.Body = tree.Encode(e.doc)
	}
	return ev, changed
}

// swapFunctions exchanges the first two functions of one list. What the provider makes of
// its own tools, and of a server, stands in the prompt where it likes.
func (e *editor) swapFunctions() bool {
	first := -1
	var in *tree.Node
	return e.eachFunction(func(f, list *tree.Node) bool {
		k := slices.Index(list.Items(), f)
		if in != list {
			in, first = list, k
			return false
		}
		list.Items()[first], list.Items()[k] = f, list.Items()[first]
		return true
	})
}

// defersTools reports whether some tool is deferred: such tools are in no cached prefix.
func (e *editor) defersTools() bool {
	return slices.ContainsFunc(e.doc.Get("tools").List(), func(t *tree.Node) bool { return t.Get("defer_loading").True() })
}
