package openai

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// item reads output_item.added and output_item.done. Items are keyed by
// output_index: compatible hosts change item ids on the way (reference §3.2).
func (d *dialect) item(e *wireEvent) error {
	m, err := readMembers(e.item)
	if err != nil {
		return err
	}
	b, err := d.block(&m, e.item)
	if err != nil {
		return err
	}
	if string(e.kind) == "response.output_item.added" {
		return d.added(e.index, &m, b)
	}
	return d.done(e.index, &m, b)
}

// added opens the item's block. Only its names count: what it holds of text,
// arguments and encrypted_content comes again, and encrypted_content is another
// one that cannot be replayed (reference §3.2).
func (d *dialect) added(index int, m *members, b transcript.Block) error {
	b.Text, b.Args, b.Raw, b.Meta = "", nil, nil, nil
	before := d.asm.Len()
	err := d.asm.Open(index, b)
	if d.asm.Len() > before {
		d.remember(index, m)
	}
	return err
}

func (d *dialect) remember(index int, m *members) {
	d.places[index] = len(d.items)
	d.items = append(d.items, itemRef{index: index, id: jsontok.String(m.id), kind: jsontok.String(m.kind)})
}

// done replaces the block by the finished item.
func (d *dialect) done(index int, m *members, b transcript.Block) error {
	if !d.asm.Has(index) {
		if err := d.asm.Anomaly(stream.RuleUnknownComplete, "item %d ends but was never added", index); err != nil {
			return err
		}
		if err := d.added(index, m, b); err != nil {
			return err
		}
	}
	if _, known := d.places[index]; !known { // lenient mode opened it for a stray delta
		d.remember(index, m)
	}
	d.items[d.places[index]].done = true
	return d.asm.Complete(index, func(old *transcript.Block) { *old = b })
}

// members are the members of an output item that this package knows.
type members struct {
	kind, id, role, phase, content, summary, encrypted, callID, name, arguments []byte
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

// block makes the block of an output item. Raw is always the item itself: it
// is replayed untouched (regressions D9).
func (d *dialect) block(m *members, raw []byte) (b transcript.Block, err error) {
	switch kind := jsontok.String(m.kind); kind {
	case "message":
		b, err = d.message(m)
	case "reasoning":
		b, err = reasoning(m)
	case "function_call":
		d.called = true
		b, err = d.functionCall(m, raw)
	case "custom_tool_call":
		d.called = true
		fallthrough
	default:
		b = transcript.Block{Type: transcript.BlockOpaque, Kind: kind}
	}
	b.Raw = bytes.Clone(raw)
	return b, err
}

// message joins the text of all parts; a refusal is text too, and ends the turn
// as one. A message that is not the assistant's is kept whole.
func (d *dialect) message(m *members) (transcript.Block, error) {
	if role := jsontok.String(m.role); role != "assistant" && role != "" {
		return transcript.Block{Type: transcript.BlockOpaque, Kind: "message"}, nil
	}
	var text strings.Builder
	err := eachPart(m.content, func(kind, part []byte) {
		d.refused = d.refused || string(kind) == "refusal"
		text.Write(part)
	})
	b := transcript.Text(text.String())
	b.Meta = &transcript.Meta{Provider: transcript.MetaOpenAI, ID: jsontok.String(m.id), Phase: jsontok.String(m.phase)}
	return b, err
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

// reasoning keeps the summary parts one by one. Its text joins them, or the
// open reasoning of models that show it.
func reasoning(m *members) (transcript.Block, error) {
	meta := &transcript.Meta{Provider: transcript.MetaOpenAI, ID: jsontok.String(m.id), Summary: []string{}}
	if !jsontok.IsNull(m.encrypted) {
		sealed := jsontok.String(m.encrypted)
		meta.EncryptedContent = &sealed
	}
	err := eachPart(m.summary, func(_, text []byte) { meta.Summary = append(meta.Summary, string(text)) })
	if err != nil {
		return transcript.Block{}, err
	}
	text := strings.Join(meta.Summary, "\n")
	if len(meta.Summary) == 0 {
		var open strings.Builder
		err = eachPart(m.content, func(_, part []byte) { open.Write(part) })
		text = open.String()
	}
	return transcript.Reasoning(text, meta), err
}

// functionCall names the call by call_id, which its output must repeat; the
// item id goes to the meta.
func (d *dialect) functionCall(m *members, raw []byte) (transcript.Block, error) {
	var args []byte
	if lit, ok := jsontok.Literal(m.arguments); ok {
		args = jsontok.AppendUnescaped(nil, lit)
	} else if !jsontok.IsNull(m.arguments) {
		args = bytes.Clone(m.arguments)
	}
	if len(args) == 0 {
		args = []byte("{}")
	}
	b := transcript.ToolUse(jsontok.String(m.callID), jsontok.String(m.name), args)
	b.Meta = &transcript.Meta{Provider: transcript.MetaOpenAI, ID: jsontok.String(m.id)}
	if b.ID == "" || b.Name == "" {
		return b, d.asm.Anomaly(ruleMalformedItem, "function_call without call_id or name: %.80s", raw)
	}
	return b, nil
}
