package anthropic

import (
	"bytes"
	"errors"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// blockExtra is what an open block needs beside its text and arguments.
type blockExtra struct {
	start     []byte // the start object, kept when the block cannot be rendered from its fields
	signature []byte // every signature_delta appended
	citations []byte // the elements of the citations array, comma separated
	content   []byte // of a compaction, joined, unescaped
	sealed    []byte // encrypted_content of a compaction, a JSON value
	text      []byte // text and thoughts of a block of an unknown type, unescaped
	thinking  []byte
	unknown   []byte          // the deltas of unknown types, comma separated
	reported  map[string]bool // the unknown types that were reported
}

// members are the members of a content block that this package knows.
type members struct {
	kind, text, thinking, signature, id, name, input, data []byte

	count int // of all members, known or not
}

// errOpaque ends the reading of a block that is kept whole anyway.
var errOpaque = errors.New("opaque")

func readMembers(raw []byte) (m members, err error) {
	err = jsontok.Fields(raw, func(field, value []byte) error {
		m.count++
		switch string(field) {
		case "type":
			m.kind = value
			if !hasShape(jsontok.Text(value)) {
				return errOpaque
			}
		case "text":
			m.text = value
		case "thinking":
			m.thinking = value
		case "signature":
			m.signature = value
		case "id":
			m.id = value
		case "name":
			m.name = value
		case "input":
			m.input = value
		case "data":
			m.data = value
		}
		return nil
	})
	if errors.Is(err, errOpaque) {
		err = nil
	}
	return m, err
}

// hasShape reports whether blocks of a kind have a shape of their own here.
func hasShape(kind []byte) bool {
	switch string(kind) {
	case "text", "thinking", "redacted_thinking", "tool_use":
		return true
	}
	return false
}

// hasOnly reports whether the block has no member beside known ones.
func (m *members) hasOnly(known ...[]byte) bool {
	n := m.count
	for _, v := range known {
		if v != nil {
			n--
		}
	}
	return n == 0
}

// readBlock reads a content block. plain says that its fields tell all: no
// member is unknown.
func (d *dialect) readBlock(raw []byte) (b transcript.Block, plain bool, err error) {
	m, err := readMembers(raw)
	if err != nil {
		return b, false, err
	}
	switch kind := jsontok.Text(m.kind); string(kind) {
	case "text":
		return transcript.Text(d.asm.String(m.text)), m.hasOnly(m.kind, m.text), nil
	case "thinking":
		b = transcript.Reasoning(d.asm.String(m.thinking), signatureMeta(d.asm.String(m.signature)))
		return b, m.hasOnly(m.kind, m.thinking, m.signature), nil
	case "redacted_thinking":
		meta := &transcript.Meta{Provider: transcript.MetaAnthropicRedacted, Data: d.asm.String(m.data)}
		return transcript.Reasoning("", meta), m.hasOnly(m.kind, m.data), nil
	case "tool_use":
		b = transcript.ToolUse(d.asm.String(m.id), d.asm.String(m.name), copyArguments(m.input))
		if b.ID == "" || b.Name == "" {
			err = d.asm.Anomaly(ruleMalformedBlock, "tool_use without id or name: %.80s", raw)
		}
		return b, m.hasOnly(m.kind, m.id, m.name, m.input), err
	default:
		if !hostedBlocks[string(kind)] {
			d.asm.NoteUnknownBlock(string(kind))
		}
		return transcript.Block{Type: transcript.BlockOpaque, Kind: string(kind)}, false, nil
	}
}

// hostedBlocks are the documented types of blocks that are kept whole: what the
// provider's own tools and its compaction leave in a reply.
var hostedBlocks = map[string]bool{
	"server_tool_use": true, "web_search_tool_result": true, "web_fetch_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true,
	"text_editor_code_execution_tool_result": true, "tool_search_tool_result": true,
	"mcp_tool_use": true, "mcp_tool_result": true, "container_upload": true, "compaction": true,
}

// signatureMeta returns the meta of a thinking block, nil when it has no signature.
func signatureMeta(signature string) *transcript.Meta {
	if signature == "" {
		return nil
	}
	return &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: signature}
}

// copyArguments copies the input of a tool call, which is an object as a rule.
func copyArguments(input []byte) []byte {
	if jsontok.IsNull(input) {
		return []byte("{}")
	}
	return bytes.Clone(input)
}

func (d *dialect) blockStart(index int, raw []byte) error {
	b, plain, err := d.readBlock(raw)
	if err != nil {
		return d.walkAnomaly(err, "content_block")
	}
	if _, open := d.asm.Block(index); !open {
		if !plain || b.Type == transcript.BlockReasoning {
			d.extras[index] = newExtra(raw, &b, plain)
		}
		if b.Type == transcript.BlockOpaque {
			d.opaque++
		}
	}
	return d.asm.Open(index, b)
}

func newExtra(start []byte, b *transcript.Block, plain bool) *blockExtra {
	x := &blockExtra{}
	if !plain {
		x.start = bytes.Clone(start)
	}
	if b.Meta != nil {
		x.signature = []byte(b.Meta.Signature)
	}
	return x
}

// extraOf returns the extra of the open block index, made if need be.
func (d *dialect) extraOf(index int) *blockExtra {
	x := d.extras[index]
	if x == nil {
		x = &blockExtra{}
		d.extras[index] = x
	}
	return x
}

// blockDelta is the general path of every delta.
func (d *dialect) blockDelta(e *wireEvent) error {
	var kind, value, sealed []byte
	err := jsontok.Fields(e.delta, func(field, v []byte) error {
		switch string(field) {
		case "type":
			kind = jsontok.Text(v)
		case "text", "thinking", "partial_json", "signature", "citation", "content":
			value = v
		case "encrypted_content":
			sealed = v
		}
		return nil
	})
	if err != nil {
		return d.walkAnomaly(err, "delta")
	}
	switch string(kind) {
	case "text_delta", "thinking_delta":
		if b, open := d.asm.Block(e.index); open && b.Type == transcript.BlockOpaque {
			return d.keepExtraDelta(e.index, kind, value, sealed)
		}
	}
	switch string(kind) {
	case "text_delta":
		return d.appendDelta(e.index, stream.EventTextDelta, value)
	case "thinking_delta":
		return d.appendDelta(e.index, stream.EventReasoningDelta, value)
	case "input_json_delta":
		return d.appendDelta(e.index, stream.EventToolCallDelta, value)
	case "signature_delta", "citations_delta", "compaction_delta":
		return d.keepExtraDelta(e.index, kind, value, sealed)
	}
	d.keepUnknownDelta(e.index, kind, e.delta)
	return nil
}

// keepUnknownDelta keeps a delta of a type that this version does not know, and reports
// each type once a block. The block goes back without it, as it does from every client
// that does not know the type.
func (d *dialect) keepUnknownDelta(index int, kind, delta []byte) {
	if _, open := d.asm.Block(index); !open {
		d.asm.Note(stream.RuleUnknownDelta, "delta %q belongs to no open block and is lost", kind)
		return
	}
	x := d.extraOf(index)
	x.unknown = appendElement(x.unknown, delta)
	if x.reported[string(kind)] {
		return
	}
	if x.reported == nil {
		x.reported = map[string]bool{}
	}
	x.reported[string(kind)] = true
	d.asm.Note(stream.RuleUnknownDelta, "delta %q is kept, but not understood", kind)
}

func (d *dialect) appendDelta(index int, kind stream.EventKind, value []byte) error {
	lit, ok := jsontok.Literal(value)
	if !ok && !jsontok.IsNull(value) {
		return d.asm.Anomaly(stream.RuleMalformedEvent, "%s of block %d is not a string: %.80s", kind, index, value)
	}
	return d.asm.Append(index, kind, lit)
}

// keepExtraDelta keeps what is neither text nor arguments until the block ends.
func (d *dialect) keepExtraDelta(index int, kind, value, sealed []byte) error {
	b, open := d.asm.Block(index)
	if !open {
		return d.asm.Anomaly(stream.RuleOrphanedDelta, "%s for block %d, which is not open", kind, index)
	}
	if jsontok.IsNull(value) && sealed == nil {
		return nil
	}
	x := d.extraOf(index)
	lit, isString := jsontok.Literal(value)
	switch string(kind) {
	case "text_delta":
		x.text = jsontok.AppendUnescaped(x.text, lit)
	case "thinking_delta":
		x.thinking = jsontok.AppendUnescaped(x.thinking, lit)
	case "signature_delta":
		// One delta holds it all as a rule, but gateways split it, and the
		// official accumulators append.
		x.signature = jsontok.AppendUnescaped(x.signature, lit)
	case "citations_delta":
		if jsontok.IsNull(value) {
			return nil
		}
		x.citations = appendElement(x.citations, value)
		if x.start == nil && b.Type == transcript.BlockText {
			x.start = []byte(`{"type":"text","text":""}`)
		}
	case "compaction_delta":
		if isString {
			x.content = jsontok.AppendUnescaped(x.content, lit)
		}
		if sealed != nil {
			x.sealed = bytes.Clone(sealed)
		}
	}
	return nil
}

func appendElement(list, value []byte) []byte {
	if len(list) > 0 && list[len(list)-1] != '[' { // no value ends so
		list = append(list, ',')
	}
	return append(list, value...)
}

func (d *dialect) blockStop(index int) error {
	x := d.extras[index]
	delete(d.extras, index)
	if b, open := d.asm.Block(index); open && b.Type == transcript.BlockOpaque {
		d.opaque--
	}
	return d.asm.Complete(index, func(b *transcript.Block) { x.finishBlock(b) })
}

// finishBlock gives the block what its extra collected.
func (x *blockExtra) finishBlock(b *transcript.Block) {
	if x == nil {
		return
	}
	if b.Type == transcript.BlockReasoning && (b.Meta == nil || b.Meta.Provider == transcript.MetaAnthropic) {
		b.Meta = signatureMeta(string(x.signature))
	}
	if len(x.unknown) > 0 {
		b.Extra = string(slices.Concat([]byte(`{"unknown_deltas":[`), x.unknown, []byte("]}")))
	}
	if x.start == nil {
		return
	}
	b.Raw = x.rawBlock(b)
	if b.Type == transcript.BlockOpaque && jsontok.Valid(b.Args) {
		b.Args = nil // they are in Raw
	}
}

// rawBlock returns the block as one JSON object that can be sent back: its start
// with every delta folded in. Members that nothing here knows stay.
func (x *blockExtra) rawBlock(b *transcript.Block) []byte {
	var set []jsontok.Member
	put := func(name string, value []byte) { set = append(set, jsontok.Member{Name: name, Value: value}) }
	switch {
	case b.Type == transcript.BlockText:
		put("text", jsontok.AppendQuoted(nil, b.Text))
	case b.Meta != nil && b.Meta.Provider == transcript.MetaAnthropic:
		put("thinking", jsontok.AppendQuoted(nil, b.Text))
		put("signature", jsontok.AppendQuoted(nil, b.Meta.Signature))
	case len(b.Args) > 0:
		if !jsontok.Valid(b.Args) {
			return x.rawOfCutCall(b)
		}
		put("input", b.Args)
	}
	if b.Type == transcript.BlockOpaque {
		// Set what deltas of known types brought to a block of an unknown type.
		for _, m := range []struct {
			name string
			more []byte
		}{{"text", x.text}, {"thinking", x.thinking}, {"signature", x.signature}} {
			if len(m.more) > 0 {
				put(m.name, jsontok.AppendQuoted(nil, jsontok.String(jsontok.MemberOf(x.start, m.name))+string(m.more)))
			}
		}
	}
	if len(x.citations) > 0 {
		put("citations", x.allCitations())
	}
	if len(x.content) > 0 {
		put("content", jsontok.AppendQuoted(nil, x.content))
	}
	if x.sealed != nil {
		put("encrypted_content", x.sealed)
	}
	if len(set) == 0 {
		return x.start
	}
	return jsontok.With(x.start, set...)
}

// rawOfCutCall is the raw form of a call whose arguments were cut: none for a tool
// call, which is rendered from its fields; its start for a server tool call,
// whose cut bytes stay in Args.
func (x *blockExtra) rawOfCutCall(b *transcript.Block) []byte {
	if b.Type == transcript.BlockOpaque {
		return x.start
	}
	return nil
}

// allCitations returns the citations of the start and of the deltas.
func (x *blockExtra) allCitations() []byte {
	list := append(make([]byte, 0, len(x.citations)+2), '[')
	_ = jsontok.Fields(x.start, func(field, value []byte) error { // was read when the block started
		if string(field) == "citations" && !jsontok.IsNull(value) {
			return jsontok.Elements(value, func(v []byte) error {
				list = appendElement(list, v)
				return nil
			})
		}
		return nil
	})
	return append(appendElement(list, x.citations), ']')
}
