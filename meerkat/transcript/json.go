package transcript

import (
	"fmt"
)

// The JSON form of this package is written and read by hand, because
// encoding/json changes bytes that must not change: it sorts map
// keys, escapes HTML, replaces invalid UTF-8 and turns numbers into float64.
//
// Every string member that is not valid UTF-8 is written twice: readable, with
// U+FFFD in place of each bad byte, and as base64 of its bytes in a member of
// the same name with the suffix "_exact". JSON arguments get an "_exact" twin
// when the JSON in the file is not byte for byte what was streamed. A twin
// counts only while it agrees with its readable half, so an edit by hand wins.

// AppendJSON appends m as one line of compact JSON without a newline: the form
// that a session file holds. Unlike json.Marshal it never escapes HTML.
func (m *Message) AppendJSON(dst []byte) ([]byte, error) {
	return appendJSON(dst, func(e *encoder) { e.writeMessage(m) })
}

// MarshalJSON is AppendJSON for json.Marshal, which escapes HTML in whatever
// it is given; arguments that this would change carry an args_exact as well.
func (m Message) MarshalJSON() ([]byte, error) {
	return marshalHTMLSafe(func(e *encoder) { e.writeMessage(&m) })
}

// UnmarshalJSON reads what AppendJSON or a Rust meerkat wrote.
func (m *Message) UnmarshalJSON(data []byte) (err error) {
	return decodeTyped(func() error { *m, err = decodeMessage(data); return err })
}

// AppendJSON appends b as compact JSON.
func (b *Block) AppendJSON(dst []byte) ([]byte, error) {
	return appendJSON(dst, func(e *encoder) { e.writeBlock(b) })
}

// MarshalJSON is AppendJSON for json.Marshal; see Message.MarshalJSON.
func (b Block) MarshalJSON() ([]byte, error) {
	return marshalHTMLSafe(func(e *encoder) { e.writeBlock(&b) })
}

// UnmarshalJSON reads one block.
func (b *Block) UnmarshalJSON(data []byte) (err error) {
	return decodeTyped(func() error { *b, err = decodeBlock(data); return err })
}

// AppendJSON appends r as compact JSON.
func (r *ToolResult) AppendJSON(dst []byte) ([]byte, error) {
	return appendJSON(dst, func(e *encoder) { e.writeResult(r) })
}

// MarshalJSON is AppendJSON for json.Marshal; see Message.MarshalJSON.
func (r ToolResult) MarshalJSON() ([]byte, error) {
	return marshalHTMLSafe(func(e *encoder) { e.writeResult(&r) })
}

// UnmarshalJSON reads one tool result.
func (r *ToolResult) UnmarshalJSON(data []byte) (err error) {
	return decodeTyped(func() error { *r, err = decodeResult(data); return err })
}

// MarshalJSON writes m with its tag first.
func (m Meta) MarshalJSON() ([]byte, error) {
	return marshalHTMLSafe(func(e *encoder) { e.writeMeta(&m) })
}

// UnmarshalJSON reads one meta.
func (m *Meta) UnmarshalJSON(data []byte) (err error) {
	return decodeTyped(func() error { *m, err = decodeMeta(data); return err })
}

// AppendJSON appends d as compact JSON with its schema as it stands.
func (d *ToolDef) AppendJSON(dst []byte) ([]byte, error) {
	return appendJSON(dst, func(e *encoder) { e.toolDef(d) })
}

// MarshalJSON is AppendJSON for json.Marshal; see Message.MarshalJSON.
func (d ToolDef) MarshalJSON() ([]byte, error) {
	return marshalHTMLSafe(func(e *encoder) { e.toolDef(&d) })
}

// UnmarshalJSON reads one tool definition.
func (d *ToolDef) UnmarshalJSON(data []byte) (err error) {
	return decodeTyped(func() error { *d, err = decodeToolDef(data); return err })
}

// MarshalJSON returns r itself, so that JSON inside JSON never turns into
// base64. A nil r is null.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of data; null is nil.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	*r = nil
	if string(data) != "null" {
		*r = append(RawJSON{}, data...)
	}
	return nil
}

func appendJSON(dst []byte, write func(*encoder)) ([]byte, error) {
	e := encoder{buf: dst}
	write(&e)
	return e.buf, e.err
}

func marshalHTMLSafe(write func(*encoder)) ([]byte, error) {
	e := encoder{html: true}
	write(&e)
	return e.buf, e.err
}

func decodeTyped(decode func() error) error {
	if err := decode(); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return nil
}
