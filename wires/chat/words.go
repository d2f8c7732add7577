package chat

import (
	_ "embed" // for refusals.yaml

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("chat", textFile)

// claimsBody tells a request from one of Anthropic's Messages, which has messages as well: there no message has
// the roles tool and developer, and the system prompt is no first message.
func claimsBody(body *tree.Node) bool {
	for i, m := range body.List("messages") {
		switch role := m.Text("role"); {
		case role == "tool", role == "developer", i == 0 && role == "system", m.Get("tool_calls") != nil:
			return true
		}
	}
	return body.Get("messages") != nil &&
		(body.Any("max_completion_tokens", "n", "logprobs", "response_format") != nil ||
			body.Get("tools").Child("0").Get("function") != nil || body.Any("max_tokens", "system") == nil)
}
