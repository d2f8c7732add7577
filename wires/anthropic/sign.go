package anthropic

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// signReply returns the token of each block of a reply, "" for one without, and what
// the reply says about the thinking of its request: under the beta of binding
// controls that is the last field of the message.
func signReply(r script.Reply) (tokens []string, notes script.Object) {
	c, ok := r.Request.Parsed.(*call)
	if !ok {
		c = parseCall(nil, r.Request.Body)
	}
	if c.model == nil {
		c.model = &model{id: r.Request.Model}
	}
	v := c.continueFrom(r.Key)
	if c.hasBeta(betaBinding) {
		notes = script.Object{"input_transformations", v.droppedThinking()}
	}
	return v.signBlocks(r), notes
}

// continueFrom returns a verifier at the end of the conversation, where the
// reply begins. It uses what Check has found out, unless Check used another key.
func (c *call) continueFrom(k seal.Key) *verifier {
	if c.tokens == nil || c.tokens.key != k {
		return c.verifyTokens(k, true)
	}
	v := *c.tokens
	v.prefix = v.prefix.clone()
	return &v
}

// droppedThinking lists the thinking that was dropped (ANT-B4, A-42).
func (v *verifier) droppedThinking() script.Array {
	list := script.Array{}
	for _, d := range v.defects {
		if d.reason != "" {
			list = append(list, script.Object{"type", "thinking_dropped", "path", d.path(), "reason", d.reason})
		}
	}
	return list
}

// signBlocks walks on through the reply from where the conversation ended.
func (v *verifier) signBlocks(r script.Reply) []string {
	tokens := make([]string, len(r.Blocks))
	all := claimsOf(r)
	turns := v.nextTurn()
	if made := compactionOf(r); made != nil && v.model.binds {
		v.prefix.addBlock("assistant", made.node())
	}
	for n, b := range r.Blocks {
		s, ok := all[n]
		if !ok && !v.model.binds {
			continue
		}
		if !ok {
			for _, said := range prefixTexts(r, n, b) {
				v.prefix.writeText("assistant", said)
			}
			continue
		}
		s.model, s.account, s.turns = v.model.id, v.account, turns
		s.compacted, s.bound = v.prefix.compacted, v.model.binds
		if s.bound {
			s.system, s.tools, s.before, s.previous = v.prefix.system, v.prefix.tools, v.prefix.sum(), v.previous
		}
		origin := originSignature
		if b.Kind == specs.KindRedacted {
			origin = originRedacted
		}
		tokens[n] = s.signToken(r.Key, origin, len(thoughtText(b)))
		v.previous = digestOf([]byte(tokens[n]))
	}
	return tokens
}

// nextTurn numbers the reply's turn behind all of which thinking is kept: who cuts
// the beginning off a conversation leaves turns that count more than stand there.
func (v *verifier) nextTurn() uint16 {
	if len(v.replies) == 0 {
		return v.spokenBefore()
	}
	return max(v.spokenBefore(), v.newest+1)
}

// spokenBefore counts the assistant's turns before the reply. A reply to a
// request that ends with one continues it.
func (v *verifier) spokenBefore() uint16 {
	n := 0
	for i, t := range v.turns {
		if t.role == "assistant" && i < len(v.turns)-1 {
			n++
		}
	}
	return uint16(min(n, 1<<16-1))
}

// claimsOf returns the claims of the thinking blocks of a reply, by the index of
// the block.
func claimsOf(r script.Reply) map[int]claims {
	all := map[int]claims{}
	var order []int
	for n, b := range r.Blocks {
		if b.Kind != specs.KindThinking && b.Kind != specs.KindRedacted {
			continue
		}
		s := claims{omitted: b.Kind == specs.KindThinking && thoughtText(b) == "", content: digestOf([]byte(thoughtText(b)))}
		s.Reply, s.Ordinal = messageID(r), uint16(len(order))
		if s.run = s.Ordinal; n > 0 && slices.Contains(order, n-1) {
			s.run = all[n-1].run
		}
		order = append(order, n)
		all[n] = s
	}
	for n, s := range all {
		s.Total = uint16(len(order))
		all[n] = s
	}
	return all
}

// prefixTexts is a block of a reply as the prefix of the next counts it.
func prefixTexts(r script.Reply, n int, b script.Block) [][]byte {
	switch {
	case b.Kind == specs.KindCall:
		input, _ := tree.ParseStrict(b.Arguments(), tree.MaxDepth)
		return [][]byte{appendCall(nil, callID(r, n), b.Name, input)}
	case isHosted(b):
		var said [][]byte
		use, result := hostedBlocks(r, n, b)
		for _, block := range []script.Object{use, result} {
			in, _ := tree.ParseStrict(script.JSON(block), tree.MaxDepth)
			said = append(said, appendBlock(nil, in))
		}
		return said
	case b.Text == "":
		return nil
	}
	return [][]byte{appendText(nil, b.Text)}
}
