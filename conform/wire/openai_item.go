package wire

import (
	"strconv"
	"strings"
)

// openAIItem reads one output or input item (reference §2.2). An item without a
// type is a message.
func openAIItem(n *Node) Item {
	it := Item{Type: n.Get("type").Str(), Node: n, Name: n.Get("name").Str(), ItemID: n.Get("id").Str()}
	switch it.Type {
	case "", "message":
		it.Type, it.What, it.Phase = "message", Text, n.Get("phase").Str()
		it.Text = openAIText(n.Get("content"))
	case "reasoning":
		it.What = Thinking
		it.Summary = openAIParts(n.Get("summary"))
		it.Text = strings.Join(it.Summary, "\n")
		if enc := n.Get("encrypted_content"); enc.Is('"') {
			it.setToken(enc)
		}
	case "function_call", "custom_tool_call":
		it.What, it.ID, it.ArgsKnown = Call, n.Get("call_id").Str(), true
		it.Args = n.Any("arguments", "input").Str()
	case "function_call_output", "custom_tool_call_output":
		it.What, it.ID = Result, n.Get("call_id").Str()
	default:
		it.ID = n.Get("call_id").Str()
	}
	return it
}

// openAIText joins the texts of a message's parts.
func openAIText(content *Node) string {
	if content.Is('"') {
		return content.Str()
	}
	return strings.Join(openAIParts(content), "")
}

func openAIParts(list *Node) []string {
	var out []string
	for _, p := range list.Elems() {
		out = append(out, p.Any("text", "refusal").Str())
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
	if input.Is('"') {
		q.Msgs = append(q.Msgs, Msg{Role: "user", Node: input, Path: "input"})
		q.addItem(Item{What: Text, Type: "message", Text: input.Str(), Node: input}, "user", 0, input, "input")
	}
	for i, n := range input.Elems() {
		it := openAIItem(n)
		role := openAIRole(it, n)
		path := "input[" + strconv.Itoa(i) + "]"
		q.Msgs = append(q.Msgs, Msg{Role: role, Node: n, Path: path})
		q.addItem(it, role, i, n, path)
	}
}

func openAIRole(it Item, n *Node) string {
	switch {
	case it.Type == "message":
		return n.Get("role").Str()
	case it.Type == "tool_search_output" && n.Get("execution").Str() == "server":
		return "assistant" // the provider searched itself
	case it.What == Result || clientItems[it.Type]:
		return "user"
	}
	return "assistant"
}
