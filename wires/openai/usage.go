package openai

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// The cache takes prompts from leastCached tokens on, in steps.
const (
	leastCached = 1024
	cacheStep   = 128
)

// mediaTokens is what a picture or a file counts for.
const mediaTokens = 765

// measurePrompt counts what the model reads of a request in its order: instructions,
// tools, input. before is the part that an earlier request of the conversation
// had: up to where the model spoke last. Of the input the last compaction counts and
// what follows it: it stands for what was said before.
func (q *request) measurePrompt() (total, before int) {
	for _, name := range []string{"instructions", "tools"} {
		total += tokensOf(q.body.Get(name))
	}
	total += tokensOf(q.body.Get("text", "format"))
	base := total
	for i := range q.items {
		it := &q.items[i]
		if it.typ == "compaction" {
			total, before = base, min(before, base)
		}
		if it.isModels() && (i == 0 || !q.items[i-1].isModels()) {
			before = total
		}
		total += tokensOf(it.Node)
	}
	return total, before
}

// tokensOf estimates what a value counts for, encrypted reasoning by its length;
// ids are for the provider alone.
func tokensOf(v *tree.Node) int {
	switch v.Kind() {
	case 0, tree.Null:
		return 0
	case tree.String:
		if strings.HasPrefix(v.Text(), "data:") {
			return mediaTokens
		}
		return script.Tokens(v.Text())
	case tree.Array, tree.Object: // what is in it counts
	default:
		return 1
	}
	n := 0
	for i := range v.Items() {
		if v.Is(tree.Object) {
			switch v.Names()[i] {
			case "id", "call_id", "file_data":
				continue
			}
			n++
		}
		n += tokensOf(v.Items()[i])
	}
	return n
}

// cachedTokens is the part of a prompt that comes from the cache.
func cachedTokens(before int) int {
	if before < leastCached {
		return 0
	}
	return before / cacheStep * cacheStep
}

func (s *stream) usage() script.Object {
	all, thought := s.OutputTokens()
	return s.q.usageObject(all, thought)
}

// usageObject is the usage of an answer that has output tokens, thought among them.
func (q *request) usageObject(output, thought int) script.Object {
	input, before := q.measurePrompt()
	return script.Object{
		"input_tokens", input, "input_tokens_details", script.Object{"cache_write_tokens", 0, "cached_tokens", cachedTokens(before)},
		"output_tokens", output, "output_tokens_details", script.Object{"reasoning_tokens", thought}, "total_tokens", input + output,
	}
}

// CountTokens is the body that answers a request to count tokens: as many as the
// usage of a reply to it would say.
func (q Request) CountTokens() []byte {
	total, _ := q.q.measurePrompt()
	return script.JSON(script.Object{"object", "response.input_tokens", "input_tokens", total})
}
