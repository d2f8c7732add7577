package openai

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// compactPath is that of the call that returns a conversation compacted.
const compactPath = "/v1/responses/compact"

// Window is the body that answers a request for a compacted conversation: the messages of
// the user as they came, and one compaction that stands for all the rest.
func Window(r script.Reply) []byte {
	v := newSignedReply(r)
	output := script.Array{}
	for i := range v.q.items {
		if it := &v.q.items[i]; it.Text("role") == "user" {
			output = append(output, v.keptMessage(i, it))
		}
	}
	output = append(output, v.compactionItem(seal.StageCompleted))
	return script.JSON(script.Object{
		"id", v.responseID(), "object", "response.compaction", "created_at", v.At.Unix(), "output", output,
		"usage", v.q.usageObject(v.Roll("compacted", 50, 400), 0),
	})
}

// keptMessage is a message of the user, the n-th item, with the id that it has from now on.
func (v *signedReply) keptMessage(n int, it *item) script.Object {
	id, content := any(it.id), any(it.Get("content"))
	if it.id == "" {
		id = v.ID("msg_", n+1, script.Hex, 50)
	}
	if it.Get("content").Is(tree.String) {
		content = script.Array{script.Object{"type", "input_text", "text", it.Get("content")}}
	}
	return script.Object{"id", id, "type", "message", "status", "completed", "content", content, "role", "user"}
}
