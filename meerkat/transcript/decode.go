package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

func decodeMessage(data []byte) (m Message, err error) {
	o := openObject(data)
	m.Role = Role(o.tag("role"))
	switch m.Role {
	case RoleSystem, RoleUser, RoleDeveloper:
		m.Content = o.str("content")
		m.Parts = takeList(o, "parts", decodePart)
	case RoleAssistant:
		m.Blocks = takeList(o, "blocks", decodeBlock)
		m.StopReason = StopReason(o.str("stop_reason"))
		m.Parts = takeList(o, "parts", decodePart)
		o.need("blocks", m.Blocks != nil)
	case RoleToolResults:
		m.Results = takeList(o, "results", decodeResult)
		o.need("results", m.Results != nil)
	}
	m.Extra = o.rest()
	return m, wrap("message", o.err)
}

func decodeBlock(data []byte) (b Block, err error) {
	o := openObject(data)
	b.Type = BlockType(o.tag("block_type"))
	switch b.Type {
	case BlockText:
		b.Text = o.str("text")
	case BlockReasoning:
		b.Text, _ = o.optStr("text") // serde(default) in seed 000 §3.1
	case BlockToolUse:
		b.ID, b.Name, b.Args = o.str("id"), o.str("name"), o.json("args")
		o.need("args", b.Args != nil)
	case BlockOpaque:
		b.Kind = o.str("kind")
	default:
		b.Extra = o.rest()
		return b, wrap("block", o.err)
	}
	b.Meta = takeOne(o, "meta", decodeMeta)
	b.Origin = takeOne(o, "origin", decodeOrigin)
	b.Raw = o.bytes("raw")
	b.Parts = takeList(o, "parts", decodePart)
	b.Extra = o.rest()
	return b, wrap("block "+string(b.Type), o.err)
}

func decodeMeta(data []byte) (m Meta, err error) {
	o := openObject(data)
	m.Provider = MetaProvider(o.tag("provider"))
	switch m.Provider {
	case MetaAnthropic:
		m.Signature = o.str("signature")
	case MetaAnthropicRedacted:
		m.Data = o.str("data")
	case MetaGemini:
		m.ThoughtSignature = o.str("thoughtSignature")
	case MetaOpenAI:
		o.openAI(&m)
	default:
		m.Unknown = json.RawMessage(bytes.Clone(compact(data)))
		return m, wrap("meta", o.err)
	}
	m.Extra = o.rest()
	return m, wrap("meta "+string(m.Provider), o.err)
}

func (o *object) openAI(m *Meta) {
	m.ID = o.str("id")
	if enc, ok := o.optStr("encrypted_content"); ok {
		m.EncryptedContent = &enc
	}
	m.Summary = o.strings("summary")
	m.Phase, _ = o.optStr("phase")
}

// strings returns a list of strings, nil if absent; see encoder.strings.
func (o *object) strings(name string) []string {
	values, exact := o.list(name), o.list(name+exactSuffix)
	if values == nil {
		return nil
	}
	out := make([]string, len(values))
	for i, v := range values {
		if v[0] != '"' {
			o.fail(name, "want strings")
		}
		out[i] = jsontok.String(v)
		if len(exact) != len(values) {
			continue
		}
		if b, err := base64.StdEncoding.DecodeString(jsontok.String(exact[i])); err == nil && sameText(string(b), out[i]) {
			out[i] = string(b)
		}
	}
	return out
}

func decodeOrigin(data []byte) (g Origin, err error) {
	o := openObject(data)
	g.Provider = o.str("provider")
	g.API, _ = o.optStr("api")
	g.Model, _ = o.optStr("model")
	g.Account, _ = o.optStr("account")
	g.ResponseID, _ = o.optStr("response_id")
	g.Index = o.int("index")
	g.Extra = o.rest()
	return g, wrap("origin", o.err)
}

func decodeResult(data []byte) (r ToolResult, err error) {
	o := openObject(data)
	r.ToolUseID, r.Content = o.str("tool_use_id"), o.str("content")
	r.IsError = o.bool("is_error")
	status, _ := o.optStr("status")
	r.Status = ResultStatus(status)
	r.Parts = takeList(o, "parts", decodePart)
	r.Extra = o.rest()
	return r, wrap("tool result", o.err)
}

func decodePart(data []byte) (p Part, err error) {
	o := openObject(data)
	p.Type = o.str("type")
	p.MediaType, _ = o.optStr("media_type")
	p.Data = o.bytes("data")
	p.URL, _ = o.optStr("url")
	p.Extra = o.rest()
	return p, wrap("part", o.err)
}

func decodeToolDef(data []byte) (d ToolDef, err error) {
	o := openObject(data)
	d.Name, d.Description = o.str("name"), o.str("description")
	if schema := o.json("input_schema"); string(schema) != "null" {
		d.InputSchema = schema
	}
	d.Extra = o.rest()
	return d, wrap("tool definition", o.err)
}

func (o *object) need(name string, present bool) {
	if !present {
		o.fail(name, "missing")
	}
}

// takeList decodes the elements of an array; nil if it is absent.
func takeList[T any](o *object, name string, decode func([]byte) (T, error)) []T {
	values := o.list(name)
	if values == nil {
		return nil
	}
	out := make([]T, len(values))
	for i, v := range values {
		var err error
		if out[i], err = decode(v); err != nil {
			o.fail(fmt.Sprintf("%s[%d]", name, i), err.Error())
		}
	}
	return out
}

func takeOne[T any](o *object, name string, decode func([]byte) (T, error)) *T {
	value := o.take(name)
	if value == nil {
		return nil
	}
	out, err := decode(value)
	if err != nil {
		o.fail(name, err.Error())
	}
	return &out
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
