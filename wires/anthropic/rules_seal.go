package anthropic

import (
	"fmt"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

var tokenRules = []anthropicRule{
	sureRule("A-34", "documented", "a signature verifies: unaltered, of this account, over this text",
		tokensValid("A-34")),
	sureRule("A-36", "reported", "redacted data verifies", tokensValid("A-36")),
	sureRule("ANT-T6", "reported", "a text is not emptied under its signature", tokensValid("ANT-T6")),
	sureRule("A-37", "documented", "the thinking of the latest turn is as issued: unedited, in order, none left out",
		tokensValid("A-37")),
	doubtfulRule("A-37", "inferred", "no thinking stands after more turns than there were when it was issued",
		tokensValid(ruleMoved)),
	sureRule("A-41", "documented", "thinking is bound to system, tools and messages as they were", tokensValid("A-41")),
	sureRule("ANT-B2", "reported", "bound thinking has the thinking before it that it had", tokensValid("ANT-B2")),
}

// ruleMoved is A-37 as far as only strictness asks for it.
const ruleMoved = "A-37 moved"

// defect is what is wrong with a thinking block, or why it is dropped.
type defect struct {
	rule    string // "" when it is dropped only
	text    string
	message int
	index   int
	reason  string // of the drop
	note    string // what is wrong, where the provider's words do not say
}

func (d defect) path() string { return fmt.Sprintf("messages.%d.content.%d", d.message, d.index) }

// tokensValid refuses with the first defect of the seals if it is one of this rule.
func tokensValid(id string) func(*call, rule.Env) *rule.Refusal {
	return func(c *call, env rule.Env) *rule.Refusal {
		for _, d := range c.inspectTokens(env.Key, env.ForeignTokens) {
			if d.rule == id {
				refusal := invalid("%s", d.text)
				refusal.Note = d.note
				return refusal
			}
		}
		return nil
	}
}

// inspectTokens verifies all thinking of the request, once.
func (c *call) inspectTokens(k seal.Key, foreign bool) []defect {
	if c.model == nil {
		return nil
	}
	if c.tokens == nil {
		c.tokens = c.verifyTokens(k, foreign)
	}
	return c.tokens.defects
}

// verifyTokens walks through the whole conversation.
func (c *call) verifyTokens(k seal.Key, foreign bool) *verifier {
	v := &verifier{
		call: c, key: k, foreign: foreign, account: digestOf([]byte(seal.Account(c.apiKey()))),
		prefix: newPrefix(c), latest: c.latestAssistantTurn(),
	}
	v.replies = map[string]bool{}
	spoken := 0
	for i, t := range v.turns {
		v.issued = v.issued[:0]
		for at, b := range t.blocks {
			if b.isThinking() {
				latest := i == v.latest
				id, words, token, origin := "A-34", wrongSignature, b.Text("signature"), originSignature
				if b.kind == "redacted_thinking" {
					id, words, token, origin = "A-36", wrongData, b.Text("data"), originRedacted
				}
				s, ok := openToken(v.key, origin, token)
				switch {
				case !ok && v.foreign:
				case !ok && token == "":
					v.addDefect(id, b, words, "the token is empty")
				case !ok:
					v.addDefect(id, b, words, "the token was altered, cut, or not issued here as this kind of block")
				case s.account != v.account:
					v.addDefect(id, b, words, "the token was issued to another account")
				case !v.canRead(s):
					v.addDropped(b, reasonModel)
				default:
					v.inspectText(b, s, latest)
					v.issued = append(v.issued, placed{b, s, at})
					v.checkBinding(b, s, token)
				}
			} else if v.model.hasTrait(canBind) {
				v.prefix.addBlock(t.role, b)
			}
		}
		if t.role != "assistant" {
			continue
		}
		if i == v.latest {
			v.checkSequence(spoken)
		}
		for _, p := range v.issued {
			v.replies[p.Reply] = true
			v.newest = max(v.newest, p.turns)
		}
		spoken++
	}
	return v
}

const (
	wrongSignature = "Invalid `signature` in `thinking` block"
	wrongData      = "Invalid `data` in `redacted_thinking` block"
	modified       = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."

	textEdited = "the text is not the one that was issued with the token"

	reasonPrefix = "prefix_binding_mismatch"
	reasonModel  = "model_binding_mismatch"
)

// verifier walks through a conversation as the API does. It remembers nothing
// of it: each token says what it was issued for.
type verifier struct {
	*call
	key      seal.Key
	foreign  bool
	account  digest
	prefix   *prefix
	previous digest // of the last kept token
	latest   int
	defects  []defect
	issued   []placed // in the turn under inspection
	replies  map[string]bool
	newest   uint16 // the latest turn that a token of an earlier turn was issued for
}

// placed is a verified token and where it stands.
type placed struct {
	block
	claims
	at int // in the turn
}

func (v *verifier) addDefect(rule string, b block, words, note string) {
	d := defect{rule: rule, message: b.message, index: b.index, note: note}
	d.text = d.path() + ": " + words
	v.defects = append(v.defects, d)
}

func (v *verifier) addDropped(b block, reason string) {
	v.defects = append(v.defects, defect{message: b.message, index: b.index, reason: reason})
}

func (v *verifier) canRead(s claims) bool {
	by := modelOf(s.model)
	return by != nil && v.model.readsThinkingOf(by)
}

// inspectText holds the text against the one that was issued. An edit in the
// latest turn has words of its own.
func (v *verifier) inspectText(b block, s claims, latest bool) {
	thought := b.Text("thinking")
	switch {
	case b.kind != "thinking" || s.omitted || digestOf([]byte(thought)) == s.content:
	case thought == "":
		v.defects = append(v.defects, defect{rule: "ANT-T6", message: b.message, index: b.index,
			text: defect{message: b.message, index: b.index}.path() +
				".thinking: each thinking block must contain thinking"})
	case latest:
		v.addDefect("A-37", b, modified, textEdited)
	default:
		v.addDefect("A-34", b, wrongSignature, textEdited)
	}
}

// checkSequence holds the thinking of the latest turn against the replies that it was
// issued in: blocks that nothing separates must be just those that nothing
// separated, and of no reply may one be missing.
func (v *verifier) checkSequence(spoken int) {
	for i, p := range v.issued {
		var before *placed
		if i > 0 {
			before = &v.issued[i-1]
		}
		rule := "A-37"
		var note string
		switch {
		case v.replies[p.Reply]:
			note = "an earlier turn has thinking of the same reply"
		case p.turns < v.newest:
			note = "it was issued before the thinking of an earlier turn"
		case !mayFollow(before, p):
			note = "it does not stand where it was issued among the thinking of its reply: one is missing, moved or apart"
		case i == len(v.issued)-1 && p.Ordinal+1 != p.Total:
			note = "the thinking that followed it in its reply is missing"
		case int(p.turns) < spoken:
			rule, note = ruleMoved, "it was issued for an earlier turn"
		default:
			continue
		}
		v.addDefect(rule, p.block, modified, note)
		return
	}
}

// mayFollow reports whether a block may come right after before, which is nil for
// the first.
func mayFollow(before *placed, p placed) bool {
	switch {
	case before == nil:
		return p.Ordinal == 0
	case before.Reply != p.Reply:
		return p.Ordinal == 0 && before.Ordinal+1 == before.Total && before.at+1 < p.at
	}
	together := before.run == p.run
	return p.Ordinal == before.Ordinal+1 && together == (before.at+1 == p.at)
}

// checkBinding checks a block against the conversation before it, for models that bind
// their thinking (A-41, ANT-B1 to B4). A block that fails is dropped if the
// request asks for it.
func (v *verifier) checkBinding(b block, s claims, token string) {
	if words := v.prefixMismatch(s); words != "" {
		if v.dropsMismatches() {
			v.addDropped(b, reasonPrefix)
			return
		}
		id, said := "A-41", wrongSignature+
			". The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
		if words == missingThought {
			id = "ANT-B2"
		}
		if !v.hasBeta(betaBinding) {
			said += " That setting requires the `" + betaBinding + "` value in the `anthropic-beta` header."
		}
		if words != unnamed {
			said += " " + words
		}
		v.addDefect(id, b, said, "")
	}
	v.previous = digestOf([]byte(token))
}

const (
	systemDiffers  = "The `system` prompt differs from the one this block was created with."
	toolsDiffer    = "The `tools` list differs from the one this block was created with."
	missingThought = "The `thinking` block that preceded this one when it was created is missing from this request."
	unnamed        = "?"
)

// prefixMismatch says what differs, "" for nothing. Thinking that was issued before a
// compaction cannot be held against what it replaced (ANT-B7).
func (v *verifier) prefixMismatch(s claims) string {
	switch before := v.previous; {
	case !v.model.hasTrait(canBind) || !s.bound:
		return ""
	case s.system != v.prefix.system:
		return systemDiffers
	case s.tools != v.prefix.tools:
		return toolsDiffer
	case v.prefix.compacted && !s.compacted:
		return ""
	case before != digest{} && s.previous != before:
		return missingThought
	case s.before != v.prefix.sum():
		return unnamed
	}
	return ""
}

// dropsMismatches reports whether the request wants mismatching thinking dropped.
func (c *call) dropsMismatches() bool {
	return c.hasBeta(betaBinding) &&
		c.root.Given("thinking").Given("block_binding").Text("prefix_mismatch_behavior") == "drop_block"
}
