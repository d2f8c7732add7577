package anthropic

import (
	"net/http"

	"github.com/meerkat-go/conformance/wires/rule"
)

// Book is what the referee reads: the rules that need nothing but the request, and the words of
// refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(rules), Judge: judgeRequest, Members: Members, Words: refusalWords, JudgeReply: judgeReply}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	c := newCall(seen.Header, seen.Root)
	c.takes, c.paused, c.size = seen.Takes, seen.Paused, seen.Size
	c.betasUnknown = len(seen.Header.Values("Anthropic-Beta")) == 0 && !keepsHeaders(seen.Header) && seen.Header.Get("Anthropic-Version") == ""
	return rule.Judge(rules, c, holds)
}

// keepsHeaders reports whether a recording seems to have kept all headers of the
// request: many keep a few, or none, and the key is what they take out first.
func keepsHeaders(h http.Header) bool {
	return h.Get("Content-Type") != "" && h.Get("User-Agent") != "" && h.Get("X-Api-Key") != ""
}
