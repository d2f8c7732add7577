package handoff

import (
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// omitThinking leaves out thinking without a token where the provider never
// wants it back.
func (r *reply) omitThinking() {
	if !r.target.Model.Traits.OmitsUnsignedThinking {
		return
	}
	r.eachKept(transcript.BlockReasoning, func(i int, b *transcript.Block) {
		if tokenOf(b) == "" && !r.decisions[i].isForeign {
			r.decisions[i].disposition = omit
		}
	})
}

// isForeign reports whether a block needs an origin to be sent as it is and
// has another one than t.
func (t Target) isForeign(b *transcript.Block) bool {
	if b.Meta == nil && b.Origin == nil && (b.Type == transcript.BlockText || b.Type == transcript.BlockToolUse) {
		return false // without a token anybody can have said it
	}
	return !t.Made(b)
}

// makerOf returns the provider that made a block, "" if it is unknown.
func makerOf(b *transcript.Block) string {
	switch {
	case b.Origin != nil:
		return b.Origin.Provider
	case b.Meta != nil:
		return catalog.ProviderOfToken(string(b.Meta.Provider))
	}
	return ""
}

// nameOf names the provider that made a block in a sentence.
func nameOf(provider string) string {
	if provider == "" {
		return "its origin"
	}
	return provider
}

// eachForeign treats the blocks as foreign for which reason gives one.
func (r *reply) eachForeign(rule string, reason func(b *transcript.Block, maker string) string) {
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if !r.decisions[i].isForeign {
			continue
		}
		if why := reason(b, makerOf(b)); why != "" {
			r.makeForeign(i, rule, why)
		}
	}
}

func (r *reply) dropAnonymousThinking() {
	r.eachForeign(ruleUnsignedThinking, func(b *transcript.Block, _ string) string {
		if b.Type != transcript.BlockReasoning || b.Meta != nil || b.Origin != nil {
			return ""
		}
		return "thinking of unknown origin without a token"
	})
}

func (r *reply) dropForeignBlocks() {
	r.eachForeign(ruleForeignBlock, func(b *transcript.Block, maker string) string {
		if b.Type != transcript.BlockOpaque || maker == r.target.Provider {
			return ""
		}
		return "only " + nameOf(maker) + " understands its " + b.Kind + " blocks"
	})
}

func (r *reply) dropForeignRedacted() {
	r.eachForeign(ruleForeignRedacted, func(b *transcript.Block, maker string) string {
		if maker == r.target.Provider || b.Meta == nil || b.Meta.Provider != transcript.MetaAnthropicRedacted {
			return ""
		}
		return "redacted thinking goes to its origin alone"
	})
}

func (r *reply) dropForeignThinking() {
	r.eachForeign(ruleForeignThinking, func(b *transcript.Block, maker string) string {
		if maker == r.target.Provider || b.Type != transcript.BlockReasoning {
			return ""
		}
		return "thinking of " + nameOf(maker) + " means nothing to " + r.target.Provider
	})
}

func (r *reply) stripForeignTokens() {
	r.eachForeign(ruleForeignToken, func(_ *transcript.Block, maker string) string {
		if maker == r.target.Provider {
			return ""
		}
		return "a token of " + nameOf(maker) + " is sent to no other provider"
	})
}

func (r *reply) stripOtherAccounts() {
	r.eachForeign(ruleOtherAccount, func(b *transcript.Block, maker string) string {
		if maker != r.target.Provider || b.Origin == nil || mayBeSame(b.Origin.API, r.target.API) &&
			SameAccount(b.Origin.Account, r.target.Account) {
			return ""
		}
		return "it was issued to another account or by another API"
	})
}

// stripOtherModels comes last of the rules about foreign blocks: provider, API
// and account of what is left are the target's, so its model is not.
func (r *reply) stripOtherModels() {
	r.eachForeign(ruleOtherModel, func(b *transcript.Block, maker string) string {
		if maker != r.target.Provider || b.Origin == nil {
			return ""
		}
		return r.target.Model.Model + " does not read tokens of " + b.Origin.Model
	})
}

func (r *reply) stripMalformedTokens() {
	if !r.target.Model.Traits.Base64Tokens {
		return
	}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if t := tokenOf(b); r.isKept(i) && t != "" && r.target.Made(b) && !IsBase64(t) {
			r.makeForeign(i, ruleMalformedToken, "its signature is not base64")
		}
	}
}

// dropUnsignedThinking leaves out thinking of the target without a token. Empty
// thinking with a token is kept as it is.
func (r *reply) dropUnsignedThinking() {
	r.eachKept(transcript.BlockReasoning, func(i int, b *transcript.Block) {
		if tokenOf(b) == "" && r.target.Made(b) {
			r.decide(i, drop, ruleUnsignedThinking, "thinking without a token cannot go back")
		}
	})
}

func (r *reply) dropWhileThinkingOff() {
	if !r.target.Model.Traits.RefusesThinkingWhenOff || r.target.Model.Thinks(r.target.Effort) {
		return
	}
	r.eachKept(transcript.BlockReasoning, func(i int, _ *transcript.Block) {
		r.decide(i, drop, ruleThinkingOff, "thinking does not go out while it is turned off")
	})
}

func (r *reply) dropCompactedThinking() {
	r.eachKept(transcript.BlockReasoning, func(i int, _ *transcript.Block) {
		if r.at < r.unboundBefore {
			r.decide(i, drop, ruleCompactedThinking, "it is bound to the conversation before the compaction")
		}
	})
}

func (r *reply) stripRepeatedTokens() {
	for i := range r.Blocks {
		m := identityOf(&r.Blocks[i])
		if m == "" || !r.isKept(i) {
			continue
		}
		again := r.sent[m]
		for j := range r.Blocks[:i] {
			again = again || r.isKept(j) && identityOf(&r.Blocks[j]) == m
		}
		if again {
			r.makeForeign(i, ruleRepeatedToken, "it went back before")
		}
	}
}

// identityOf returns what the origin recognises a block by, "" if by nothing:
// the id of an item, or a token of a certain response.
func identityOf(b *transcript.Block) string {
	switch {
	case b.Meta != nil && b.Meta.ID != "":
		return b.Meta.ID
	case b.Origin == nil || b.Origin.ResponseID == "":
		return ""
	case b.Type == transcript.BlockOpaque:
		return string(b.Raw)
	}
	return tokenOf(b)
}

// stripTornReply holds that the tokens of a reply go back together or not at
// all: without its thinking or a call, the rest is not what was signed.
func (r *reply) stripTornReply() {
	for i := range r.Blocks {
		if !r.tearsReply(i) {
			continue
		}
		for j := range r.Blocks {
			r.makeForeign(j, ruleTornReply, "another part of its reply cannot go back")
		}
		return
	}
}

// tearsReply reports whether leaving this block out makes another reply of the
// rest.
func (r *reply) tearsReply(i int) bool {
	if d := r.decisions[i]; d.disposition != drop || d.rule == ruleCompactedThinking || d.rule == ruleThinkingOff {
		return false // no thinking of the reply is sent at all
	}
	switch r.Blocks[i].Type {
	case transcript.BlockToolUse:
		return true
	case transcript.BlockReasoning, transcript.BlockOpaque:
		return !r.target.Model.Traits.IndependentTokens
	default:
		return false
	}
}

// dropTrailingThinking holds that something follows thinking (for OpenAI's
// items, D-16).
func (r *reply) dropTrailingThinking() {
	traits := &r.target.Model.Traits
	if !traits.RefusesTrailingThinking {
		return
	}
	for i := len(r.Blocks) - 1; i >= 0; i-- {
		b := &r.Blocks[i]
		if r.decisions[i].disposition >= omit || b.Type != transcript.BlockReasoning && r.isVoid(b) {
			continue
		}
		if b.Type != transcript.BlockReasoning {
			return
		}
		for j := range r.Blocks {
			if r.Blocks[j].Type == transcript.BlockReasoning || traits.ItemsNeedThinking {
				r.makeForeign(j, ruleTrailingThinking, "nothing follows the thinking: the reply was cut off")
			}
		}
		return
	}
}
