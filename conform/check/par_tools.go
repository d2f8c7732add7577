package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/wire"
)

// forcedTool returns the name of the tool that the model must call because no other is
// allowed, "" for none.
func (x *exchange) forcedTool() string {
	kind, names := x.req.Choice.Kind, x.req.Choice.Names
	if kind == "any" && names == nil {
		for _, d := range x.req.Declared {
			names = append(names, d.Name)
		}
	}
	if kind != "any" && kind != "tool" || len(names) != 1 {
		return ""
	}
	return names[0]
}

// offersOtherTools reports whether tools come from elsewhere than the request's list.
func (x *exchange) offersOtherTools() bool {
	return x.req.Doc.Get("mcp_servers") != nil || x.req.Doc.Get("prompt") != nil ||
		slices.ContainsFunc(x.req.Items, func(it wire.Item) bool {
			return it.Type == "additional_tools" || it.Type == "tool_search_output" || it.Type == "tool_addition" || it.Type == "mcp_list_tools"
		})
}
