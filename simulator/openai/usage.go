package openai

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
)

// The cache takes prompts from leastCached tokens on, in steps.
const (
	leastCached = 1024
	cacheStep   = 128
)

// mediaTokens is what a picture or a file counts for.
const mediaTokens = 765

// measure counts what the model reads of a request in its order: instructions,
// tools, input. before is the part that an earlier request of the conversation
// had: up to where the model spoke last.
func (q *request) measure() (total, before int) {
	for _, name := range []string{"instructions", "tools"} {
		total += tokensOf(q.body.get(name))
	}
	total += tokensOf(q.body.get("text").get("format"))
	for i := range q.items {
		it := &q.items[i]
		if it.own() && (i == 0 || !q.items[i-1].own()) {
			before = total
		}
		total += tokensOf(it.value)
	}
	return total, before
}

// tokensOf estimates what a value counts for, encrypted reasoning by its length;
// ids are for the provider alone.
func tokensOf(v *value) int {
	switch v.kind {
	case 0, null:
		return 0
	case text:
		if strings.HasPrefix(v.text, "data:") {
			return mediaTokens
		}
		return script.Tokens(v.text)
	case array, object: // what is in it counts
	default:
		return 1
	}
	n := 0
	for i := range v.elems {
		if v.kind == object {
			switch v.names[i] {
			case "id", "call_id", "file_data":
				continue
			}
			n++
		}
		n += tokensOf(&v.elems[i])
	}
	return n
}

// cached is the part of a prompt that comes from the cache.
func cached(before int) int {
	if before < leastCached {
		return 0
	}
	return before / cacheStep * cacheStep
}

func (s *stream) usage() script.Object {
	all, thought := s.OutputTokens()
	input, before := s.q.measure()
	return script.Object{
		"input_tokens", input, "input_tokens_details", script.Object{"cache_write_tokens", 0, "cached_tokens", cached(before)},
		"output_tokens", all, "output_tokens_details", script.Object{"reasoning_tokens", thought}, "total_tokens", input + all,
	}
}

// CountTokens is the body that answers a request to count tokens: as many as the
// usage of a reply to it would say.
func CountTokens(body []byte) []byte {
	v, err := parse(body)
	if err != nil {
		v = &absent // Check refuses it
	}
	q := request{body: v, items: itemsOf(v)}
	total, _ := q.measure()
	return script.JSON(script.Object{"object", "response.input_tokens", "input_tokens", total})
}
