package openai

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// readItem reads output_item.added and output_item.done. Items are keyed by
// output_index: compatible hosts change item ids on the way.
func (d *dialect) readItem(e *wireEvent) error {
	m, err := readMembers(e.item)
	if err != nil {
		return err
	}
	if string(e.kind) == "response.output_item.added" {
		return d.openItem(e.index, &m)
	}
	return d.finishItem(e.index, &m, e.item)
}

// openItem opens the item's block. Only its names count: what it holds of text,
// arguments and encrypted_content comes again, and encrypted_content is another
// one that cannot be replayed.
func (d *dialect) openItem(index int, m *members) error {
	before := d.asm.Len()
	err := d.asm.Open(index, m.emptyBlock())
	if d.asm.Len() > before {
		d.rememberItem(index, m)
	}
	return err
}

// emptyBlock returns the type and the names of an item's block.
func (m *members) emptyBlock() transcript.Block {
	switch kind := jsontok.Text(m.kind); {
	case string(kind) == "message" && m.isAssistant():
		return transcript.Block{Type: transcript.BlockText}
	case string(kind) == "reasoning":
		return transcript.Block{Type: transcript.BlockReasoning}
	case string(kind) == "function_call":
		return transcript.ToolUse(jsontok.String(m.callID), jsontok.String(m.name), nil)
	default:
		return transcript.Block{Type: transcript.BlockOpaque, Kind: string(kind)}
	}
}

// isAssistant reports whether a message is the assistant's, as it is in every
// reply but that of /responses/compact.
func (m *members) isAssistant() bool {
	role := jsontok.Text(m.role)
	return len(role) == 0 || string(role) == "assistant"
}

func (d *dialect) rememberItem(index int, m *members) {
	d.places[index] = len(d.items)
	d.items = append(d.items, itemRef{index: index, id: jsontok.String(m.id), kind: jsontok.String(m.kind)})
}

// finishItem replaces the block by the finished item.
func (d *dialect) finishItem(index int, m *members, raw []byte) error {
	if !d.asm.Has(index) {
		if err := d.asm.Anomaly(stream.RuleUnknownComplete, "item %d ends but was never added", index); err != nil {
			return err
		}
		if err := d.openItem(index, m); err != nil {
			return err
		}
	}
	b, err := d.readBlock(m, raw)
	if err != nil {
		return err
	}
	if _, known := d.places[index]; !known { // lenient mode opened it for a stray delta
		d.rememberItem(index, m)
	}
	d.items[d.places[index]].done = true
	return d.asm.Complete(index, func(old *transcript.Block) { *old = b })
}

// members are the members of an output item that this package knows.
type members struct {
	kind, id, role, phase, content, summary, encrypted, callID, name, arguments, status []byte
}

func readMembers(raw []byte) (m members, err error) {
	err = jsontok.Fields(raw, func(field, value []byte) error {
		switch string(field) {
		case "type":
			m.kind = value
		case "id":
			m.id = value
		case "role":
			m.role = value
		case "phase":
			m.phase = value
		case "content":
			m.content = value
		case "summary":
			m.summary = value
		case "encrypted_content":
			m.encrypted = value
		case "status":
			m.status = value
		case "call_id":
			m.callID = value
		case "name":
			m.name = value
		case "arguments":
			m.arguments = value
		}
		return nil
	})
	return m, err
}

// readBlock makes the block of a finished item. Raw is always the item itself: it
// is replayed untouched.
func (d *dialect) readBlock(m *members, raw []byte) (b transcript.Block, err error) {
	b = m.emptyBlock()
	switch b.Type {
	case transcript.BlockText:
		err = d.readMessage(m, &b)
	case transcript.BlockReasoning:
		err = readReasoning(m, &b)
	case transcript.BlockToolUse:
		err = d.functionCall(m, &b)
	case transcript.BlockOpaque:
		d.called = d.called || b.Kind == "custom_tool_call"
		if !hostedItems[b.Kind] {
			d.asm.NoteUnknownBlock(b.Kind)
		}
	}
	b.Raw = bytes.Clone(raw)
	return b, err
}

// hostedItems are the documented types of items that are kept whole: what the
// provider's own tools and its compaction leave in a reply, and messages of others in
// a compacted conversation.
var hostedItems = map[string]bool{
	"compaction": true, "message": true, "web_search_call": true, "file_search_call": true,
	"code_interpreter_call": true,
	"image_generation_call": true, "computer_call": true, "computer_call_output": true, "local_shell_call": true,
	"local_shell_call_output": true, "shell_call": true, "shell_call_output": true, "apply_patch_call": true,
	"apply_patch_call_output": true, "tool_search_call": true, "tool_search_output": true, "custom_tool_call": true,
	"custom_tool_call_output": true, "function_call_output": true, "mcp_call": true, "mcp_list_tools": true,
	"mcp_approval_request": true, "mcp_approval_response": true, "item_reference": true,
	"program": true, "program_output": true,
}

// readMessage joins the text of all parts; a refusal is text too, and ends the turn
// as one.
func (d *dialect) readMessage(m *members, b *transcript.Block) error {
	var text []byte
	err := eachPart(m.content, func(kind, part []byte) {
		d.refused = d.refused || string(kind) == "refusal"
		text = append(text, part...)
	})
	b.Text = string(text)
	b.Meta = &transcript.Meta{Provider: transcript.MetaOpenAI, ID: jsontok.String(m.id), Phase: jsontok.String(m.phase)}
	return err
}

// eachPart calls f with the type and the text of every content or summary part.
func eachPart(list []byte, f func(kind, text []byte)) error {
	if jsontok.IsNull(list) {
		return nil
	}
	return jsontok.Elements(list, func(part []byte) error {
		var kind, text []byte
		err := jsontok.Fields(part, func(field, value []byte) error {
			switch string(field) {
			case "type":
				kind = jsontok.Text(value)
			case "text", "refusal":
				text = jsontok.Text(value)
			}
			return nil
		})
		f(kind, text)
		return err
	})
}

// readReasoning keeps the summary parts one by one. Its text joins them, or the
// open reasoning of models that show it.
func readReasoning(m *members, b *transcript.Block) error {
	b.Meta = &transcript.Meta{Provider: transcript.MetaOpenAI, ID: jsontok.String(m.id), Summary: []string{}}
	if !jsontok.IsNull(m.encrypted) {
		sealed := jsontok.String(m.encrypted)
		b.Meta.EncryptedContent = &sealed
	}
	err := eachPart(m.summary, func(_, text []byte) { b.Meta.Summary = append(b.Meta.Summary, string(text)) })
	if err != nil {
		return err
	}
	if b.Text = strings.Join(b.Meta.Summary, "\n"); len(b.Meta.Summary) > 0 {
		return nil
	}
	var open []byte
	err = eachPart(m.content, func(_, part []byte) { open = append(open, part...) })
	b.Text = string(open)
	return err
}

// ruleIncompleteCall names a call that the provider itself calls incomplete,
// even if what came of its arguments is JSON.
const ruleIncompleteCall = "incomplete_call"

// functionCall names the call by call_id, which its output must repeat; the
// item id goes to the meta.
func (d *dialect) functionCall(m *members, b *transcript.Block) error {
	d.called = true
	if lit, ok := jsontok.Literal(m.arguments); ok {
		b.Args = jsontok.AppendUnescaped(nil, lit)
	} else if !jsontok.IsNull(m.arguments) {
		b.Args = bytes.Clone(m.arguments)
	}
	if len(b.Args) == 0 {
		b.Args = []byte("{}")
	}
	b.Meta = &transcript.Meta{Provider: transcript.MetaOpenAI, ID: jsontok.String(m.id)}
	if string(jsontok.Text(m.status)) == "incomplete" {
		d.asm.Note(ruleIncompleteCall, "the call of %q (%s) was cut", b.Name, b.ID)
	}
	if b.ID == "" || b.Name == "" {
		return d.asm.Anomaly(ruleMalformedItem, "function_call %s has no call_id or no name", b.Meta.ID)
	}
	return nil
}
