package anthropic

import (
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// fastDelta reads a content_block_delta of the three frequent kinds, or a
// content_block_stop, in the spelling that the API uses. done is false, and
// nothing has happened, when the event is anything else: then the general path
// reads it.
func (d *dialect) fastDelta(data []byte) (done bool, err error) {
	c := jsontok.Cursor{Src: data}
	if !c.Lit(`{"type":"content_block_`) {
		return false, nil
	}
	if c.Lit(`stop","index":`) {
		index, ok := c.Int()
		if !ok || !c.Byte('}') || !c.End() {
			return false, nil
		}
		return true, d.blockStop(index)
	}
	if !c.Lit(`delta","index":`) {
		return false, nil
	}
	index, ok := c.Int()
	if !ok || !c.Lit(`,"delta":{"type":"`) {
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
