package simulator

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// parseOwn is the tree of a text that the simulator wrote.
func parseOwn(text []byte) *tree.Node {
	root, _ := tree.ParseStrict(text, tree.MaxDepth)
	return root
}

// withMembers is the object with other values for some of its members: names and raw
// values alternate. What it lacks is added.
func withMembers(object *tree.Node, changes ...string) []byte {
	out := script.Object{}
	for i, name := range object.Names() {
		out = append(out, name, object.Items()[i])
	}
	for change := range slices.Chunk(changes, 2) {
		name, value, found := change[0], script.Raw(change[len(change)-1]), false
		for i := 0; i < len(out); i += 2 {
			if out[i] == name {
				out[i+1], found = value, true
			}
		}
		if !found {
			out = append(out, name, value)
		}
	}
	return script.JSON(out)
}

// unfinishedResponse is a response that has nothing to show yet.
func unfinishedResponse(response []byte, status string) []byte {
	return withMembers(parseOwn(response), "status", `"`+status+`"`, "background", "true", "output", "[]", "completed_at", "null", "usage", "null")
}

// inputItems are the items of an input. A text is one message.
func inputItems(input *tree.Node) []*tree.Node {
	if input.Is(tree.String) {
		part := script.Object{"type", "input_text", "text", input}
		return []*tree.Node{parseOwn(script.JSON(script.Object{"type", "message", "role", "user", "content", script.Array{part}}))}
	}
	list := input.List()
	items := make([]*tree.Node, len(list))
	for i := range list {
		items[i] = list[i]
	}
	return items
}

// withInput is a request with other input.
func withInput(request *tree.Node, items []*tree.Node) []byte {
	input := script.Array{}
	for _, i := range items {
		input = append(input, i)
	}
	return withMembers(request, "input", string(script.JSON(input)))
}

// storedInput is the input of a stored response and its output. Its thoughts
// are sealed, whether the client asked for that or not: they are its own.
func storedInput(c *call, r script.Reply) []*tree.Node {
	r.Request.Form, r.Request.IssuesTokens = script.FormUnary, true
	response := parseOwn(c.provider.Frames(r)[0])
	return append(inputItems(r.Request.Document.Get("input")), inputItems(response.Get("output"))...)
}

// maxBlocks is more than a reply has blocks: what is numbered from here on has
// ids of its own.
const maxBlocks = 1 << 20

// withIDs gives items their types and ids, as the API does when it stores
// them, and says the rest as it does: what came is complete, and a text is a part.
func withIDs(items []*tree.Node, r script.Reply) []*tree.Node {
	for i, item := range items {
		if !item.Is(tree.Object) {
			continue
		}
		var changes []string
		kind, content := item.Get("type").Text(), item.Get("content")
		if idOf(item) == "" {
			changes = append(changes, "id", `"`+r.ID(prefixOf(kind), maxBlocks+i, script.Hex, 50)+`"`)
		}
		if kind == "" {
			changes = append(changes, "type", `"message"`)
		}
		if item.Get("status").Text() == "" && prefixOf(kind) != unknownPrefix && kind != "reasoning" {
			changes = append(changes, "status", `"completed"`)
		}
		if content.Is(tree.String) {
			changes = append(changes, "content", string(script.JSON(script.Array{textPart(item.Get("role").Text(), content)})))
		}
		items[i] = parseOwn(withMembers(item, changes...))
	}
	return items
}

func textPart(role string, content *tree.Node) script.Object {
	if role == "assistant" {
		return script.Object{"type", "output_text", "annotations", script.Array{}, "logprobs", script.Array{}, "text", content}
	}
	return script.Object{"type", "input_text", "text", content}
}

// unknownPrefix begins the ids of items of which nothing is known.
const unknownPrefix = "item_"

// prefixOf is what the ids of a type of items begin with; no type is a message.
func prefixOf(kind string) string {
	switch kind {
	case "", "message":
		return "msg_"
	case "function_call", "function_call_output":
		return "fc_"
	case "reasoning":
		return "rs_"
	}
	return unknownPrefix
}

func idOf(item *tree.Node) string { return item.Get("id").Text() }
