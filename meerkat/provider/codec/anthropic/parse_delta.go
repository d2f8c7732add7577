package anthropic

import (
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// fastEvent reads a content_block_delta of the three frequent kinds, or the
// start or stop of a block, in the spelling that the API uses. done is false,
// and nothing has happened, when the event is anything else: then the general
// path reads it.
func (d *dialect) fastEvent(data []byte) (done bool, err error) {
	c := jsontok.Cursor{Src: data}
	if !c.Lit(`{"type":"content_block_`) {
		return false, nil
	}
	switch {
	case c.Lit(`delta","index":`):
		return d.fastDelta(&c)
	case c.Lit(`start","index":`):
		return d.fastStart(&c)
	case c.Lit(`stop","index":`):
		index, ok := c.Int()
		if !ok || !c.Byte('}') || !c.End() {
			return false, nil
		}
		return true, d.blockStop(index)
	}
	return false, nil
}

// fastStart goes on with a content_block_start after its type.
func (d *dialect) fastStart(c *jsontok.Cursor) (done bool, err error) {
	index, ok := c.Int()
	if !ok || !c.Lit(`,"content_block":`) {
		return false, nil
	}
	start := c.Pos()
	if !c.Skip() {
		return false, nil
	}
	block := c.Since(start)
	if !c.Byte('}') || !c.End() {
		return false, nil
	}
	return true, d.blockStart(index, block)
}

// fastDelta goes on with a content_block_delta after its type.
func (d *dialect) fastDelta(c *jsontok.Cursor) (done bool, err error) {
	index, ok := c.Int()
	if !ok || d.opaque > 0 || !c.Lit(`,"delta":{"type":"`) {
		return false, nil
	}
	var kind stream.EventKind
	switch {
	case c.Lit(`text_delta","text":`):
		kind = stream.EventTextDelta
	case c.Lit(`input_json_delta","partial_json":`):
		kind = stream.EventToolCallDelta
	case c.Lit(`thinking_delta","thinking":`):
		kind = stream.EventReasoningDelta
	default:
		return false, nil
	}
	lit, ok := c.String()
	if !ok || !c.Byte('}') || !c.Byte('}') || !c.End() {
		return false, nil
	}
	return true, d.asm.Append(index, kind, lit)
}
