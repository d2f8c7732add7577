package openai

import (
	_ "embed" // for refusals.yaml
	"slices"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("openai", textFile)

var judgedRules = slices.Concat(meaningRules, refereeRules)

// Book is what the referee reads: the rules that need nothing but the request, the members of
// requests, and the words of refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Members: Members, Words: texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply,
		Claims: func(body *tree.Node) bool { return body.Any("input", "previous_response_id", "prompt") != nil }}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := newRequest(seen.Root, "")
	q.takes, q.kept, q.isOwnModel, q.isKept = seen.Takes, seen.Kept, seen.IsOwnModel, seen.IsKept
	return rule.Judge(judgedRules, q, holds)
}
