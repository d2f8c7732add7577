package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// partForm: a block holds what the provider takes in a block of its kind from
// who says it.
func partForm(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for i := range x.req.Items {
			switch it := &x.req.Items[i]; x.Provider {
			case evidence.Anthropic:
				anthropicPart(x, r, it)
			case evidence.OpenAI:
				rawReasoning(x, r, it)
			}
		}
		for _, m := range x.req.Msgs {
			switch x.Provider {
			case evidence.OpenAI:
				openAIParts(x, r, m)
			case evidence.Gemini:
				geminiOneField(x, r, m)
			}
		}
	})
}

// speakers gives the role that may send blocks of a type; every role may send a type
// that is not listed.
var speakers = map[string]string{
	"thinking": "assistant", "redacted_thinking": "assistant", "tool_use": "assistant", "server_tool_use": "assistant", "mcp_tool_use": "assistant",
	"tool_result": "user", "image": "user", "document": "user", "search_result": "user",
}

func anthropicPart(x *exchange, r *report, it *wire.Item) {
	if whose := speakers[it.Type]; whose != "" {
		r.addObserved(1)
		if whose != it.Role && (it.Role == "user" || it.Role == "assistant") {
			r.addFinding(x, it.Place, "A-24", "a %s block stands under %s; it can only be in %s messages", it.Type, it.Role, whose)
		}
	}
	switch {
	case it.Continuity():
		r.addObserved(1)
		if !it.Node.Get("cache_control").Null() {
			r.addFinding(x, it.Place, "A-44", "%s carries cache_control", it.What)
		}
	case it.What == wire.Result && it.IsError:
		r.addObserved(1)
		content := it.Node.Get("content")
		if len(content.List()) == 0 && content.Text() == "" {
			r.addFinding(x, it.Place, "A-47", "error result %s says nothing", it.ID)
		}
		for _, b := range content.List() {
			if t := b.Get("type").Text(); t != "text" {
				r.addFinding(x, it.Place, "A-47", "error result %s holds a block of type %q; it may hold text only", it.ID, cutText(t, 40))
				return
			}
		}
	}
}

// rawReasoning: the text of reasoning is not sent back, only its encrypted form (O-17).
// Compatible hosts have no other.
func rawReasoning(x *exchange, r *report, it *wire.Item) {
	if it.What != wire.Thinking || x.atOtherHost() || !isProvidersModel(x) {
		return
	}
	r.addObserved(1)
	if n := len(it.Node.Get("content").List()); n > 0 {
		r.addFinding(x, it.Under("content"), "O-17", "reasoning item %s carries %d texts of its content", it.ItemID, n)
	}
}

// geminiOneField: a part holds one kind of data (G-8).
func geminiOneField(x *exchange, r *report, m wire.Msg) {
	for j, p := range m.Node.Get("parts").List() {
		r.addObserved(1)
		var fields []string
		for _, name := range p.Names() {
			if slices.Contains(dataFields, camelCase(name)) {
				fields = append(fields, name)
			}
		}
		if len(fields) > 1 {
			r.addFinding(x, wire.Place{Event: -1, Off: p.Offset(), Path: elementPath(m.Path+".parts", j)}, "G-8", "one part holds %s", strings.Join(fields, " and "))
		}
	}
}

var dataFields = []string{"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}

func openAIParts(x *exchange, r *report, m wire.Msg) {
	at := func(n *tree.Node, path string) wire.Place {
		return wire.Place{Event: -1, Off: n.Offset(), Path: m.Path + path}
	}
	assistant := m.Node.Get("role").Text() == "assistant"
	for j, p := range m.Node.Get("content").List() {
		kind := p.Get("type").Text()
		switch {
		case assistant:
			r.addObserved(1)
			if strings.HasPrefix(kind, "input_") {
				r.addFinding(x, at(p, ".content["+strconv.Itoa(j)+"]"), "O-16", "the assistant says %q, which only the client can", kind)
			}
		case m.Node.Get("role").Text() != "":
			r.addObserved(1)
			if kind == "output_text" || kind == "refusal" {
				r.addFinding(x, at(p, ".content["+strconv.Itoa(j)+"]"), "O-16", "%s says %q, which only the assistant can", m.Node.Get("role").Text(), kind)
			}
		}
	}
}
