package anthropic

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
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
	return &prefix{system: digestOf(appendContent(nil, c.root.given("system"))), tools: digestOf(appendTools(nil, c.root)), said: sha256.New()}
}

// appendContent writes text as the list of one block that it stands for.
func appendContent(out []byte, content *node) []byte {
	if content.is('"') {
		return appendText(out, content.text)
	}
	for i := range content.list() {
		out = appendBlock(out, &content.items[i])
	}
	return out
}

// appendTools leaves out deferred tools: adding one is no edit.
func appendTools(out []byte, root *node) []byte {
	for _, t := range root.get("tools").list() {
		if !t.get("defer_loading").yes() {
			out = append(t.canonical(out), '\n')
		}
	}
	return out
}

func appendText(out []byte, text string) []byte {
	return append(strconv.AppendQuote(append(out, "text "...), text), '\n')
}

func appendCall(out []byte, id, name string, input *node) []byte {
	out = strconv.AppendQuote(append(out, "tool_use "...), id)
	out = strconv.AppendQuote(out, name)
	return append(input.canonical(out), '\n')
}

// appendBlock writes what a block means. Fields that SDKs add or drop without
// meaning anything are left out.
func appendBlock(out []byte, b *node) []byte {
	switch kind := b.get("type").str(); kind {
	case "thinking", "redacted_thinking", script.FutureBlock:
		return out
	case "text":
		return appendText(out, b.get("text").str())
	case "tool_use":
		return appendCall(out, b.get("id").str(), b.get("name").str(), b.get("input"))
	case "tool_result":
		out = strconv.AppendQuote(append(out, "tool_result "...), b.get("tool_use_id").str())
		out = strconv.AppendBool(out, b.get("is_error").yes())
		return append(appendContent(out, b.get("content")), '\n')
	default:
		return append(withoutQuery(b).canonical(out), '\n')
	}
}

// withoutQuery drops what rotates in a signed URL: the check is of the bytes
// behind it, which are not fetched here.
func withoutQuery(b *node) *node {
	source := b.get("source")
	if source.get("type").str() != "url" {
		return b
	}
	url, _, _ := strings.Cut(source.get("url").str(), "?")
	return &node{kind: '{', names: []string{"type", "url"}, items: []node{{kind: '"', text: b.get("type").str()}, {kind: '"', text: url}}}
}

// add counts a block of a role in.
func (p *prefix) add(role string, b block) {
	if b.kind == "compaction" {
		p.said.Reset()
		p.compacted = true
	}
	if b.node == nil {
		p.write(role, appendText(nil, b.text))
		return
	}
	p.write(role, appendBlock(nil, b.node))
}

func (p *prefix) write(role string, text []byte) {
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
