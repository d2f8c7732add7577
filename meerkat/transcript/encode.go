package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// encoder writes compact JSON with the members in the order of the storage
// format. The first error sticks.
type encoder struct {
	buf  []byte
	html bool // the bytes will pass through an HTML-escaping json.Marshal
	err  error
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("transcript: "+format, args...)
	}
}

func (e *encoder) openContainer(c byte)  { e.buf = append(e.buf, c) }
func (e *encoder) closeContainer(c byte) { e.buf = append(e.buf, c) }

// writeComma writes the comma before a member or element. No value ends in an
// opening bracket, so the last byte tells whether this is the first.
func (e *encoder) writeComma() {
	if last := e.buf[len(e.buf)-1]; last != '{' && last != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) writeKey(name string) {
	e.writeComma()
	e.buf = append(appendString(e.buf, name), ':')
}

func (e *encoder) writeString(name, value string) {
	e.writeKey(name)
	e.buf = appendString(e.buf, value)
	if !utf8.ValidString(value) {
		e.writeBase64(name+exactSuffix, []byte(value))
	}
}

func (e *encoder) writeOptionalString(name, value string) {
	if value != "" {
		e.writeString(name, value)
	}
}

// writeBase64 writes value as base64.
func (e *encoder) writeBase64(name string, value []byte) {
	e.writeKey(name)
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, value)
	e.buf = append(e.buf, '"')
}

func (e *encoder) writeBool(name string, value bool) {
	e.writeKey(name)
	e.buf = strconv.AppendBool(e.buf, value)
}

// writeJSON writes value, which should be JSON, and its exact bytes if the JSON
// that goes into the file is not value itself. An empty value is written as
// absent.
func (e *encoder) writeJSON(name string, value []byte, absent string) {
	e.writeKey(name)
	if len(value) == 0 {
		e.buf = append(e.buf, absent...)
		return
	}
	readable := readableJSON(value)
	e.buf = append(e.buf, readable...)
	if !bytes.Equal(readable, value) || e.html && bytes.ContainsAny(value, "<>&\u2028\u2029") {
		e.writeBase64(name+exactSuffix, value)
	}
}

// writeExtra writes the members of a newer writer.
func (e *encoder) writeExtra(extra string) {
	if extra == "" {
		return
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, []byte(extra)); err != nil || flat.Bytes()[0] != '{' {
		e.fail("extra members are not a JSON object: %.40q", extra)
		return
	}
	if inner := flat.Bytes()[1 : flat.Len()-1]; len(inner) > 0 {
		e.writeComma()
		e.buf = append(e.buf, inner...)
	}
}

func (e *encoder) writeMessage(m *Message) {
	if m.Role == "" {
		e.fail("message without a role")
	}
	e.openContainer('{')
	e.writeString("role", string(m.Role))
	switch m.Role {
	case RoleSystem, RoleUser, RoleDeveloper:
		e.writeString("content", m.Content)
		e.writeParts(m.Parts)
	case RoleAssistant:
		e.writeKey("blocks")
		e.openContainer('[')
		for i := range m.Blocks {
			e.writeComma()
			e.writeBlock(&m.Blocks[i])
		}
		e.closeContainer(']')
		e.writeString("stop_reason", string(m.StopReason))
		e.writeParts(m.Parts)
	case RoleToolResults:
		e.writeKey("results")
		e.openContainer('[')
		for i := range m.Results {
			e.writeComma()
			e.writeResult(&m.Results[i])
		}
		e.closeContainer(']')
	}
	e.writeExtra(m.Extra)
	e.closeContainer('}')
}

func (e *encoder) writeBlock(b *Block) {
	if b.Type == "" {
		e.fail("block without a type")
	}
	e.openContainer('{')
	e.writeString("block_type", string(b.Type))
	switch b.Type {
	case BlockText, BlockReasoning:
		e.writeString("text", b.Text)
	case BlockToolUse:
		e.writeString("id", b.ID)
		e.writeString("name", b.Name)
		e.writeJSON("args", b.Args, "{}") // no arguments are {}
	case BlockOpaque:
		e.writeString("kind", b.Kind)
	}
	if b.Meta != nil {
		e.writeKey("meta")
		e.writeMeta(b.Meta)
	}
	if b.Origin != nil {
		e.writeKey("origin")
		e.writeOrigin(b.Origin)
	}
	if b.Raw != nil {
		e.writeBase64("raw", b.Raw)
	}
	e.writeParts(b.Parts)
	e.writeExtra(b.Extra)
	e.closeContainer('}')
}

func (e *encoder) writeMeta(m *Meta) {
	if m.Provider == "" {
		e.fail("meta without a provider")
	}
	e.openContainer('{')
	if len(m.Unknown) > 0 {
		e.writeExtra(string(m.Unknown))
		e.closeContainer('}')
		return
	}
	e.writeString("provider", string(m.Provider))
	switch m.Provider {
	case MetaAnthropic:
		e.writeString("signature", m.Signature)
	case MetaAnthropicRedacted:
		e.writeString("data", m.Data)
	case MetaGemini:
		e.writeString("thoughtSignature", m.ThoughtSignature)
	case MetaOpenAI:
		e.writeString("id", m.ID)
		if m.EncryptedContent != nil {
			e.writeString("encrypted_content", *m.EncryptedContent)
		}
		if m.Summary != nil {
			e.writeStrings("summary", m.Summary)
		}
		e.writeOptionalString("phase", m.Phase)
	}
	e.writeExtra(m.Extra)
	e.closeContainer('}')
}

// writeStrings writes a list; if one element is not valid UTF-8 the exact list
// holds all of them.
func (e *encoder) writeStrings(name string, values []string) {
	e.writeKey(name)
	e.openContainer('[')
	exact := false
	for _, v := range values {
		e.writeComma()
		e.buf = appendString(e.buf, v)
		exact = exact || !utf8.ValidString(v)
	}
	e.closeContainer(']')
	if !exact {
		return
	}
	e.writeKey(name + exactSuffix)
	e.openContainer('[')
	for _, v := range values {
		e.writeComma()
		e.buf = appendString(e.buf, base64.StdEncoding.EncodeToString([]byte(v)))
	}
	e.closeContainer(']')
}

func (e *encoder) writeOrigin(o *Origin) {
	e.openContainer('{')
	e.writeString("provider", o.Provider)
	e.writeOptionalString("api", o.API)
	e.writeOptionalString("model", o.Model)
	e.writeOptionalString("account", o.Account)
	e.writeOptionalString("response_id", o.ResponseID)
	e.writeKey("index")
	e.buf = strconv.AppendInt(e.buf, int64(o.Index), 10)
	e.writeExtra(o.Extra)
	e.closeContainer('}')
}

func (e *encoder) writeResult(r *ToolResult) {
	e.openContainer('{')
	e.writeString("tool_use_id", r.ToolUseID)
	e.writeString("content", r.Content)
	e.writeBool("is_error", r.IsError)
	e.writeOptionalString("status", string(r.Status))
	e.writeParts(r.Parts)
	e.writeExtra(r.Extra)
	e.closeContainer('}')
}

func (e *encoder) writeParts(parts []Part) {
	if len(parts) == 0 {
		return
	}
	e.writeKey("parts")
	e.openContainer('[')
	for i := range parts {
		e.writeComma()
		p := &parts[i]
		e.openContainer('{')
		e.writeString("type", p.Type)
		e.writeOptionalString("media_type", p.MediaType)
		if p.Data != nil {
			e.writeBase64("data", p.Data)
		}
		e.writeOptionalString("url", p.URL)
		e.writeExtra(p.Extra)
		e.closeContainer('}')
	}
	e.closeContainer(']')
}

func (e *encoder) toolDef(d *ToolDef) {
	e.openContainer('{')
	e.writeString("name", d.Name)
	e.writeString("description", d.Description)
	e.writeJSON("input_schema", d.InputSchema, "null")
	if d.Hosted {
		e.writeBool("hosted", true)
	}
	if d.Deferred {
		e.writeBool("deferred", true)
	}
	e.writeExtra(d.Extra)
	e.closeContainer('}')
}
