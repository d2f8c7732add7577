package mcp

import (
	"bytes"
	"encoding/json"
)

// The MCP SDK decodes schemas and structured content into maps and float64. The
// order of properties, which models read, and large numbers would be lost. So each
// such value is also carried as text, in a _meta member beside it, which the SDK
// passes on unchanged.
const (
	metaSchema  = "meerkat/inputSchema"
	metaContent = "meerkat/structuredContent"
	metaRunning = "meerkat/execution" // a member the SDK does not know
)

// keepExactValues returns a message with those members added. A message without such
// values, or that cannot be read, is returned as it is.
func keepExactValues(message []byte) []byte {
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
	copyIntoMeta(result, "structuredContent", metaContent)
	var tools []map[string]json.RawMessage
	if json.Unmarshal(result["tools"], &tools) == nil && tools != nil {
		for _, t := range tools {
			copyIntoMeta(t, "inputSchema", metaSchema)
			copyIntoMeta(t, "execution", metaRunning)
		}
		result["tools"] = encodeJSON(tools)
	}
	envelope["result"] = encodeJSON(result)
	return encodeJSON(envelope)
}

// copyIntoMeta copies value[from] as text into value["_meta"][to].
func copyIntoMeta(value map[string]json.RawMessage, from, to string) {
	raw, ok := value[from]
	if !ok {
		return
	}
	meta := map[string]json.RawMessage{}
	if given, ok := value["_meta"]; ok && (json.Unmarshal(given, &meta) != nil || meta == nil) {
		return
	}
	meta[to] = encodeJSON(string(raw))
	value["_meta"] = encodeJSON(meta)
}

// encodeJSON is json.Marshal of what cannot fail, without the escapes of HTML.
func encodeJSON(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// exactText returns the text that keepExactValues put there, or else value as the SDK
// understood it.
func exactText(meta map[string]any, key string, value any) []byte {
	if text, ok := meta[key].(string); ok {
		return []byte(text)
	}
	if value == nil {
		return nil
	}
	return encodeJSON(value)
}
