package openai

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// signedReply is a reply and what the request settles about it.
type signedReply struct {
	script.Reply
	q *request
	// reply is what all its ids share.
	reply [13]byte
	// prefix is the digest of the request for models that bind their thoughts to
	// it, else nil (rule OAI-B1).
	prefix []byte
	// dropped says which thoughts of the request count no more for that.
	dropped script.Array
	// spoken are the blocks that have an item here, in order.
	spoken []int
	// ids are those of the blocks' items, "" before they are asked for; own is
	// that of the response.
	ids []string
	own string
}

func newSignedReply(r script.Reply) *signedReply {
	q := requestOf(r)
	r.Blocks = q.withSearches(r.Blocks)
	v := &signedReply{Reply: r, q: q, reply: replyOf(r), ids: make([]string, len(r.Blocks)),
		spoken: make([]int, 0, len(r.Blocks))}
	if v.q.model.hasTrait(binds) {
		_, v.prefix = v.q.prefixDigests()
		v.dropped = v.q.droppedReasoning()
	}
	for n := range r.Blocks {
		if r.Blocks[n].Kind != specs.KindSignedText || r.Blocks[n].Text != "" {
			v.spoken = append(v.spoken, n)
		}
	}
	return v
}

// requestOf is what the reply answers, as the holder of its key sees it. Without
// a request that was read nothing is echoed.
func requestOf(r script.Reply) *request {
	q, read := r.Request.Parsed.(*request)
	if read && q.tokensOpened && q.by == r.Key {
		return q
	}
	var body *tree.Node
	if read {
		body = q.body
	}
	q = newRequest(body, r.Request.Account)
	q.openTokens(r.Key)
	return q
}

func isThinking(b script.Block) bool {
	return b.Kind == specs.KindThinking || b.Kind == specs.KindRedacted
}

func (v *signedReply) prefixOf(b script.Block) string {
	switch {
	case isThinking(b):
		return prefixReasoning
	case b.Kind == specs.KindCall && v.q.clientTool(b.Name).custom:
		return prefixCustom
	case b.Kind == specs.KindCall && v.q.clientTool(b.Name).search:
		return prefixFind
	case b.Kind == specs.KindCall:
		return prefixCall
	case b.Kind == kindToolSearch:
		return prefixFind
	case b.Kind == kindToolsFound:
		return prefixFound
	case b.Kind == specs.KindSearch:
		return prefixSearch
	case b.Kind == specs.KindCode:
		return prefixCode
	}
	return prefixMessage
}

func (v *signedReply) responseID() string {
	if v.own == "" {
		v.own = place{prefix: prefixResponse, reply: v.reply, stored: v.q.store, account: v.q.account}.signID(v.Key)
	}
	return v.own
}

// itemID is that of the item of block n: it tells where the item stood.
func (v *signedReply) itemID(n int) string {
	if v.ids[n] == "" {
		v.ids[n] = v.placeOf(n).signID(v.Key)
	}
	return v.ids[n]
}

// placeOf is where the item of block n stands.
func (v *signedReply) placeOf(n int) place {
	p := place{prefix: v.prefixOf(v.Blocks[n]), reply: v.reply, stored: v.q.store, account: v.q.account}
	for i, m := range v.spoken {
		if m == n {
			p.ordinal = uint8(i)
			if i+1 < len(v.spoken) {
				p.next = v.prefixOf(v.Blocks[v.spoken[i+1]])
			}
			break
		}
		if p.run++; !isThinking(v.Blocks[m]) {
			p.run = 0
		}
	}
	return p
}

func (v *signedReply) callID(n int) string { return v.ID("call_", n, script.Alnum, 24) }

// itemAt is the finished output item of block n as stage shows it.
func (v *signedReply) itemAt(n int, stage seal.Stage, status string) script.Object {
	b := v.Blocks[n]
	switch {
	case isThinking(b):
		summary := script.Array{}
		for _, part := range b.Parts {
			summary = append(summary, summaryPart(part))
		}
		return v.reasoningItem(n, stage, summary)
	case b.Kind == specs.KindCall:
		return v.callItem(n, status, streamed(b))
	case isToolSearch(b):
		return v.toolSearchItem(n, "completed")
	case isHosted(b):
		return v.hostedItem(n, "completed", true)
	default: // text, signed or not
		return v.messageItem(n, status, script.Array{v.contentPart(b.Text)})
	}
}

func (v *signedReply) reasoningItem(n int, stage seal.Stage, summary script.Array) script.Object {
	o := script.Object{"id", v.itemID(n), "type", "reasoning", "content", script.Array{}}
	if v.Request.IssuesTokens {
		o = append(o, "encrypted_content", v.encryptedContent(n, stage))
	}
	return append(o, "summary", summary)
}

// encryptedContent is bound to the item's id, the account, the family of the model and
// what stood before: it does not verify elsewhere (rule O-15).
func (v *signedReply) encryptedContent(n int, stage seal.Stage) string {
	b := binding{id: v.itemID(n), family: v.q.model.Family, account: v.q.account, prefix: v.prefix}
	for i := range v.Blocks {
		if isThinking(v.Blocks[i]) {
			b.total++
			if i < n {
				b.ordinal++
			}
		}
	}
	return v.Key.Fernet(seal.Facts{Origin: originEncrypted}, b.place(), stage, v.At)
}

// callItem is the call of a tool of the client. One of a namespace names that.
func (v *signedReply) callItem(n int, status, arguments string) script.Object {
	tool := v.q.clientTool(v.Blocks[n].Name)
	if tool.search {
		return v.searchItem(n, status, arguments)
	}
	o := script.Object{"id", v.itemID(n), "type", "function_call", "status", status, "arguments", arguments,
		"call_id", v.callID(n), "name", v.Blocks[n].Name}
	if tool.custom {
		o = script.Object{"id", v.itemID(n), "type", "custom_tool_call", "status", status, "call_id", v.callID(n),
			"input", arguments, "name", v.Blocks[n].Name}
	}
	switch {
	case tool.namespace != "":
		o = append(o, "namespace", tool.namespace)
	case tool.deferred:
		o = append(o, "namespace", tool.name)
	}
	return o
}

// searchItem looks for tools among those of the client. Its arguments are an object, no
// text that holds one, and come in one piece.
func (v *signedReply) searchItem(n int, status, arguments string) script.Object {
	if arguments == "" {
		arguments = "{}"
	}
	return script.Object{"id", v.itemID(n), "type", "tool_search_call", "status", status, "arguments",
		script.Raw(arguments),
		"call_id", v.callID(n), "execution", "client"}
}

func (v *signedReply) messageItem(n int, status string, content script.Array) script.Object {
	o := script.Object{"id", v.itemID(n), "type", "message", "status", status, "content", content}
	if v.q.model.hasTrait(canPhase) {
		o = append(o, "phase", v.messagePhase(n))
	}
	return append(o, "role", "assistant")
}

// messagePhase is what newer models say of a message: commentary before a call, else
// the final answer.
func (v *signedReply) messagePhase(n int) string {
	for _, b := range v.Blocks[n:] {
		if b.Kind == specs.KindCall {
			return "commentary"
		}
	}
	return "final_answer"
}

func textPart(text string) script.Object {
	return script.Object{"type", "output_text", "annotations", script.Array{}, "logprobs", script.Array{}, "text", text}
}

func summaryPart(text string) script.Object {
	return script.Object{"type", "summary_text", "text", text}
}
