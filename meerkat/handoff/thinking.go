package handoff

import (
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// thoughts are thinking without a token of a provider that never wants it back:
// leaving it out loses nothing (D-23).
func (r *reply) thoughts() {
	if !r.target.Model.Traits.OmitsUnsignedThinking {
		return
	}
	r.each(transcript.BlockReasoning, func(i int, b *transcript.Block) {
		if token(b) == "" && r.target.Made(b) {
			r.fates[i].kind = unsent
		}
	})
}

// foreign leaves the thinking of others out and takes their tokens off text and
// calls (H1, H2, H3, H5, H11, H18). Nothing takes their place: words that imitate
// thinking teach the model to imitate it (X7).
func (r *reply) foreign() {
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if b.Type == transcript.BlockReasoning && b.Meta == nil && b.Origin == nil {
			r.estrange(i, "H7", "thinking of unknown origin without a token")
			continue
		}
		if r.target.Made(b) || b.Meta == nil && b.Origin == nil && b.Type != transcript.BlockOpaque {
			continue
		}
		rule, reason := r.target.estranged(b)
		r.estrange(i, rule, reason)
	}
}

// estranged says by which rule a block that t did not make stays a stranger.
func (t Target) estranged(b *transcript.Block) (rule, reason string) {
	from := ""
	switch {
	case b.Origin != nil:
		from = b.Origin.Provider
	case b.Meta != nil:
		from = catalog.ProviderOfToken(string(b.Meta.Provider))
	}
	switch {
	case b.Type == transcript.BlockOpaque && from != t.Provider:
		return "H18", "only " + whose(from) + " understands its " + b.Kind + " blocks"
	case from != t.Provider && b.Meta != nil && b.Meta.Provider == transcript.MetaAnthropicRedacted:
		return "H5", "redacted thinking goes to its origin alone"
	case from != t.Provider && b.Type == transcript.BlockReasoning:
		return "H2", "thinking of " + whose(from) + " means nothing to " + t.Provider
	case from != t.Provider:
		return "H11", "a token of " + whose(from) + " goes to nobody else"
	case !same(b.Origin.API, t.API) || !same(b.Origin.Account, t.Account):
		return "H1", "it was issued to another account or by another API"
	}
	return "H3", t.Model.Model + " does not read tokens of " + b.Origin.Model
}

func whose(provider string) string {
	if provider == "" {
		return "its origin"
	}
	return provider
}

// unsigned leaves out what came from the target without a token that could go
// back (H7, H12). Empty thinking with a token is kept as it is (H6).
func (r *reply) unsigned() {
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if r.fates[i].kind != goes || !r.target.Made(b) {
			continue
		}
		switch t := token(b); {
		case r.target.Model.Traits.Base64Tokens && t != "" && !IsBase64(t):
			r.estrange(i, "H12", "its signature is not base64")
		case b.Type == transcript.BlockReasoning && t == "":
			r.set(i, dropped, "H7", "thinking without a token cannot go back")
		}
	}
}

// silenced leaves thinking out while the request does not let the model think,
// where the provider refuses it then.
func (r *reply) silenced() {
	if !r.target.Model.Traits.RefusesThinkingWhenOff || r.target.Model.Thinks(r.target.Effort) {
		return
	}
	r.each(transcript.BlockReasoning, func(i int, _ *transcript.Block) {
		r.set(i, dropped, "A-39", "thinking does not go out while it is turned off")
	})
}

// unboundThinking leaves out thinking that is bound to the conversation as it
// was before a compaction (A-41, ANT-B7).
func (r *reply) unboundThinking() {
	r.each(transcript.BlockReasoning, func(i int, _ *transcript.Block) {
		if r.at < r.unbound {
			r.set(i, dropped, "ANT-B7", "it is bound to the conversation before the compaction")
		}
	})
}

// repeated makes what stands in the history a second time anybody's: an origin
// takes each of its items and tokens once (H9, O-9, A-37).
func (r *reply) repeated() {
	for i := range r.Blocks {
		m := mark(&r.Blocks[i])
		if m == "" || r.fates[i].kind != goes {
			continue
		}
		again := r.sent[m]
		for j := range r.Blocks[:i] {
			again = again || r.fates[j].kind == goes && mark(&r.Blocks[j]) == m
		}
		if again {
			r.estrange(i, "H9", "it went back before")
		}
	}
}

// remember notes what goes back.
func (r *reply) remember() {
	for i := range r.Blocks {
		if m := mark(&r.Blocks[i]); m != "" && r.fates[i].kind == goes {
			if r.sent == nil {
				r.sent = map[string]bool{}
			}
			r.sent[m] = true
		}
	}
}

// mark is what an origin knows a block by, "" if by nothing: the id of an item,
// or a token of a certain response.
func mark(b *transcript.Block) string {
	switch {
	case b.Meta != nil && b.Meta.ID != "":
		return b.Meta.ID
	case b.Origin == nil || b.Origin.ResponseID == "":
		return ""
	case b.Type == transcript.BlockOpaque:
		return string(b.Raw)
	}
	return token(b)
}

// together holds that the tokens of a reply go back together or not at all:
// when thinking or a call had to be left out, what is left is not what was
// signed (H9, A-37).
func (r *reply) together() {
	for i := range r.Blocks {
		if !r.tears(i) {
			continue
		}
		for j := range r.Blocks {
			r.estrange(j, "H9", "another part of its reply cannot go back")
		}
		return
	}
}

// tears reports whether a reply is another without this block.
func (r *reply) tears(i int) bool {
	if rule := r.fates[i].rule; r.fates[i].kind != dropped || rule == "ANT-B7" || rule == "A-39" {
		return false // no thinking of the reply goes out at all
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

// ending holds that thinking is followed by something: a reply that ends with
// it was cut off and is refused (A-40, D-16).
func (r *reply) ending() {
	traits := &r.target.Model.Traits
	if !traits.RefusesTrailingThinking {
		return
	}
	rule := "A-40"
	if traits.ItemsNeedThinking {
		rule = "D-16"
	}
	for i := len(r.Blocks) - 1; i >= 0; i-- {
		b := &r.Blocks[i]
		if r.fates[i].kind >= unsent || b.Type != transcript.BlockReasoning && r.void(b) {
			continue
		}
		if b.Type != transcript.BlockReasoning {
			return
		}
		for j := range r.Blocks {
			if r.Blocks[j].Type == transcript.BlockReasoning || traits.ItemsNeedThinking {
				r.estrange(j, rule, "nothing follows the thinking: the reply was cut off")
			}
		}
		return
	}
}
