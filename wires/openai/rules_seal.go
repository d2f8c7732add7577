package openai

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// originEncrypted is the origin of encrypted_content.
const originEncrypted = "openai/encrypted_content"

var tokenRules = []rule.Rule[*request]{
	liveRule("O-15", "encrypted content is whole and was issued here, to this account", reported, rule.High,
		tokensVerify),
	liveRule("O-15", "encrypted content is under the id it was issued for", reported, rule.High, tokensBelong),
	strictRule(liveRule("O-15", "encrypted content is of a model of the same family", inferred, rule.Medium,
		tokensReadable)),
	strictRule(liveRule("O-12", "the reasoning of a reply is complete and in its order", inferred, rule.Low,
		tokensComplete)),
}

// binding is what an encrypted content tells us of itself. All of it is under
// the seal; nothing but the seal's key is needed to verify it.
type binding struct {
	id, family, account string
	// prefix is the digest of what stood before the reply (rule OAI-B1).
	prefix []byte
	// ordinal and total count the reasoning items of the reply.
	ordinal, total uint16
}

func (b binding) place() seal.Place {
	note := strings.Join([]string{b.family, b.account, hex.EncodeToString(b.prefix)}, "\x00")
	return seal.Place{Reply: b.id, Ordinal: b.ordinal, Total: b.total, Note: note}
}

func bindingOf(p seal.Place) (b binding, ok bool) {
	note := strings.Split(p.Note, "\x00")
	if len(note) != 3 {
		return binding{}, false
	}
	prefix, err := hex.DecodeString(note[2])
	return binding{p.Reply, note[0], note[1], prefix, p.Ordinal, p.Total}, err == nil
}

// openEncrypted opens an encrypted content of this issuer.
func openEncrypted(k seal.Key, token string) (binding, bool) {
	p, _, err := k.OpenFernet(seal.Facts{Origin: originEncrypted}, token)
	if err != nil {
		return binding{}, false
	}
	return bindingOf(p)
}

// eachEncrypted calls f with each item that has an encrypted content, until f refuses.
func (q *request) eachEncrypted(f func(it *item) *rule.Refusal) *rule.Refusal {
	for i := range q.items {
		it := &q.items[i]
		if it.typ != "reasoning" && it.typ != "compaction" || !it.Has("encrypted_content") {
			continue
		}
		if refusal := f(it); refusal != nil {
			return refusal
		}
	}
	return nil
}

// originPlace is where a reasoning item stood: its id tells, or the one inside its
// seal when the client left it out.
func (i *item) originPlace(k seal.Key) (place, bool) {
	if i.issued || !i.ours {
		return i.place, i.issued
	}
	return openID(k, i.binding.id, i.binding.account)
}

func tokensVerify(q *request, env rule.Env) *rule.Refusal {
	return q.eachEncrypted(func(it *item) *rule.Refusal {
		if it.ours && it.binding.account == q.account || !it.ours && env.ForeignTokens {
			return nil
		}
		return tokenUnverified(it, "Encrypted content could not be decrypted or parsed.")
	})
}

func tokensBelong(q *request, _ rule.Env) *rule.Refusal {
	return q.eachEncrypted(func(it *item) *rule.Refusal {
		if !it.ours || it.id == "" || it.id == it.binding.id {
			return nil
		}
		return tokenUnverified(it, "Encrypted content item_id did not match the target item id.")
	})
}

func tokensReadable(q *request, _ rule.Env) *rule.Refusal {
	return q.eachEncrypted(func(it *item) *rule.Refusal {
		if !it.ours || it.binding.family == q.model.Family {
			return nil
		}
		return tokenUnverified(it, "Encrypted content could not be decrypted or parsed.")
	})
}

func tokenUnverified(it *item, reason string) *rule.Refusal {
	what := "for item " + it.id
	if it.id == "" {
		what = shortenToken(it.Text("encrypted_content"))
	}
	return invalid("invalid_encrypted_content", "", "The encrypted content %s could not be verified. Reason: %s",
		what, reason)
}

// shortenToken shows both ends of a token.
func shortenToken(token string) string {
	const end = 4
	if len(token) <= 2*end {
		return token
	}
	return token[:end] + "..." + token[len(token)-end:]
}

// tokensComplete looks at the reasoning of each reply that any of is left: all
// of it must be there, in order.
func tokensComplete(q *request, env rule.Env) *rule.Refusal {
	var reply [13]byte
	var last binding // of that reply
	var next uint16
	refusal := q.eachEncrypted(func(it *item) *rule.Refusal {
		p, ok := it.originPlace(env.Key)
		if !it.ours || !ok {
			return nil
		}
		if p.reply != reply {
			if next < last.total {
				return reasoningAlone(last.id)
			}
			reply, next = p.reply, 0
		}
		if last = it.binding; last.ordinal != next {
			return reasoningAlone(last.id)
		}
		next++
		return nil
	})
	if refusal == nil && next < last.total {
		return reasoningAlone(last.id)
	}
	return refusal
}

// droppedReasoning says which reasoning is dropped because what stands before it
// has changed (rule OAI-B1); nil for none.
func (q *request) droppedReasoning() script.Array {
	if !q.model.hasTrait(binds) {
		return nil
	}
	var dropped script.Array
	prefixes, _ := q.prefixDigests()
	for i := range q.items {
		it := &q.items[i]
		if it.typ == "reasoning" && it.ours && !bytes.Equal(it.binding.prefix, prefixes[i]) {
			dropped = append(dropped, script.Object{"type", "reasoning_dropped", "item_id", it.binding.id, "reason",
				"prefix_mismatch"})
		}
	}
	return dropped
}
