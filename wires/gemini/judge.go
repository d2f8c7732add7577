package gemini

import (
	_ "embed" // for refusals.yaml
	"slices"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("gemini", textFile)

var judgedRules = slices.Concat(rules, refereeRules)

// Book is what the referee reads: the rules that need nothing but the request, the members of
// requests, and the words of refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Members: Members, Words: texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := &request{body: seen.Root, model: spec{Name: seen.Model, takes: seen.Takes}, plain: seen.Plain}
	q.route, _ = routeOf(seen.URL.Path)
	if m := specs.ParseModel(seen.Model); m.Family == "gemini" && m.HasVersion() {
		q.model.Major, q.model.Minor = m.Major, m.Minor
	}
	q.readContents()
	return rule.Judge(judgedRules, q, holds)
}
