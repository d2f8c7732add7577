package anthropic

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// imageTokens is what a picture or a document of unknown length counts for.
const imageTokens = 1600

// CountTokens answers a request to count tokens that Check has accepted. The
// count is an estimate, the same for the same body.
func (q Request) CountTokens() []byte {
	return script.JSON(script.Object{"input_tokens", inputTokens(q.call.root)})
}

// tokensOf estimates what a value counts for: everything that the model reads,
// pictures at a flat rate.
func tokensOf(v *tree.Node) int {
	switch {
	case v == nil:
		return 0
	case v.Is(tree.String):
		return script.Tokens(v.Text())
	case v.Text("type") == "base64":
		return imageTokens
	}
	n := 0
	for i := range v.Items() {
		if i < len(v.Names()) {
			if v.Names()[i] == "signature" || v.Names()[i] == "cache_control" {
				continue
			}
			n++
		}
		n += tokensOf(v.Items()[i])
	}
	return n
}

// inputTokens is what the prompt counts for.
func inputTokens(root *tree.Node) int { return measurePrompt(root).total }
