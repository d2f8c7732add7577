package mcp

import (
	"bytes"
	"encoding/json"
)

// The SDK decodes schemas and structured content into maps and float64: the
// order of properties, which models read, and large numbers would be lost
// (DESIGN §3.1). So each is carried past it as text, in a _meta member beside
// the value it belongs to.
const (
	metaSchema  = "meerkat/inputSchema"
	metaContent = "meerkat/structuredContent"
	metaRunning = "meerkat/execution" // a member the SDK does not know
)

// keepExact returns a message with those members added. A message without such
// values, or that cannot be read, is returned as it is.
func keepExact(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"inputSchema"`)) && !bytes.Contains(message, []byte(`"structuredContent"`)) {
		return message
	}
	var envelope map[string]json.RawMessage
	if json.Unmarshal(message, &envelope) != nil {
		return message
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(envelope["result"], &result) != nil || result == nil {
		return message
	}
	carry(result, "structuredContent", metaContent)
	var tools []map[string]json.RawMessage
	if json.Unmarshal(result["tools"], &tools) == nil && tools != nil {
		for _, t := range tools {
			carry(t, "inputSchema", metaSchema)
			carry(t, "execution", metaRunning)
		}
		result["tools"] = encode(tools)
	}
	envelope["result"] = encode(result)
	return encode(envelope)
}

// carry copies value[from] as text into value["_meta"][to].
func carry(value map[string]json.RawMessage, from, to string) {
	raw, ok := value[from]
	if !ok {
		return
	}
	meta := map[string]json.RawMessage{}
	if given, ok := value["_meta"]; ok && (json.Unmarshal(given, &meta) != nil || meta == nil) {
		return
	}
	meta[to] = encode(string(raw))
	value["_meta"] = encode(meta)
}

// encode is json.Marshal of what cannot fail, without the escapes of HTML.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// exact returns the text that keepExact put there, or else value as the SDK
// understood it.
func exact(meta map[string]any, key string, value any) []byte {
	if text, ok := meta[key].(string); ok {
		return []byte(text)
	}
	if value == nil {
		return nil
	}
	return encode(value)
}
