package wire

import (
	"strconv"

	"github.com/meerkat-go/conformance/wires/tree"
)

// anthropicRequest flattens the messages of a Messages request into items. A
// string content is one text block (reference §2.1).
func anthropicRequest(q *Request) {
	q.System, q.Tools = q.Doc.Get("system"), q.Doc.Get("tools")
	for i, m := range q.Doc.Get("messages").List() {
		path := "messages[" + strconv.Itoa(i) + "]"
		role := m.Get("role").Text()
		q.Msgs = append(q.Msgs, Msg{Role: role, Node: m, Path: path})
		content := m.Get("content")
		if content.Is(tree.String) {
			q.addItem(Item{What: Text, Type: "text", Text: content.Text(), Node: content},
				role, i, content, path+".content")
		}
		for j, b := range content.List() {
			q.addItem(anthropicBlock(b), role, i, b, path+".content["+strconv.Itoa(j)+"]")
		}
	}
}
