package bench

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

const tokenRule = "A-34 A-36 O-15 G-18" //nolint:gosec // ids of rules

// tokenFaults alter continuity tokens whose original is in the recording.
var tokenFaults = []Kind{
	{Name: "token-flipped", Rule: tokenRule, Providers: all, alter: onToken(flipChar)},
	{Name: "token-truncated", Rule: tokenRule, Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return t[:len(t)/2] })},
	{Name: "token-24-characters", Rule: "R3", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return t[:min(24, len(t)-1)] })},
	{Name: "token-cleared", Rule: "A-34 O-14 R3", Providers: all, alter: onBlock(tokenEdit(func(string, *rand.Rand) string { return "" }), isLinked, hasToken, isUnstored, isKind(thinkingBlock, hiddenBlock, callBlock))},
	{Name: "token-last-character-lost", Rule: tokenRule, Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { t = strings.TrimRight(t, "="); return t[:len(t)-1] })},
	{Name: "token-doubled", Rule: "R5", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return t + t })},
	{Name: "token-first-half-lost", Rule: "R5", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return t[len(t)/2:] })},
	{Name: "token-ellipsis", Rule: "R54", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return t[:len(t)/3] + "…" + t[len(t)-len(t)/3:] })},
	{Name: "token-redacted", Rule: "R54", Providers: all, alter: onToken(func(string, *rand.Rand) string { return "[REDACTED]" })},
	{Name: "token-fffd", Rule: "R54", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return t[:len(t)/2] + "\uFFFD" + t[len(t)/2+1:] })},
	{Name: "token-base64-twice", Rule: "R24", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return base64.StdEncoding.EncodeToString([]byte(t)) })},
	{Name: "token-lower-case", Rule: "R54", Providers: all, alter: onToken(func(t string, _ *rand.Rand) string { return strings.ToLower(t) })},
	{Name: "token-newline-added", Rule: tokenRule, Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onToken(func(t string, _ *rand.Rand) string { return t + "\n" })},
	{Name: "token-line-wrapped", Rule: tokenRule, Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onToken(func(t string, _ *rand.Rand) string { return t[:len(t)/2] + "\n" + t[len(t)/2:] })},
	{Name: "token-other-provider", Rule: "R24 R3", Providers: all, alter: onBlock(foreignToken, isLinked, hasToken)},
	{Name: "token-invented", Rule: tokenRule, Providers: all, alter: onToken(func(string, *rand.Rand) string { return inventedSignature })},
	{Name: "token-null", Rule: "A-35 R4", Providers: anthropic, alter: onBlock(tokenValue("null"), isLinked, hasToken)},
	{Name: "token-number", Rule: "A-35 O-5", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onBlock(tokenValue("12345"), isLinked, hasToken)},
	{Name: "token-key-removed", Rule: "A-35", Providers: anthropic, alter: onBlock(removeToken, isLinked, hasToken)},
	{Name: "token-key-removed-open-turn", Rule: "G-17", Providers: gemini, alter: onBlock(removeToken, isLinked, hasToken, isKind(callBlock), inOpenTurn, isGemini3)},
	{Name: "token-key-removed-finished-turn", Rule: "R23", Providers: gemini, alter: onBlock(removeToken, isLinked, hasToken, isKind(callBlock), inFinishedTurn, isGemini3)},
	{Name: "token-of-text-removed", Rule: "G-22 R23", Providers: gemini, alter: onBlock(removeToken, isLinked, hasToken, isKind(textBlock), isGemini3)},
	{Name: "token-key-removed-stateless", Rule: "O-14 R16", Providers: openAI, alter: onBlock(removeToken, isLinked, hasToken, isStateless, hasItemID)},
	{Name: "tokens-swapped", Rule: tokenRule, Providers: all, alter: onBlock(swapTokens, isLinked, hasToken)},
	{Name: "token-of-another-reply", Rule: tokenRule, Providers: all, alter: tokenFromElsewhere},
	{Name: "token-moved-to-next-part", Rule: "G-17 R23", Providers: gemini, alter: onBlock(moveToken, isLinked, hasToken, isKind(callBlock, textBlock), isGemini3)},
	{Name: "token-inside-function-call", Rule: "G-3", Providers: gemini, alter: onBlock(tokenInside, isLinked, hasToken, isKind(callBlock))},
	{Name: "token-on-response-only", Rule: "G-21", Providers: gemini, alter: onBlock(tokenOnResponse, isLinked, hasToken, isKind(callBlock), hasResult, inOpenTurn, isGemini3)},
	{Name: "token-not-base64", Rule: "G-19", Providers: gemini, alter: onToken(func(string, *rand.Rand) string { return "not base64 at all!" })},
	{Name: "token-draft", Rule: "O-15 D-12", Providers: openAI, alter: draftToken},
	{Name: "token-under-other-id", Rule: "O-15", Providers: openAI, alter: onBlock(otherItemID, isLinked, hasToken, hasItemID)},
	{Name: "token-id-swapped", Rule: "O-15 D-15", Providers: openAI, alter: onBlock(swapItemIDs, isLinked, hasToken, hasItemID)},
	{Name: "token-from-other-model", Rule: "R3 H1", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: laterModel},
	{Name: "compaction-altered", Rule: "R50", Providers: openAI, alter: onBlock(tokenEdit(flipChar), isKind(hiddenBlock), isLinked, hasToken)},
	{Name: "compaction-replaced-by-text", Rule: "R50", Providers: openAI, alter: onBlock(compactionToText, isKind(hiddenBlock), isLinked, hasToken)},
	{Name: "compaction-lost", Rule: "R50", Providers: openAI, alter: onBlock(dropBlock, isKind(hiddenBlock), isLinked, hasToken)},
}

func onToken(edit func(token string, r *rand.Rand) string) func(*draft, *rand.Rand) (Place, bool) {
	return onBlock(tokenEdit(edit), isLinked, hasToken, isLongToken)
}

func tokenEdit(edit func(token string, r *rand.Rand) string) blockEdit {
	return func(p *page, b *block, r *rand.Rand) bool {
		p.setToken(b, edit(b.token, r))
		return true
	}
}

// flipChar changes one character in the middle of a token to another of the
// same alphabet, so that the token stays valid base64.
func flipChar(token string, r *rand.Rand) string {
	i := len(token)/4 + r.IntN(len(token)/2)
	other := byte('A')
	if token[i] == 'A' {
		other = 'B'
	}
	return token[:i] + string(other) + token[i+1:]
}

func tokenValue(text string) blockEdit {
	return func(_ *page, b *block, _ *rand.Rand) bool {
		b.node.setMember(b.tokenKey, parseLiteral(text))
		return true
	}
}

func removeToken(_ *page, b *block, _ *rand.Rand) bool {
	b.node.removeKey(b.tokenKey)
	return true
}

func foreignToken(p *page, b *block, _ *rand.Rand) bool {
	other := map[string]string{
		evidence.Anthropic: "gAAAAABpF0Jd9mN4c2VjcmV0LXRva2VuLW9mLWFub3RoZXItcHJvdmlkZXItMDAwMQ==",
		evidence.OpenAI:    "EqQBCkYIDBgCKkBmb3JlaWduLXRva2VuLW9mLWFub3RoZXItcHJvdmlkZXItMDAwMQ==",
		evidence.Gemini:    "EqQBCkYIDBgCKkBmb3JlaWduLXRva2VuLW9mLWFub3RoZXItcHJvdmlkZXItMDAwMg==",
	}
	p.setToken(b, other[p.provider])
	return true
}

// swapTokens exchanges the tokens of two blocks of the same kind.
func swapTokens(p *page, b *block, r *rand.Rand) bool {
	var others []*block
	for _, c := range p.blocks {
		if c != b && c.tokenKey == b.tokenKey && c.kind == b.kind && c.token != "" && c.token != b.token && c.from != unknownOrigin {
			others = append(others, c)
		}
	}
	if len(others) == 0 {
		return false
	}
	c := others[r.IntN(len(others))]
	p.setToken(b, c.token)
	p.setToken(c, b.token)
	return true
}

// tokenFromElsewhere puts the token of another reply of the recording in place.
func tokenFromElsewhere(d *draft, r *rand.Rand) (Place, bool) {
	return onBlock(func(p *page, b *block, r *rand.Rand) bool {
		var tokens []string
		for j, reply := range d.replies {
			for _, it := range reply {
				if j != b.from.exchange && it.kind == b.kind && it.token != "" && it.token != b.token {
					tokens = append(tokens, it.token)
				}
			}
		}
		if len(tokens) == 0 {
			return false
		}
		p.setToken(b, tokens[r.IntN(len(tokens))])
		return true
	}, isLinked, hasToken)(d, r)
}

func moveToken(p *page, b *block, _ *rand.Rand) bool {
	i := slices.Index(p.blocks, b)
	if i+1 >= len(p.blocks) {
		return false
	}
	next := p.blocks[i+1]
	if next.turn != b.turn || next.token != "" || next.kind != callBlock && next.kind != textBlock {
		return false
	}
	b.node.removeKey(b.tokenKey)
	next.node.setMember(b.tokenKey, stringNode(b.token))
	return true
}

func tokenInside(_ *page, b *block, _ *rand.Rand) bool {
	call, _ := b.node.firstOf("functionCall", "function_call")
	b.node.removeKey(b.tokenKey)
	call.setMember(b.tokenKey, stringNode(b.token))
	return true
}

func tokenOnResponse(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	if result == nil {
		return false
	}
	b.node.removeKey(b.tokenKey)
	result.node.setMember(b.tokenKey, stringNode(b.token))
	return true
}

// draftToken sends back the token of the unfinished item.
func draftToken(d *draft, r *rand.Rand) (Place, bool) {
	return onBlock(func(p *page, b *block, _ *rand.Rand) bool {
		it := d.replies[b.from.exchange][b.from.item]
		if it.draft == "" || it.draft == b.token {
			return false
		}
		p.setToken(b, it.draft)
		return true
	}, isLinked, hasToken)(d, r)
}

func otherItemID(_ *page, b *block, _ *rand.Rand) bool {
	b.node.setMember("id", stringNode(freshID(b.itemID)))
	return true
}

func swapItemIDs(p *page, b *block, _ *rand.Rand) bool {
	for _, c := range p.blocks {
		if c != b && c.kind == b.kind && c.itemID != "" && c.itemID != b.itemID && c.from != unknownOrigin {
			b.node.setMember("id", stringNode(c.itemID))
			c.node.setMember("id", stringNode(b.itemID))
			return true
		}
	}
	return false
}

// laterModel asks another, older family in mid-conversation and sends it the
// tokens of the first.
func laterModel(d *draft, r *rand.Rand) (Place, bool) {
	other := map[string]string{evidence.Anthropic: "claude-haiku-4-5-20251001", evidence.OpenAI: "gpt-5.2-codex"}[d.provider]
	return laterRequests(func(p *page, _ *rand.Rand) string {
		sent := slices.ContainsFunc(p.blocks, func(b *block) bool { return b.token != "" && b.from != unknownOrigin })
		if !sent || strings.HasPrefix(p.root.at("model").stringValue(), other[:len(other)-6]) {
			return ""
		}
		p.root.setMember("model", stringNode(other))
		return "model"
	})(d, r)
}

func compactionToText(p *page, b *block, _ *rand.Rand) bool {
	p.turnList().at(b.turn).replaceWith(p.newTurn("user", "Summary: the user asked something and it was done."))
	return true
}

func isLongToken(_ *scene, _ int, b *block) bool { return len(b.token) >= 32 }

func hasItemID(_ *scene, _ int, b *block) bool { return b.itemID != "" }

func isGemini3(s *scene, k int, _ *block) bool { return versionOf(s.modelName(k), geminiForm) >= 3 }

// isUnstored leaves out items that the provider keeps itself, and Gemini 2, which
// does without tokens.
func isUnstored(s *scene, k int, b *block) bool {
	switch s.provider {
	case evidence.OpenAI:
		return isStateless(s, k, b)
	case evidence.Gemini:
		return isGemini3(s, k, b)
	}
	return true
}

func isStateless(s *scene, k int, _ *block) bool {
	return s.requests[k].at("store") != nil && !s.requests[k].at("store").isTrue()
}
