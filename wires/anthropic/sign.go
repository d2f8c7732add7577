package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strconv"
	"strings"

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
		c.model = &model{ID: r.Request.Model, Family: "classic"}
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
	if made := compactionOf(r); made != nil && v.model.hasTrait(canBind) {
		v.prefix.addBlock("assistant", made.node())
	}
	for n, b := range r.Blocks {
		s, ok := all[n]
		if !ok && !v.model.hasTrait(canBind) {
			continue
		}
		if !ok {
			for _, said := range prefixTexts(r, n, b) {
				v.prefix.writeText("assistant", said)
			}
			continue
		}
		s.model, s.account, s.turns = v.model.ID, v.account, turns
		s.compacted, s.bound = v.prefix.compacted, v.model.hasTrait(canBind)
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
		s := claims{omitted: b.Kind == specs.KindThinking && thoughtText(b) == "",
			content: digestOf([]byte(thoughtText(b)))}
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

// The origins of Anthropic's tokens.
const (
	originSignature = "anthropic/signature"
	originRedacted  = "anthropic/redacted"
)

// digest tells two values apart; it need not resist an attacker, the token's tag
// does.
type digest [8]byte

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:8])
}

// claims is what a token says of the thinking it was issued with. Each fact is
// kept apart, so that the refusal can say which of them differs (A-34, A-36,
//
type claims struct {
	seal.Place        // its note is what follows
	model      string // its id
	account    digest // it was issued to
	turns      uint16 // of the assistant before the one it belongs to
	run        uint16 // the ordinal of the first of the thinking blocks around it that nothing separates
	omitted    bool   // its text was withheld, so whatever is sent in its place is ignored
	bound      bool   // to what follows
	compacted  bool   // that begins at a compaction
	content    digest
	system     digest
	tools      digest
	before     digest // all messages before it, without thinking
	previous   digest // of the token of the thinking before it, zero for none
}

const (
	flagOmitted = 1 << iota
	flagBound
	flagCompacted
)

// noteSize is the length of a note without the model's name.
const noteSize = 1 + 2*2 + 6*8

// signToken returns the token. size is the length in bytes of the thought.
func (s claims) signToken(k seal.Key, origin string, size int) string {
	var flags byte
	for bit, on := range map[byte]bool{flagOmitted: s.omitted, flagBound: s.bound, flagCompacted: s.compacted} {
		if on {
			flags |= bit
		}
	}
	b := []byte{flags}
	for _, n := range []uint16{s.turns, s.run} {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	for _, d := range []digest{s.account, s.content, s.system, s.tools, s.before, s.previous} {
		b = append(b, d[:]...)
	}
	s.Note = string(append(b, s.model...))
	return k.EnvelopeFor(size, seal.Facts{Origin: origin}, s.Place)
}

// openToken reads a token. ok is false for one that was never issued like this.
func openToken(k seal.Key, origin, token string) (claims, bool) {
	p, err := k.OpenEnvelope(seal.Facts{Origin: origin}, token)
	if err != nil {
		return claims{}, false
	}
	b := []byte(p.Note)
	if len(b) < noteSize {
		return claims{}, false
	}
	s := claims{Place: p, omitted: b[0]&flagOmitted != 0, bound: b[0]&flagBound != 0,
		compacted: b[0]&flagCompacted != 0}
	b = b[1:]
	for _, n := range []*uint16{&s.turns, &s.run} {
		*n, b = binary.BigEndian.Uint16(b), b[2:]
	}
	for _, d := range []*digest{&s.account, &s.content, &s.system, &s.tools, &s.before, &s.previous} {
		*d, b = digest(b[:8]), b[8:]
	}
	s.model = string(b)
	return s, true
}

// prefix digests what stands before a thinking block, block by block, as far as
// prefix binding counts it (A-41 and the table of what counts as an edit): the
// meaning of blocks, not their thinking, cache marks, spelling or grouping into
// messages.
type prefix struct {
	system, tools digest
	said          hash.Hash
	compacted     bool
}

// newPrefix begins one. For models that bind nothing it takes nothing in.
func newPrefix(c *call) *prefix {
	if !c.model.hasTrait(canBind) {
		return &prefix{}
	}
	return &prefix{system: digestOf(appendSystem(nil, c.root.Given("system"))),
		tools: digestOf(appendTools(nil, c.root)), said: sha256.New()}
}

// attribution begins the system block in which Claude Code says who asks. It holds
// a checksum of the request and the id of the prompt, so it differs from request
// to request; the API takes it out before it looks at the prompt.
const attribution = "x-anthropic-billing-header:"

// appendSystem writes a system prompt without the attribution block, which only the
// first block can be.
func appendSystem(out []byte, system *tree.Node) []byte {
	for i := range system.List() {
		if b := system.Items()[i]; i > 0 || !strings.HasPrefix(b.Text("text"), attribution) {
			out = appendBlock(out, b)
		}
	}
	if system.Is(tree.String) {
		out = appendText(out, system.Text())
	}
	return out
}

// appendContent writes text as the list of one block that it stands for.
func appendContent(out []byte, content *tree.Node) []byte {
	if content.Is(tree.String) {
		return appendText(out, content.Text())
	}
	for i := range content.List() {
		out = appendBlock(out, content.Items()[i])
	}
	return out
}

// appendTools leaves out deferred tools: adding one is not an edit.
func appendTools(out []byte, root *tree.Node) []byte {
	for _, t := range root.List("tools") {
		if !t.True("defer_loading") {
			out = append(canonical.Append(out, t), '\n')
		}
	}
	return out
}

func appendText(out []byte, text string) []byte {
	return append(strconv.AppendQuote(append(out, "text "...), text), '\n')
}

func appendCall(out []byte, id, name string, input *tree.Node) []byte {
	out = strconv.AppendQuote(append(out, "tool_use "...), id)
	out = strconv.AppendQuote(out, name)
	return append(canonical.Append(out, input), '\n')
}

// appendBlock writes what a block means. Fields that SDKs add or drop without
// meaning anything are left out.
func appendBlock(out []byte, b *tree.Node) []byte {
	switch kind := b.Text("type"); kind {
	case "thinking", "redacted_thinking", script.FutureBlock:
		return out
	case "text":
		return appendText(out, b.Text("text"))
	case "tool_use":
		return appendCall(out, b.Text("id"), b.Text("name"), b.Get("input"))
	case "tool_result":
		out = strconv.AppendQuote(append(out, "tool_result "...), b.Text("tool_use_id"))
		out = strconv.AppendBool(out, b.True("is_error"))
		return append(appendContent(out, b.Get("content")), '\n')
	default:
		return append(canonical.Append(out, withoutQuery(b)), '\n')
	}
}

// withoutQuery drops what rotates in a signed URL: the check is of the bytes
// behind it, which are not fetched here.
func withoutQuery(b *tree.Node) *tree.Node {
	source := b.Get("source")
	if source.Text("type") != "url" {
		return b
	}
	url, _, _ := strings.Cut(source.Text("url"), "?")
	return tree.NewObject([]string{"type", "url"}, tree.NewString(b.Text("type")), tree.NewString(url))
}

// addBlock counts a block of a role in.
func (p *prefix) addBlock(role string, b block) {
	if b.kind == "compaction" {
		p.said.Reset()
		p.compacted = true
	}
	if b.Node == nil {
		p.writeText(role, appendText(nil, b.text))
		return
	}
	p.writeText(role, appendBlock(nil, b.Node))
}

func (p *prefix) writeText(role string, text []byte) {
	if p.said != nil && len(bytes.TrimSpace(text)) > 0 {
		p.said.Write(append([]byte(role+" "), text...))
	}
}

func (p *prefix) clone() *prefix {
	copied := *p
	if p.said != nil {
		copied.said, _ = p.said.(hash.Cloner).Clone() // SHA-256 always can
	}
	return &copied
}

// sum is the digest of what was added so far.
func (p *prefix) sum() digest { return digest(p.said.Sum(nil)[:8]) }

// canonical writes a value for a digest. Members that are null and cache marks are
// left out: no digest of a conversation counts them.
var canonical = tree.Canonical{Omit: func(name string, value *tree.Node) bool {
	return name == "cache_control" || value.Is(tree.Null)
}}
