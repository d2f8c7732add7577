package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// encoder writes compact JSON in the member order of seed 000 §3.1. The first
// error sticks.
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

func (e *encoder) open(c byte)  { e.buf = append(e.buf, c) }
func (e *encoder) close(c byte) { e.buf = append(e.buf, c) }

// next writes the comma before a member or element. No value ends in an
// opening bracket, so the last byte tells whether this is the first.
func (e *encoder) next() {
	if last := e.buf[len(e.buf)-1]; last != '{' && last != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) key(name string) {
	e.next()
	e.buf = append(appendString(e.buf, name), ':')
}

func (e *encoder) str(name, value string) {
	e.key(name)
	e.buf = appendString(e.buf, value)
	if !utf8.ValidString(value) {
		e.bytes(name+exactSuffix, []byte(value))
	}
}

func (e *encoder) optStr(name, value string) {
	if value != "" {
		e.str(name, value)
	}
}

// bytes writes value as base64.
func (e *encoder) bytes(name string, value []byte) {
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, value)
	e.buf = append(e.buf, '"')
}

func (e *encoder) bool(name string, value bool) {
	e.key(name)
	e.buf = strconv.AppendBool(e.buf, value)
}

func (e *encoder) int(name string, value int) {
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, int64(value), 10)
}

// json writes value, which should be JSON, and its exact bytes if the JSON
// that goes into the file is not value itself. An empty value is written as
// absent.
func (e *encoder) json(name string, value []byte, absent string) {
	e.key(name)
	if len(value) == 0 {
		e.buf = append(e.buf, absent...)
		return
	}
	readable := readableJSON(value)
	e.buf = append(e.buf, readable...)
	if !bytes.Equal(readable, value) || e.html && escapesHTML(value) {
		e.bytes(name+exactSuffix, value)
	}
}

// extra writes the members of a newer writer.
func (e *encoder) extra(extra string) {
	if extra == "" {
		return
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, []byte(extra)); err != nil || flat.Bytes()[0] != '{' {
		e.fail("extra members are not a JSON object: %.40q", extra)
		return
	}
	if inner := flat.Bytes()[1 : flat.Len()-1]; len(inner) > 0 {
		e.next()
		e.buf = append(e.buf, inner...)
	}
}

func (e *encoder) message(m *Message) {
	if m.Role == "" {
		e.fail("message without a role")
	}
	e.open('{')
	e.str("role", string(m.Role))
	switch m.Role {
	case RoleSystem, RoleUser, RoleDeveloper:
		e.str("content", m.Content)
		e.parts(m.Parts)
	case RoleAssistant:
		e.key("blocks")
		e.open('[')
		for i := range m.Blocks {
			e.next()
			e.block(&m.Blocks[i])
		}
		e.close(']')
		e.str("stop_reason", string(m.StopReason))
		e.parts(m.Parts)
	case RoleToolResults:
		e.key("results")
		e.open('[')
		for i := range m.Results {
			e.next()
			e.result(&m.Results[i])
		}
		e.close(']')
	}
	e.extra(m.Extra)
	e.close('}')
}

func (e *encoder) block(b *Block) {
	if b.Type == "" {
		e.fail("block without a type")
	}
	e.open('{')
	e.str("block_type", string(b.Type))
	switch b.Type {
	case BlockText, BlockReasoning:
		e.str("text", b.Text)
	case BlockToolUse:
		e.str("id", b.ID)
		e.str("name", b.Name)
		e.json("args", b.Args, "{}") // DESIGN §3.3: no arguments are {}
	case BlockOpaque:
		e.str("kind", b.Kind)
	}
	if b.Meta != nil {
		e.key("meta")
		e.meta(b.Meta)
	}
	if b.Origin != nil {
		e.key("origin")
		e.origin(b.Origin)
	}
	if b.Raw != nil {
		e.bytes("raw", b.Raw)
	}
	e.parts(b.Parts)
	e.extra(b.Extra)
	e.close('}')
}

func (e *encoder) meta(m *Meta) {
	if m.Provider == "" {
		e.fail("meta without a provider")
	}
	e.open('{')
	if len(m.Unknown) > 0 {
		e.extra(string(m.Unknown))
		e.close('}')
		return
	}
	e.str("provider", string(m.Provider))
	switch m.Provider {
	case MetaAnthropic:
		e.str("signature", m.Signature)
	case MetaAnthropicRedacted:
		e.str("data", m.Data)
	case MetaGemini:
		e.str("thoughtSignature", m.ThoughtSignature)
	case MetaOpenAI:
		e.openAI(m)
	}
	e.extra(m.Extra)
	e.close('}')
}

func (e *encoder) openAI(m *Meta) {
	e.str("id", m.ID)
	if m.EncryptedContent != nil {
		e.str("encrypted_content", *m.EncryptedContent)
	}
	if m.Summary != nil {
		e.strings("summary", m.Summary)
	}
	e.optStr("phase", m.Phase)
}

// strings writes a list; if one element is not valid UTF-8 the exact list
// holds all of them.
func (e *encoder) strings(name string, values []string) {
	e.key(name)
	e.open('[')
	exact := false
	for _, v := range values {
		e.next()
		e.buf = appendString(e.buf, v)
		exact = exact || !utf8.ValidString(v)
	}
	e.close(']')
	if !exact {
		return
	}
	e.key(name + exactSuffix)
	e.open('[')
	for _, v := range values {
		e.next()
		e.buf = appendString(e.buf, base64.StdEncoding.EncodeToString([]byte(v)))
	}
	e.close(']')
}

func (e *encoder) origin(o *Origin) {
	e.open('{')
	e.str("provider", o.Provider)
	e.optStr("api", o.API)
	e.optStr("model", o.Model)
	e.optStr("account", o.Account)
	e.optStr("response_id", o.ResponseID)
	e.int("index", o.Index)
	e.extra(o.Extra)
	e.close('}')
}

func (e *encoder) result(r *ToolResult) {
	e.open('{')
	e.str("tool_use_id", r.ToolUseID)
	e.str("content", r.Content)
	e.bool("is_error", r.IsError)
	e.optStr("status", string(r.Status))
	e.parts(r.Parts)
	e.extra(r.Extra)
	e.close('}')
}

func (e *encoder) parts(parts []Part) {
	if len(parts) == 0 {
		return
	}
	e.key("parts")
	e.open('[')
	for i := range parts {
		e.next()
		e.part(&parts[i])
	}
	e.close(']')
}

func (e *encoder) part(p *Part) {
	e.open('{')
	e.str("type", p.Type)
	e.optStr("media_type", p.MediaType)
	if p.Data != nil {
		e.bytes("data", p.Data)
	}
	e.optStr("url", p.URL)
	e.extra(p.Extra)
	e.close('}')
}

func (e *encoder) toolDef(d *ToolDef) {
	e.open('{')
	e.str("name", d.Name)
	e.str("description", d.Description)
	e.json("input_schema", d.InputSchema, "null")
	e.extra(d.Extra)
	e.close('}')
}
