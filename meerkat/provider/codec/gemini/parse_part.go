package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// members are the members of a part.
type members struct {
	text, call, signature []byte
	thought               bool
	data                  []byte // name of the first member that is neither text nor a modifier
}

func readMembers(raw []byte) (m members, err error) {
	err = jsontok.Fields(raw, func(field, value []byte) error {
		switch name := camelCase(field); string(name) {
		case "text":
			m.text = value
		case "thought":
			m.thought = string(value) == "true"
		case "thoughtSignature":
			m.signature = value
		case "functionCall":
			m.call = value
		default:
			if m.data == nil {
				m.data = name
			}
		}
		return nil
	})
	return m, err
}

func (d *dialect) signatureMeta(signature []byte) *transcript.Meta {
	if s := d.asm.String(signature); s != "" {
		return &transcript.Meta{Provider: transcript.MetaGemini, ThoughtSignature: s}
	}
	return nil
}

// readPart is the general path of a part.
func (d *dialect) readPart(raw []byte) error {
	m, err := readMembers(raw)
	if err != nil {
		return err
	}
	return d.addPart(&m, raw)
}

// addPart takes one part. Only unsigned text that has nothing beside it may be
// merged with its like: a signature belongs to exactly its part.
func (d *dialect) addPart(m *members, raw []byte) error {
	if m.call != nil {
		return d.functionCall(m, raw)
	}
	lit, isText := jsontok.Literal(m.text)
	meta := d.signatureMeta(m.signature)
	switch {
	case m.data == nil && meta == nil:
		return d.appendText(m.deltaKind(), lit)
	case m.data == nil || isText:
		return d.addWholeBlock(transcript.Block{Type: m.blockType(), Text: d.asm.String(m.text), Meta: meta}, raw)
	}
	return d.addWholeBlock(transcript.Block{Type: transcript.BlockOpaque, Kind: d.kindOf(m.data), Meta: meta}, raw)
}

// hostedParts are the documented data members of parts that are kept whole.
var hostedParts = []string{
	"executableCode", "codeExecutionResult", "inlineData", "fileData", "toolCall", "toolResponse",
}

// kindOf returns the name of a data member, without a copy where it is known.
func (d *dialect) kindOf(name []byte) string {
	for _, known := range hostedParts {
		if string(name) == known {
			return known
		}
	}
	d.asm.NoteUnknownBlock(string(name))
	return string(name)
}

func (m *members) deltaKind() stream.EventKind {
	if m.thought {
		return stream.EventReasoningDelta
	}
	return stream.EventTextDelta
}

func (m *members) blockType() transcript.BlockType {
	if m.thought {
		return transcript.BlockReasoning
	}
	return transcript.BlockText
}

// appendText adds unsigned text. An empty unsigned part says nothing and
// interrupts nothing.
func (d *dialect) appendText(kind stream.EventKind, lit []byte) error {
	if len(lit) == 0 {
		return nil
	}
	if d.textKind != kind {
		if err := d.openText(kind); err != nil {
			return err
		}
	}
	return d.asm.Append(d.text, kind, lit)
}

func (d *dialect) openText(kind stream.EventKind) error {
	if err := d.closeText(); err != nil {
		return err
	}
	b := transcript.Block{Type: transcript.BlockText}
	if kind == stream.EventReasoningDelta {
		b.Type = transcript.BlockReasoning
	}
	d.text, d.textKind = d.nextKey(), kind
	return d.asm.Open(d.text, b)
}

// closeText ends the text block under way: a part of another kind follows.
func (d *dialect) closeText() error {
	if d.textKind == 0 {
		return nil
	}
	d.textKind = 0
	return d.asm.Complete(d.text, nil)
}

func (d *dialect) nextKey() int {
	d.keys++
	return d.keys
}

// addWholeBlock adds a part that is a block of its own.
func (d *dialect) addWholeBlock(b transcript.Block, raw []byte) error {
	if err := d.closeText(); err != nil {
		return err
	}
	b.Raw = bytes.Clone(raw)
	d.asm.Whole(b)
	return nil
}

// wireCall is a functionCall object.
type wireCall struct {
	name, id            string
	args, partial       []byte
	continues, nonEmpty bool
}

func (d *dialect) readCall(raw []byte) (c wireCall, err error) {
	err = jsontok.Fields(raw, func(field, value []byte) error {
		c.nonEmpty = true
		switch string(camelCase(field)) {
		case "name":
			c.name = d.asm.String(value)
		case "id":
			c.id = d.asm.String(value)
		case "args":
			c.args = value
		case "partialArgs":
			c.partial = value
		case "willContinue":
			c.continues = string(value) == "true"
		}
		return nil
	})
	return c, err
}

// functionCall reads a call, which comes in one part except for Vertex's streamed
// arguments.
func (d *dialect) functionCall(m *members, raw []byte) error {
	c, err := d.readCall(m.call)
	if err != nil {
		return err
	}
	if c.name == "" || c.continues || c.partial != nil {
		return d.partialCall(&c, m)
	}
	if err := d.finishCutCall(); err != nil {
		return err
	}
	args := []byte("{}")
	if !jsontok.IsNull(c.args) {
		args = bytes.Clone(c.args)
	}
	b := transcript.ToolUse(d.callID(&c, m.signature), c.name, args)
	b.Meta = d.signatureMeta(m.signature)
	return d.addWholeBlock(b, raw)
}

// synthesised begins the ids that this package makes up. Older models send
// none, and ids must be unique over a whole conversation.
const synthesised = "gemcall_"

// callID returns the call's own id, else one that is a function of the reply's
// id and the call's place in it, so that parsing twice gives the same. Without
// a reply id the seed of the request and the call itself stand in for it.
func (d *dialect) callID(c *wireCall, signature []byte) string {
	n := d.calls
	d.calls++
	if c.id != "" {
		return c.id
	}
	of := fmt.Appendf(nil, "%q %q %d", d.asm.ID(), d.idSeed, n)
	if d.asm.ID() == "" {
		of = fmt.Appendf(of, " %q %q %q", c.name, c.args, signature)
	}
	sum := sha256.Sum256(of)
	return synthesised + hex.EncodeToString(sum[:12])
}
