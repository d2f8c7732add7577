package gemini

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

const (
	// imageTokens is what an inline image counts for.
	imageTokens = 258
	// leastCached is the shortest prompt of which a part comes from the cache.
	leastCached = 1024
)

// prompt is what a request counts for, in tokens.
type prompt struct {
	input  int // all of it
	cached int // the part that an earlier request of the conversation had
}

// promptOf knows the request as Read left it; of another it counts the body.
func promptOf(r script.Reply) prompt {
	if r.Request.Document == nil {
		return prompt{input: r.InputTokens()}
	}
	return measurePrompt(r.Request.Document)
}

// measurePrompt counts what the model reads, in its order.
func measurePrompt(body *tree.Node) prompt {
	var p prompt
	for _, name := range [][2]string{{"systemInstruction", "system_instruction"}, {"tools"}} {
		if n := body.Given(name[:]...); n != nil {
			p.input += countTokens(n)
		}
	}
	before, own, contents := 0, false, elementsOf(body.Given("contents"))
	for i := range contents {
		said := contents[i].Given("role").Text() == "model"
		if said && !own {
			before = p.input
		}
		own = said
		p.input += countTokens(contents[i])
	}
	if before >= leastCached {
		p.cached = before
	}
	return p
}

// usage is the running total. What is nothing is left out.
func (c *reply) usage(output, thought int) script.Object {
	u := script.Object{"promptTokenCount", c.input}
	if output > 0 {
		u = append(u, "candidatesTokenCount", output)
	}
	u = append(u, "totalTokenCount", c.input+output+thought)
	if c.cached > 0 {
		u = append(u, "cachedContentTokenCount", c.cached)
	}
	u = append(u, "promptTokensDetails", textDetails(c.input))
	if c.cached > 0 {
		u = append(u, "cacheTokensDetails", textDetails(c.cached))
	}
	if thought > 0 {
		u = append(u, "thoughtsTokenCount", thought)
	}
	return append(u, "serviceTier", "standard")
}

// textDetails are so many tokens of text, by kind of content.
func textDetails(n int) script.Array {
	return script.Array{script.Object{"modality", "TEXT", "tokenCount", n}}
}

// CountTokens is the body of a countTokens reply to a request that Check accepts:
// as many as the usage of a reply to it would say.
func (r Request) CountTokens() []byte {
	tokens := measurePrompt(r.q.body).input
	return prettyJSON(script.JSON(script.Object{"totalTokens", tokens, "promptTokensDetails", textDetails(tokens)}))
}

// countTokens estimates how many tokens a value counts for: its texts, and not
// the bytes of its images.
func countTokens(n *tree.Node) int {
	switch {
	case n.Is(tree.String):
		return script.Tokens(n.Text())
	case n.Is(tree.Number | tree.Bool):
		return script.Tokens(n.Raw())
	}
	sum := 0
	for i := range n.Items() {
		switch {
		case n.Is(tree.Object) && (n.Names()[i] == "inlineData" || n.Names()[i] == "inline_data"):
			sum += imageTokens
		case n.Is(tree.Object) && (n.Names()[i] == "thoughtSignature" || n.Names()[i] == "thought_signature"):
		default:
			sum += countTokens(n.Items()[i])
		}
	}
	return sum
}
