package wire

import (
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// openAIItem reads one output or input item (reference §2.2). An item without a
// type is a message.
func openAIItem(n *tree.Node) Item {
	it := Item{Type: n.Get("type").Text(), Node: n, Name: n.Get("name").Text(), ItemID: n.Get("id").Text()}
	switch it.Type {
	case "", "message":
		it.Type, it.What, it.Phase = "message", Text, n.Get("phase").Text()
		it.Text = openAIText(n.Get("content"))
	case "reasoning":
		it.What = Thinking
		it.Summary = openAIParts(n.Get("summary"))
		it.Text = strings.Join(it.Summary, "\n")
		if enc := n.Get("encrypted_content"); enc.Is(tree.String) {
			it.setToken(enc)
		}
	case "function_call", "custom_tool_call":
		it.What, it.ID, it.ArgsKnown = Call, n.Get("call_id").Text(), true
		it.Args = n.Any("arguments", "input").Text()
	case "function_call_output", "custom_tool_call_output":
		it.What, it.ID = Result, n.Get("call_id").Text()
	default:
		it.ID = n.Get("call_id").Text()
	}
	return it
}

// openAIText joins the texts of a message's parts.
func openAIText(content *tree.Node) string {
	if content.Is(tree.String) {
		return content.Text()
	}
	return strings.Join(openAIParts(content), "")
}

func openAIParts(list *tree.Node) []string {
	var out []string
	for _, p := range list.List() {
		out = append(out, p.Any("text", "refusal").Text())
	}
	return out
}

// clientItems are the input items a client makes itself, apart from results
// and messages; everything else in an input came from the model.
var clientItems = map[string]bool{
	"computer_call_output": true, "local_shell_call_output": true, "shell_call_output": true,
	"apply_patch_call_output": true, "mcp_approval_response": true, "tool_search_output": true,
	"additional_tools": true, "configuration_update": true,
}

func openAIRequest(q *Request) {
	q.System, q.Tools = q.Doc.Get("instructions"), q.Doc.Get("tools")
	q.Stateful = !q.Doc.Get("previous_response_id").Null() || !q.Doc.Get("conversation").Null()
	input := q.Doc.Get("input")
	if input.Is(tree.String) {
		q.Msgs = append(q.Msgs, Msg{Role: "user", Node: input, Path: "input"})
		q.addItem(Item{What: Text, Type: "message", Text: input.Text(), Node: input}, "user", 0, input, "input")
	}
	for i, n := range input.List() {
		it := openAIItem(n)
		role := openAIRole(it, n)
		path := "input[" + strconv.Itoa(i) + "]"
		q.Msgs = append(q.Msgs, Msg{Role: role, Node: n, Path: path})
		q.addItem(it, role, i, n, path)
	}
}

func openAIRole(it Item, n *tree.Node) string {
	switch {
	case it.Type == "message":
		return n.Get("role").Text()
	case it.Type == "tool_search_output" && n.Get("execution").Text() == "server":
		return "assistant" // the provider searched itself
	case it.What == Result || clientItems[it.Type]:
		return "user"
	}
	return "assistant"
}
