package anthropic

import (
	_ "embed" // for refusals.yaml
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("anthropic", textFile)

var judgedRules = slices.Concat(rules, refereeRules)

// Book is what the referee reads: the rules that need nothing but the request, and the words of
// refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Betas: recordedBetas, Members: Members, Words: texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply, Claims: claimsBody}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	c := newCall(seen.Header, seen.Root)
	c.takes, c.paused, c.size, c.url = seen.Takes, seen.Paused, len(seen.Body), seen.URL
	c.betasUnknown = seen.Betas == nil
	c.versionUnknown = !keepsHeaders(seen.Header) && !seen.IsShown("Anthropic-Version")
	return rule.Judge(judgedRules, c, holds)
}

// recordedBetas returns the betas of a recorded request, nil where the recording may have dropped them.
func recordedBetas(h http.Header) []string {
	if len(h.Values("Anthropic-Beta")) == 0 && !keepsHeaders(h) && h.Get("Anthropic-Version") == "" {
		return nil
	}
	return append([]string{}, betasOf(h)...)
}

// keepsHeaders reports whether a recording seems to have kept all headers of the
// request: many keep a few, or none, and the key is what they take out first.
func keepsHeaders(h http.Header) bool {
	return h.Get("Content-Type") != "" && h.Get("User-Agent") != "" && h.Get("X-Api-Key") != ""
}

// claimsBody tells a request from one of Chat Completions, which has messages as well: there a system message
// begins the conversation, here it stands further on.
func claimsBody(body *tree.Node) bool {
	for i, m := range body.List("messages") {
		role := m.Text("role")
		if i == 0 && role == "system" || role == "tool" || role == "developer" || m.Get("tool_calls") != nil {
			return false
		}
	}
	return body.Get("messages") != nil && body.Any("max_completion_tokens", "n", "logprobs", "response_format") == nil
}
