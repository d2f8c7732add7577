package anthropic

import "github.com/meerkat-go/conformance/simulator/script"

// imageTokens is what a picture or a document of unknown length counts for.
const imageTokens = 1600

// CountTokens answers a request to count tokens that Check has accepted. The
// count is an estimate, the same for the same body.
func CountTokens(body []byte) []byte {
	root, err := parseJSON(body)
	if err != nil {
		return nil
	}
	return script.JSON(script.Object{"input_tokens", inputTokens(root)})
}

// tokensOf estimates what a value counts for: everything that the model reads,
// pictures at a flat rate.
func tokensOf(v *node) int {
	switch {
	case v == nil:
		return 0
	case v.is('"'):
		return script.Tokens(v.text)
	case v.get("type").str() == "base64":
		return imageTokens
	}
	n := 0
	for i := range v.items {
		if i < len(v.names) {
			if v.names[i] == "signature" || v.names[i] == "cache_control" {
				continue
			}
			n++
		}
		n += tokensOf(&v.items[i])
	}
	return n
}

// inputTokens is what the prompt counts for.
func inputTokens(root *node) int { return measure(root).total }
