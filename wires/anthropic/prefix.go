package anthropic

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

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
	if !c.model.binds {
		return &prefix{}
	}
	return &prefix{system: digestOf(appendSystem(nil, c.root.Given("system"))), tools: digestOf(appendTools(nil, c.root)), said: sha256.New()}
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
