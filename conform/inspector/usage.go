package inspector

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// readUsage returns the tokens that the provider counted, nil where the reply does not
// say them.
func readUsage(provider string, r *wire.Reply) *Usage {
	documents := []*tree.Node{r.Doc}
	for i := range r.Events {
		documents = append(documents, r.Events[i].JSON)
	}
	var usage *Usage
	for _, doc := range documents {
		var n *tree.Node
		switch provider {
		case evidence.Anthropic:
			n = firstNode(doc.Get("usage"), doc.Get("message").Get("usage"))
		case evidence.OpenAI:
			n = firstNode(doc.Get("usage"), doc.Get("response").Get("usage"))
		case evidence.Gemini:
			n = doc.Any("usageMetadata", "usage_metadata")
		}
		if n.Is(tree.Object) {
			if usage == nil {
				usage = &Usage{-1, -1, -1, -1, -1}
			}
			usage.readCounters(provider, n)
		}
	}
	return usage
}

func firstNode(nodes ...*tree.Node) *tree.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

// readCounters takes over what n says. Later events of a stream count on.
func (u *Usage) readCounters(provider string, n *tree.Node) {
	switch provider {
	case evidence.Anthropic:
		setCount(&u.CacheRead, n.Get("cache_read_input_tokens"))
		setCount(&u.CacheWrite, n.Get("cache_creation_input_tokens"))
		if fresh := n.Get("input_tokens").Int(); fresh >= 0 {
			u.Input = fresh + max(u.CacheRead, 0) + max(u.CacheWrite, 0)
		}
		setCount(&u.Output, n.Get("output_tokens"))
	case evidence.OpenAI:
		setCount(&u.Input, n.Get("input_tokens"))
		setCount(&u.CacheRead, n.Get("input_tokens_details").Get("cached_tokens"))
		setCount(&u.Output, n.Get("output_tokens"))
		setCount(&u.Reasoning, n.Get("output_tokens_details").Get("reasoning_tokens"))
	case evidence.Gemini:
		setCount(&u.Input, n.Any("promptTokenCount", "prompt_token_count"))
		setCount(&u.CacheRead, n.Any("cachedContentTokenCount", "cached_content_token_count"))
		setCount(&u.Reasoning, n.Any("thoughtsTokenCount", "thoughts_token_count"))
		if said := n.Any("candidatesTokenCount", "candidates_token_count").Int(); said >= 0 {
			u.Output = said + max(u.Reasoning, 0)
		}
	}
}

func setCount(to *int, n *tree.Node) {
	if v := n.Int(); v >= 0 {
		*to = v
	}
}
