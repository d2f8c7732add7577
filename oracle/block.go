// Package oracle holds the official SDKs as judges of our decoders. It is a
// module of its own so that users of the project do not download the SDKs.
//
// Each judge turns the bytes of a streamed reply into Blocks with nothing but
// the provider's own SDK; the tests then ask whether our parsers read the same
// reply the same way.
package oracle

import (
	"bytes"
	"encoding/json"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Block is what both sides must agree on: kind, order, text, call, token.
type Block struct {
	Kind  string // text, reasoning, tool_use, or the provider's own type name
	Text  string
	ID    string
	Name  string
	Args  string // canonical JSON, or the bytes themselves when they are not JSON
	Token string // signature, redacted data, or thoughtSignature bytes
}

// Ours restates our blocks in the terms of the judges.
func Ours(blocks []transcript.Block) []Block {
	var out []Block
	for i := range blocks {
		out = append(out, ours(&blocks[i]))
	}
	return out
}

func ours(b *transcript.Block) Block {
	j := Block{Kind: string(b.Type), Text: b.Text, ID: b.ID, Name: b.Name, Token: token(b.Meta)}
	switch b.Type {
	case transcript.BlockToolUse:
		j.Args = canonical(b.Args)
	case transcript.BlockOpaque:
		j = Block{Kind: b.Kind, Token: token(b.Meta)}
	case transcript.BlockText, transcript.BlockReasoning:
	}
	return j
}

func token(m *transcript.Meta) string {
	if m == nil {
		return ""
	}
	switch m.Provider {
	case transcript.MetaAnthropic:
		return m.Signature
	case transcript.MetaAnthropicRedacted:
		return m.Data
	case transcript.MetaGemini:
		return m.ThoughtSignature
	case transcript.MetaOpenAI:
	}
	return ""
}

// canonical rewrites JSON with sorted keys and exact numbers.
func canonical(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
