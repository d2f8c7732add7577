package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

func decodeMessage(data []byte) (m Message, err error) {
	var o object
	o.open(data)
	m.Role = Role(o.takeTag("role"))
	switch m.Role {
	case RoleSystem, RoleUser, RoleDeveloper:
		m.Content = o.takeString("content")
		m.Parts = takeList(&o, "parts", decodePart)
	case RoleAssistant:
		m.Blocks = takeList(&o, "blocks", decodeBlock)
		m.StopReason = StopReason(o.takeString("stop_reason"))
		m.Parts = takeList(&o, "parts", decodePart)
		o.requirePresent("blocks", m.Blocks != nil)
	case RoleToolResults:
		m.Results = takeList(&o, "results", decodeResult)
		o.requirePresent("results", m.Results != nil)
	}
	m.Extra = o.untakenMembers()
	return m, wrapDecodeError("message", o.err)
}

func decodeBlock(data []byte) (b Block, err error) {
	var o object
	o.open(data)
	b.Type = BlockType(o.takeTag("block_type"))
	switch b.Type {
	case BlockText:
		b.Text = o.takeString("text")
	case BlockReasoning:
		b.Text, _ = o.takeOptionalString("text") // optional, as in the Rust program that shares the format
	case BlockToolUse:
		b.ID, b.Name, b.Args = o.takeString("id"), o.takeString("name"), o.takeJSON("args")
		o.requirePresent("args", b.Args != nil)
	case BlockOpaque:
		b.Kind = o.takeString("kind")
	default:
		b.Extra = o.untakenMembers()
		return b, wrapDecodeError("block", o.err)
	}
	b.Meta = takeOne(&o, "meta", decodeMeta)
	b.Origin = takeOne(&o, "origin", decodeOrigin)
	b.Raw = o.takeBytes("raw")
	b.Parts = takeList(&o, "parts", decodePart)
	b.Extra = o.untakenMembers()
	return b, wrapDecodeError("block "+string(b.Type), o.err)
}

func decodeMeta(data []byte) (m Meta, err error) {
	var o object
	o.open(data)
	m.Provider = MetaProvider(o.takeTag("provider"))
	switch m.Provider {
	case MetaAnthropic:
		m.Signature = o.takeString("signature")
	case MetaAnthropicRedacted:
		m.Data = o.takeString("data")
	case MetaGemini:
		m.ThoughtSignature = o.takeString("thoughtSignature")
	case MetaOpenAI:
		o.openAI(&m)
	default:
		m.Unknown = json.RawMessage(bytes.Clone(compactJSON(data)))
		return m, wrapDecodeError("meta", o.err)
	}
	m.Extra = o.untakenMembers()
	return m, wrapDecodeError("meta "+string(m.Provider), o.err)
}

func (o *object) openAI(m *Meta) {
	m.ID = o.takeString("id")
	if enc, ok := o.takeOptionalString("encrypted_content"); ok {
		m.EncryptedContent = &enc
	}
	m.Summary = o.takeStrings("summary")
	m.Phase, _ = o.takeOptionalString("phase")
}

// takeStrings returns a list of strings, nil if absent; see encoder.strings.
func (o *object) takeStrings(name string) []string {
	values, exact := o.splitList(name), o.splitList(name+exactSuffix)
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
		if b, err := base64.StdEncoding.DecodeString(jsontok.String(exact[i])); err == nil &&
			sameText(string(b), out[i]) {
			out[i] = string(b)
		}
	}
	return out
}

func decodeOrigin(data []byte) (g Origin, err error) {
	var o object
	o.open(data)
	g.Provider = o.takeString("provider")
	g.API, _ = o.takeOptionalString("api")
	g.Model, _ = o.takeOptionalString("model")
	g.Account, _ = o.takeOptionalString("account")
	g.ResponseID, _ = o.takeOptionalString("response_id")
	g.Index = o.takeInt("index")
	g.Extra = o.untakenMembers()
	return g, wrapDecodeError("origin", o.err)
}

func decodeResult(data []byte) (r ToolResult, err error) {
	var o object
	o.open(data)
	r.ToolUseID, r.Content = o.takeString("tool_use_id"), o.takeString("content")
	r.IsError = o.takeBool("is_error")
	status, _ := o.takeOptionalString("status")
	r.Status = ResultStatus(status)
	r.Parts = takeList(&o, "parts", decodePart)
	r.Extra = o.untakenMembers()
	return r, wrapDecodeError("tool result", o.err)
}

func decodePart(data []byte) (p Part, err error) {
	var o object
	o.open(data)
	p.Type = o.takeString("type")
	p.MediaType, _ = o.takeOptionalString("media_type")
	p.Data = o.takeBytes("data")
	p.URL, _ = o.takeOptionalString("url")
	p.Extra = o.untakenMembers()
	return p, wrapDecodeError("part", o.err)
}

func decodeToolDef(data []byte) (d ToolDef, err error) {
	var o object
	o.open(data)
	d.Name, d.Description = o.takeString("name"), o.takeString("description")
	if schema := o.takeJSON("input_schema"); string(schema) != "null" {
		d.InputSchema = schema
	}
	d.Hosted, d.Deferred = o.takeBool("hosted"), o.takeBool("deferred")
	d.Extra = o.untakenMembers()
	return d, wrapDecodeError("tool definition", o.err)
}

func (o *object) requirePresent(name string, present bool) {
	if !present {
		o.fail(name, "missing")
	}
}

// takeList decodes the elements of an array; nil if it is absent.
func takeList[T any](o *object, name string, decode func([]byte) (T, error)) []T {
	values := o.splitList(name)
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
	value := o.takeValue(name)
	if value == nil {
		return nil
	}
	out, err := decode(value)
	if err != nil {
		o.fail(name, err.Error())
	}
	return &out
}

func wrapDecodeError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
